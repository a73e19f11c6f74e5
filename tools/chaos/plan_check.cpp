#include "chaos_hosts.hpp"
#include "plan_check.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/simulation/fault_kinds.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace troupe::tools {

namespace {

/// Why real processes can't have this; empty: they can.
std::string_view obstacle_of(fault_kind what) {
  switch (what) {
    case fault_kind::occupy:
      return "takes the ports of a host; only a simulation does that: use kill and a later restart";
    case fault_kind::set_clock:
      return "needs a clock for each host; only a simulation has them";
    case fault_kind::slow_host:
      return "needs each message to take its time; only a simulation can say so: use freeze and thaw for a host that "
             "stands still for a while, or slow_link for one that answers late";
    case fault_kind::fill_disk:
    case fault_kind::slow_disk:
    case fault_kind::mend_disk:
    case fault_kind::wipe_disk:
      return "needs a disk for each host; only a simulation has them: use switch_off and a later restart to see what "
             "the program makes of a loss of power";
    case fault_kind::drop:
    case fault_kind::duplicate:
    case fault_kind::delay:
    case fault_kind::corrupt:
      return "needs to know single messages; only a simulation does: use cut_one_way and heal for links that lose all";
    case fault_kind::fail_at:
    case fault_kind::kill_at:
      return "needs to stop the code at a point; only a simulation does: use kill at a time";
    case fault_kind::exhaust_memory:
      return "needs memory that ends at a certain tensor; only a simulation has it";
    case fault_kind::kill:
    case fault_kind::restart:
    case fault_kind::freeze:
    case fault_kind::thaw:
    case fault_kind::heal_everything:
      return {};
    default:
      return needs_hosts(what) ? "" : "is nothing that real processes can have; only a simulation does that";
  }
}

class fault_check {
 public:
  fault_check(const planned_fault& fault, std::size_t number, const std::vector<task_id>& tasks)
      : fault_(fault), number_(number), tasks_(tasks) {}

  void run(bool on_hosts) const {
    if (const auto obstacle = obstacle_of(fault_.what); !obstacle.empty()) refuse(obstacle);
    if (!fault_.when.empty() || fault_.when_sent != message_pattern{})
      refuse("waits for something that only a simulation sees: give it a time, \"at_ms\", instead");
    if (!on_hosts && needs_hosts(fault_.what))
      refuse("needs hosts of their own for the tasks: add --hosts (as root), or leave it out");
    if (fault_.what == fault_kind::heal_everything) return;
    check_host(fault_.host);
    if (!fault_.other.empty()) check_host(fault_.other);
    if (fault_.host == fault_.other) refuse("names one host twice; a link has two ends");
    const auto ends =
        fault_.what == fault_kind::kill || fault_.what == fault_kind::switch_off || fault_.what == fault_kind::restart;
    if (ends && is_chief(*find_host(tasks_, fault_.host)))
      refuse("ends the chief, whose end is the job's: kill workers, servers or other members, or freeze the chief");
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    throw invalid_argument_error{fmt::format("the plan's faults[{}], {}, {}", number_, to_string(fault_), why)};
  }
  void check_host(const std::string& name) const {
    if (find_host(tasks_, name) != nullptr) return;
    std::string all;
    for (const auto& task : tasks_) all += (all.empty() ? "" : ", ") + host_name(task);
    refuse(
        fmt::format("names the host {}, which the cluster lacks; it has {}: name one of these, or start more "
                    "(--workers, --ps, --role)",
                    name, all));
  }

  const planned_fault& fault_;
  std::size_t number_;
  const std::vector<task_id>& tasks_;
};

}  // namespace

bool needs_hosts(fault_kind what) {
  switch (what) {
    case fault_kind::switch_off:
    case fault_kind::cut:
    case fault_kind::cut_one_way:
    case fault_kind::heal:
    case fault_kind::break_link:
    case fault_kind::silence_link:
    case fault_kind::slow_link:
    case fault_kind::slow_link_one_way:
      return true;
    default:
      return false;
  }
}

bool has_slow_links(const fault_plan& plan) {
  return std::any_of(plan.faults.begin(), plan.faults.end(), [](const auto& each) { return is_slow_link(each.what); });
}

void check_plan(const fault_plan& plan, const std::vector<task_id>& tasks, bool on_hosts) {
  for (std::size_t i = 0; i < plan.faults.size(); ++i) fault_check{plan.faults[i], i, tasks}.run(on_hosts);
}

}  // namespace troupe::tools
