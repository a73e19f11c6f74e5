#include <troupe/actors/closures/coordinator.hpp>
#include <troupe/actors/closures/weak_coordinator.hpp>
#include <troupe/actors/membership/event_bus.hpp>
#include <troupe/actors/membership/membership.hpp>
#include <troupe/actors/offers/directory.hpp>
#include <troupe/actors/services/chief_services.hpp>
#include <troupe/actors/services/closure_desk.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/client.hpp>
#include <troupe/runtime/cluster/dialer.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/cluster/member_actors.hpp>
#include <troupe/runtime/simulation/simulation_implementation.hpp>

#include <caf/io/middleman.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

world_options options_of(const simulation_options& chosen) {
  return {.seed = chosen.seed,
          .latency_min = chosen.latency_min,
          .latency_max = chosen.latency_max,
          .bulk_bytes_per_second = chosen.bulk_bytes_per_second,
          .steps_per_instant_max = chosen.steps_per_instant_max,
          .shares_memory = chosen.shares_memory,
          .plan = chosen.plan,
          .faults = chosen.faults};
}

}  // namespace

simulation::implementation::implementation(const simulation_options& chosen)
    : options(chosen),
      own_world(std::make_unique<simulated_world>(options_of(chosen))),
      world(*own_world),
      all(*world.implementation_) {}

simulation::implementation::implementation(simulated_world& in, const local_cluster& size,
                                           const cluster_options& cluster)
    : options{.seed = in.options().seed, .size = size, .cluster = cluster}, world(in), all(*in.implementation_) {}

// --- tasks ----------------------------------------------------------------------------------------------------------

void simulation::implementation::check_known(const task_id& task) const {
  if (addresses.contains(task)) return;
  throw invalid_argument_error{
      fmt::format("{} is no task of this simulation: it has a chief, {} workers, {} servers and {} other members",
                  to_string(task), options.size.workers, options.size.servers,
                  static_cast<int>(addresses.size()) - 1 - options.size.workers - options.size.servers)};
}

std::string simulation::implementation::running_host(const task_id& task) const {
  check_known(task);
  auto name = host_of(task);
  if (world.running(name)) return name;
  throw failed_precondition_error{
      fmt::format("{} does not run: it was killed or has ended; restart it first", to_string(task))};
}

simulated_process& simulation::implementation::process(const task_id& task) {
  return all.running_process(running_host(task));
}

chief_actors& simulation::implementation::running_chief() {
  running_host(chief_task);
  return chief;
}

void simulation::implementation::add_tasks() {
  const auto tasks_max = static_cast<std::int64_t>(world_options{}.processes_max);
  const auto& size = options.size;
  auto members = std::int64_t{size.workers} + size.servers;
  auto least = std::min(size.workers, size.servers);
  for (const auto& [_, count] : size.roles) {
    members += count;
    least = std::min(least, count);
  }
  if (least < 0 || members >= tasks_max)
    throw invalid_argument_error{
        fmt::format("a simulation of {} workers, {} servers and {} other members cannot be: it has at most {} tasks",
                    size.workers, size.servers, members - size.workers - size.servers, tasks_max)};
  options.cluster.detection.check();
  options.cluster.coordinator.check();
  const auto add = [&](const std::string& job, int count) {
    for (int i = 0; i < count; ++i) addresses[{job, i}] = {host_of({job, i}), members_port};
  };
  add("chief", 1);
  add("ps", size.servers);
  add("worker", size.workers);
  for (const auto& [role, count] : size.roles) {
    check_role_name(role, "a simulation");
    add(role, count);
  }
  for (const auto& [task, _] : addresses) add_task(task);
}

void simulation::implementation::remove_tasks() {
  for (const auto& [task, _] : addresses) {
    auto& host = all.find(host_of(task));
    if (host.process) all.stop(host);
    host.what = {};
  }
}

void simulation::implementation::add_task(const task_id& task) {
  all.add_host(host_of(task), {.boot =
                                   [this, task](simulated_process& started) {
                                     task == chief_task ? start_chief(started) : start_member(task, started);
                                   },
                               .at_end = [this, task](simulated_process& dying) { stop(task, dying); }});
}

