#include <troupe/runtime/simulation/simulation_implementation.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

void check_pair(const simulation& self, const task_id& a, const task_id& b) {
  // Looking names a task that is not there.
  self.running(a);
  self.running(b);
  if (a == b) throw invalid_argument_error{fmt::format("a link is between two tasks, but both are {}", to_string(a))};
}

}  // namespace

simulation::simulation(simulation_options options) : implementation_(new implementation{options}) {
  const auto& size = options.size;
  auto members = std::int64_t{size.workers} + size.servers;
  auto least = std::min(size.workers, size.servers);
  for (const auto& [_, count] : size.roles) {
    members += count;
    least = std::min(least, count);
  }
  if (least < 0 || members >= static_cast<std::int64_t>(processes_max))
    throw invalid_argument_error{
        fmt::format("a simulation of {} workers, {} servers and {} other members cannot be: it has at most {} tasks",
                    size.workers, size.servers, members - size.workers - size.servers, processes_max)};
  if (options.latency_min < duration::zero() || options.latency_max < options.latency_min)
    throw invalid_argument_error{"a simulation's latency_min must be at least 0 and at most latency_max"};
  options.cluster.detection.check();
  options.cluster.coordinator.check();
  auto& self = *implementation_;
  const auto add = [&](const std::string& job, int count) {
    for (int i = 0; i < count; ++i) self.addresses[{job, i}] = {fmt::format("{}-{}", job, i), 1};
  };
  add("chief", 1);
  add("ps", size.servers);
  add("worker", size.workers);
  for (const auto& [role, count] : size.roles) {
    check_role_name(role, "a simulation");
    add(role, count);
  }
  for (const auto& [task, _] : self.addresses) self.start(task);
}

simulation::~simulation() {
  for (const auto& task : tasks())
    if (running(task)) implementation_->stop(task);
}

// --- time -----------------------------------------------------------------------------------------------------------

duration simulation::now() const { return implementation_->elapsed(); }
std::uint64_t simulation::steps() const { return implementation_->steps; }

bool simulation::step() {
  auto& self = *implementation_;
  while (!self.step_now()) {
    const auto next = self.next_time();
    if (next == never) return false;
    self.set_time(next);
  }
  return true;
}

void simulation::run() {
  while (implementation_->step_now()) {
  }
}

bool simulation::run_until(const std::function<bool()>& condition, duration limit) {
  auto& self = *implementation_;
  const auto last = later(self.now, limit);
  while (!condition()) {
    if (self.step_now()) continue;
    const auto next = self.next_time();
    if (next == never && last == never) return false;
    if (next <= last) {
      self.set_time(next);
      continue;
    }
    self.set_time(last);
    return false;
  }
  return true;
}

void simulation::advance(duration by) {
  run_until([] { return false; }, by);
}

void simulation::run_until_ready(duration limit) {
  const auto ready = [this] {
    for (const auto& task : tasks())
      if (task != chief_task && running(task) && !present(task)) return false;
    return true;
  };
  if (run_until(ready, limit)) return;
  std::string missing;
  for (const auto& task : tasks())
    if (task != chief_task && running(task) && !present(task)) missing += " " + to_string(task);
  throw deadline_exceeded_error{fmt::format("these tasks run but the chief did not take them in within {} ms:{}",
                                            in_milliseconds(limit), missing)};
}

// --- failures -------------------------------------------------------------------------------------------------------

void simulation::freeze(const task_id& task) {
  auto& node = implementation_->node(task);
  if (node.frozen) throw failed_precondition_error{to_string(task) + " is frozen already"};
  implementation_->note("freeze " + to_string(task));
  node.frozen = true;
}

void simulation::thaw(const task_id& task) {
  auto& node = implementation_->node(task);
  if (!node.frozen) throw failed_precondition_error{to_string(task) + " is not frozen"};
  implementation_->note("thaw " + to_string(task));
  node.frozen = false;
  node.set_time(implementation_->now);
}

void simulation::kill(const task_id& task) {
  implementation_->node(task);
  implementation_->note("kill " + to_string(task));
  implementation_->stop(task);
}

void simulation::switch_off(const task_id& task) {
  implementation_->node(task);
  implementation_->note("switch off " + to_string(task));
  implementation_->stop(task, simulated_network::death::of_host);
}

void simulation::occupy(const task_id& task) {
  if (running(task)) throw failed_precondition_error{to_string(task) + " runs: kill it first"};
  implementation_->note("occupy " + to_string(task));
  implementation_->network.occupy(task);
}

void simulation::restart(const task_id& task) {
  if (running(task)) throw failed_precondition_error{to_string(task) + " runs: kill it first"};
  implementation_->note("restart " + to_string(task));
  implementation_->start(task);
}

void simulation::cut(const task_id& a, const task_id& b) {
  check_pair(*this, a, b);
  implementation_->note(fmt::format("cut {} {}", to_string(a), to_string(b)));
  implementation_->network.cut(a, b);
}

void simulation::heal(const task_id& a, const task_id& b) {
  check_pair(*this, a, b);
  implementation_->note(fmt::format("heal {} {}", to_string(a), to_string(b)));
  implementation_->network.heal(a, b, implementation_->now);
}

void simulation::break_link(const task_id& a, const task_id& b) {
  check_pair(*this, a, b);
  implementation_->note(fmt::format("break {} {}", to_string(a), to_string(b)));
  implementation_->network.break_links(a, b, implementation_->now);
}

void simulation::silence_link(const task_id& a, const task_id& b) {
  check_pair(*this, a, b);
  implementation_->note(fmt::format("silence {} {}", to_string(a), to_string(b)));
  implementation_->network.silence_links(a, b);
}

// --- who is there ---------------------------------------------------------------------------------------------------

std::vector<task_id> simulation::tasks() const {
  std::vector<task_id> result;
  for (const auto& [task, _] : implementation_->addresses) result.push_back(task);
  return result;
}

bool simulation::running(const task_id& task) const {
  implementation_->check_known(task);
  return implementation_->nodes.contains(task);
}

bool simulation::frozen(const task_id& task) const { return implementation_->node(task).frozen; }

bool simulation::present(const task_id& task) const {
  implementation_->check_known(task);
  const auto found = implementation_->present.find(task);
  return found != implementation_->present.end() && found->second;
}

std::uint64_t simulation::bytes_sent(const task_id& task) const {
  implementation_->check_known(task);
  return implementation_->network.bytes_sent(task);
}

std::optional<member_end> simulation::end_of(const task_id& task) const {
  implementation_->check_known(task);
  const auto found = implementation_->ends.find(task);
  if (found == implementation_->ends.end()) return std::nullopt;
  return found->second;
}

caf::actor_system& simulation::system(const task_id& task) { return implementation_->node(task).system(); }
member simulation::here(const task_id& task) {
  implementation_->node(task);
  return member{implementation_->applications.at(task)};
}
void simulation::keep(const task_id& task, caf::actor handle) { implementation_->node(task).keep(std::move(handle)); }

const coordinator_actor& simulation::coordinator() const { return implementation_->running_chief().coordinator; }
const membership_actor& simulation::membership() const { return implementation_->running_chief().membership; }
const coordinator_ptr& simulation::owner_of_closures() const {
  return implementation_->running_chief().shared_coordinator;
}
const client_ptr& simulation::client() const { return implementation_->running_chief().client; }
const event_bus_actor& simulation::events() const { return implementation_->running_chief().events; }

const std::vector<simulation::occurrence>& simulation::occurrences() const { return implementation_->occurrences; }
const std::vector<std::string>& simulation::trace() const { return implementation_->trace; }

}  // namespace troupe
