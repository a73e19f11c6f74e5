#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/functions/build_id.hpp>
#include <troupe/actors/membership/member_door.hpp>
#include <troupe/actors/offers/directory.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/dialer.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/remote_actors.hpp>
#include <troupe/runtime/simulation/simulated_member.hpp>
#include <troupe/runtime/simulation/simulated_program.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace troupe {

// --- names ----------------------------------------------------------------------------------------------------------

std::string host_of(const task_id& task) { return fmt::format("{}-{}", task.job, task.index); }

task_id task_of(const std::string& host) {
  const auto dash = host.rfind('-');
  if (dash == std::string::npos || dash == 0) return {host, 0};
  task_id result{host.substr(0, dash), 0};
  const auto* const end = host.data() + host.size();
  const auto [rest, problem] = std::from_chars(host.data() + dash + 1, end, result.index);
  // "store-01" and "store--1" are names like any other.
  return problem == std::errc{} && rest == end && host_of(result) == host && result.index >= 0 ? result
                                                                                               : task_id{host, 0};
}

member_identity identity_of(const task_id& task, const simulated_process& process) {
  member_identity result;
  result.task = task;
  result.incarnation = process.incarnation();
  result.build_id = program_build_id();
  result.functions = function_registry::instance().names();
  result.host = process.name();
  return result;
}

// --- own hosts ------------------------------------------------------------------------------------------------------

namespace {

/// The tasks of a world's hosts, with the hosts' names.
std::map<task_id, std::string> tasks_of(const simulated_world::implementation& all) {
  std::map<task_id, std::string> result;
  for (const auto& each : all.hosts) result.emplace(task_of(each->name), each->name);
  return result;
}

job_sizes jobs_of(const simulated_world::implementation& all) {
  job_sizes result;
  for (const auto& [task, _] : tasks_of(all)) {
    auto& size = result[task.job];
    size = std::max(size, task.index + 1);
  }
  return result;
}

void check_name(const simulated_world::implementation& all, const std::string& name) {
  const auto task = task_of(name);
  if (task.job == "chief")
    throw failed_precondition_error{
        name +
        " can't become a member: own hosts have no chief, as a cluster has (simulation.hpp); give it another name"};
  for (const auto& each : all.hosts)
    if (each->name != name && task_of(each->name) == task)
      throw failed_precondition_error{
          fmt::format("{} can't become a member: it would be {}, and so would {}; give one of them another name", name,
                      to_string(task), each->name)};
}

member_record record_of(const task_id& task, const simulated_world::implementation& all) {
  member_record result{.task = task, .address = {}, .incarnation = 0, .state = member_presence::absent, .why = {}};
  const auto hosts = tasks_of(all);
  if (const auto found = hosts.find(task); found != hosts.end()) {
    result.address = {found->second, members_port};
    result.state = member_presence::present;
  } else {
    result.why = {status_code::not_found, fmt::format("{} is no host of this world", to_string(task))};
  }
  return result;
}

/// In the place of a chief's membership.
presence_actor::behavior_type host_presence(presence_actor::pointer self, simulated_world::implementation* all) {
  tolerate_stray_messages(self);
  return {
      [](find_atom, const std::string& which,
         std::int64_t) -> caf::result<caf::strong_actor_ptr, wire<actor_interface>> {
        return make_error(
            status{status_code::failed_precondition, "own hosts have no chief that would offer \"" + which + '"'});
      },
      [self, all](follow_atom, const presence_listener& listener, wire<std::vector<task_id>>& tasks) {
        if (!tasks.open().ok()) return;
        all->plan.touch_shared();
        for (const auto& task : *tasks)
          self->send(listener, presence_atom_v, caf::strong_actor_ptr{}, wire<member_record>{record_of(task, *all)});
      },
  };
}

/// The process of which others can't find what it offers ends.
void open_door(const member_actor& door, simulated_world::implementation& all, simulated_process& process) {
  static constexpr duration limit = std::chrono::seconds{10};
  start_program_in(process, [door, &system = process.system()] { publish_actor(system, door, members_port, limit); },
                   {.application = {}, .on_failure = [&all, host = process.host()](const status& why) {
                      all.end(host, why.wrap(why.code(), "it can't become a member"));
                    }});
}

}  // namespace

std::shared_ptr<member_context> become_member(simulated_world::implementation& all, simulated_process& process) {
  all.plan.touch_shared();
  check_name(all, process.name());
  const auto task = task_of(process.name());
  auto made = std::make_shared<member_context>(process.system(), task);
  made->report = [&all](const std::string& line) { all.note(line); };
  made->set_on_failure([&all, host = process.host()](const status& why) { all.end(host, why); });
  process.stand_at_doors(door_role{task, process.incarnation()});
  const auto dialer = process.spawn(network_dialer, links_of(process.system()));
  member_door_options door{.self = identity_of(task, process)};
  door.directory = process.spawn(directory, made->book, dialer, failure_detector_options{});
  // It waits for no chief.
  door.adoption_limit = duration::max();
  caf::anon_send(door.directory, adopt_atom_v, process.spawn(host_presence, &all), wire<job_sizes>{jobs_of(all)});
  open_door(process.spawn(member_door, std::move(door)), all, process);
  member_context::enter(made);
  return made;
}

void leave(member_context& application, simulated_process& dying) {
  application.begin_end();
  for (auto& actor : application.take_actors()) dying.keep(std::move(actor));
}

}  // namespace troupe