void simulation::implementation::start_chief(simulated_process& process) {
  const auto& cluster = options.cluster;
  process.stand_at_doors(door_role{chief_task, process.incarnation()});
  chief.queue = std::make_shared<submission_queue>(cluster.queue_capacity);
  chief.dialer = process.spawn(network_dialer, links_of(process.system()));
  chief.events = process.spawn(event_bus);
  chief.client = std::make_shared<const client_actor>(
      process.spawn(troupe::client, chief.dialer, cluster.variables, session_id{0}));
  auto coordination = cluster.coordinator;
  coordination.workers = options.size.workers;
  coordination.first_session = process.incarnation();
  chief.coordinator = process.spawn(troupe::coordinator, chief.queue, coordination, chief.events);
  chief.shared_coordinator = std::make_shared<const weak_coordinator>(chief.coordinator);
  const auto listener = process.spawn([this](event_listener::pointer) -> event_listener::behavior_type {
    return {[this](event_atom, wire<event>& what) {
      if (what.open().ok()) take_event(*what);
    }};
  });
  caf::anon_send(chief.events, listen_atom_v, event_listener{listener});
  membership_options terms{.chief = identity_of(chief_task, process),
                           .members = {},
                           .detection = cluster.detection,
                           .chief_silence_max = cluster.chief_silence_max};
  for (const auto& [task, address] : addresses)
    if (task != chief_task) terms.members.emplace_back(task, address);
  chief.application = std::make_shared<member_context>(process.system(), chief_task);
  chief.application->report = [this](const std::string& line) { note(line); };
  chief.application->set_on_failure([this](const status& why) { end(chief_task, {member_end::kind::gave_up, why}); });
  applications.insert_or_assign(chief_task, chief.application);
  member_context::enter(chief.application);
  chief.directory =
      process.spawn(troupe::directory, chief.application->book, chief.dialer, options.cluster.members.detection);
  chief.closures = process.spawn(closure_desk, chief.queue, chief.coordinator);
  offer_chief_services(*chief.application->book, chief.closures, chief.events);
  chief.membership =
      process.spawn(troupe::membership, chief.dialer, std::move(terms),
                    membership_audience{chief.coordinator, *chief.client, chief.events, chief.directory});
  chief_cluster = std::make_unique<troupe::cluster>(process.system(), chief, options.size, cluster);
}

void simulation::implementation::start_member(const task_id& task, simulated_process& process) {
  process.stand_at_doors(door_role{task, process.incarnation()});
  auto made = member_actors::spawn(process.system(),
                                   {.who = identity_of(task, process),
                                    .dialer = process.spawn(network_dialer, links_of(process.system())),
                                    .on_end = [this, task](const member_end& how) { end(task, how); },
                                    .report = [this](const std::string& line) { note(line); }},
                                   options.cluster.members);
  for (auto& each : made.all) process.keep(std::move(each));
  applications.insert_or_assign(task, made.application);
  member_context::enter(made.application);
  // The port is open to others as soon as the node's actors have run.
  auto& system = process.system();
  caf::anon_send(system.middleman().actor_handle(), caf::publish_atom_v, members_port,
                 caf::actor_cast<caf::strong_actor_ptr>(made.door), system.message_types<member_actor>(), std::string{},
                 true);
}

void simulation::implementation::stop(const task_id& task, simulated_process& dying) {
  if (task == chief_task) {
    chief_cluster.reset();
    chief = {};
    present.clear();
  }
  const auto application = applications.extract(task);
  leave(*application.mapped(), dying);
}

void simulation::implementation::end(const task_id& task, const member_end& how) {
  note(fmt::format("{} is {}: {}", to_string(task), to_string(how.how), how.why.render()));
  ends.insert_or_assign(task, how);
  all.end(all.find(host_of(task)).number, how.why);
}

void simulation::implementation::take_event(const event& what) {
  occurrences.push_back({all.elapsed(), what});
  note(fmt::format("{} {} epoch {} count {}: {}", to_string(what.kind), to_string(what.task), what.epoch, what.count,
                   what.why.render()));
  if (what.kind == event_kind::member_joined) present[what.task] = true;
  if (what.kind == event_kind::member_lost) present[what.task] = false;
}

}  // namespace troupe
