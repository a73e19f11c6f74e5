#include "chaos_hosts.hpp"
#include "fault_injector.hpp"

#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <csignal>

namespace troupe::tools {

fault_injector::fault_injector(fault_plan plan, std::vector<task_id> tasks, launcher& job, host_network* network)
    : plan_(std::move(plan)), tasks_(std::move(tasks)), job_(job), network_(network) {
  std::stable_sort(plan_.faults.begin(), plan_.faults.end(),
                   [](const auto& one, const auto& other) { return one.at < other.at; });
}

void fault_injector::start(clock::time_point now) { begin_ = now; }

std::optional<fault_injector::clock::time_point> fault_injector::next() const {
  if (left() == 0) return {};
  return begin_ + plan_.faults[history_.size()].at;
}

void fault_injector::apply_due(clock::time_point now) {
  while (next().value_or(clock::time_point::max()) <= now) {
    const auto& fault = plan_.faults[history_.size()];
    injection done{fault, clock::now(), {}};
    try {
      apply(fault);
    } catch (const failed_precondition_error& idle) {
      done.obstacle = idle.message();
    }
    history_.push_back(std::move(done));
  }
}

void fault_injector::apply(const planned_fault& fault) {
  switch (fault.what) {
    case fault_kind::kill:
      return kill(task_of(fault.host), is_mended_later(fault));
    case fault_kind::restart:
      return restart(task_of(fault.host));
    case fault_kind::switch_off:
      // Before the kill, so that nobody hears of the process's end.
      require_running(task_of(fault.host));
      if (off_.insert(host_of(fault.host)).second) network_->switch_off(host_of(fault.host));
      return kill(task_of(fault.host), true);
    case fault_kind::freeze:
      return freeze(task_of(fault.host));
    case fault_kind::thaw:
      return thaw(task_of(fault.host));
    case fault_kind::cut:
      lose(fault.other, fault.host);
      [[fallthrough]];
    case fault_kind::cut_one_way:
      return lose(fault.host, fault.other);
    case fault_kind::heal:
      mend(fault.other, fault.host);
      return mend(fault.host, fault.other);
    case fault_kind::break_link:
      return network_->reset(host_of(fault.host), host_of(fault.other));
    case fault_kind::silence_link:
      return network_->silence(host_of(fault.host), host_of(fault.other));
    case fault_kind::slow_link:
      slow(fault.other, fault.host, fault.slowness);
      [[fallthrough]];
    case fault_kind::slow_link_one_way:
      return slow(fault.host, fault.other, fault.slowness);
    case fault_kind::heal_everything:
      return heal_everything();
    default:
      assert(false && "the plan was not checked");
  }
}

// --- processes ------------------------------------------------------------------------------------------------------

void fault_injector::require_running(const task_id& task) const {
  // One that was taken down may still have a process, which is about to end.
  if (!job_.pid(task) || down_.contains(task)) throw failed_precondition_error{host_name(task) + " does not run"};
}

void fault_injector::kill(const task_id& task, bool is_mended) {
  require_running(task);
  if (is_mended) {
    job_.take_down(task);
    down_.insert(task);
  } else {
    job_.kill(task, SIGKILL);
  }
  frozen_.erase(task);
}

void fault_injector::restart(const task_id& task) {
  if (const auto host = host_of(host_name(task)); off_.erase(host) != 0) network_->switch_on(host);
  job_.bring_back(task);
  down_.erase(task);
}

void fault_injector::freeze(const task_id& task) {
  require_running(task);
  const auto process = job_.pid(task);
  if (const auto found = frozen_.find(task); found != frozen_.end() && found->second == *process)
    throw failed_precondition_error{host_name(task) + " is frozen already"};
  job_.kill(task, SIGSTOP);
  frozen_.insert_or_assign(task, *process);
}

void fault_injector::thaw(const task_id& task) {
  const auto found = frozen_.find(task);
  if (found == frozen_.end() || job_.pid(task) != found->second)
    throw failed_precondition_error{host_name(task) + " is not frozen"};
  job_.kill(task, SIGCONT);
  frozen_.erase(found);
}

// --- links ----------------------------------------------------------------------------------------------------------

void fault_injector::lose(const std::string& from, const std::string& to) {
  if (lost_.insert({host_of(from), host_of(to)}).second) network_->drop(host_of(from), host_of(to));
}

void fault_injector::slow(const std::string& from, const std::string& to, const link_slowness& by) {
  network_->slow(host_of(from), host_of(to), by);
  slow_.insert({host_of(from), host_of(to)});
}

void fault_injector::mend(const std::string& from, const std::string& to) {
  if (lost_.erase({host_of(from), host_of(to)}) != 0) network_->pass(host_of(from), host_of(to));
  if (slow_.erase({host_of(from), host_of(to)}) != 0) network_->unslow(host_of(from), host_of(to));
}

void fault_injector::heal_everything() {
  for (const auto& [from, to] : std::exchange(lost_, {})) network_->pass(from, to);
  for (const auto& [from, to] : std::exchange(slow_, {})) network_->unslow(from, to);
  for (const auto& [task, process] : std::exchange(frozen_, {}))
    if (job_.pid(task) == process) job_.kill(task, SIGCONT);
  for (const auto& task : std::set<task_id>{down_}) restart(task);
}

// --- the plan -------------------------------------------------------------------------------------------------------

bool fault_injector::is_mended_later(const planned_fault& fault) const {
  const auto from = plan_.faults.begin() + static_cast<std::ptrdiff_t>(history_.size());
  return std::any_of(from, plan_.faults.end(), [&](const auto& each) {
    return each.what == fault_kind::heal_everything || (each.what == fault_kind::restart && each.host == fault.host);
  });
}

const task_id& fault_injector::task_of(const std::string& host) const {
  const auto* const found = find_host(tasks_, host);
  assert(found != nullptr && "the plan was not checked");
  return *found;
}

int fault_injector::host_of(const std::string& host) const { return static_cast<int>(&task_of(host) - tasks_.data()); }

}  // namespace troupe::tools
