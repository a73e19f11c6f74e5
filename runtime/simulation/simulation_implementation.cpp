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
#include <troupe/runtime/cluster/member_actors.hpp>
#include <troupe/runtime/simulation/simulated_connector.hpp>
#include <troupe/runtime/simulation/simulation_implementation.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// How long a process that was told to end takes for it.
constexpr duration end_delay = std::chrono::milliseconds{1};

std::string to_text(duration at) {
  return fmt::format("{:>4}.{:09} s", at.count() / 1'000'000'000, at.count() % 1'000'000'000);
}

}  // namespace

void simulation::implementation::note(const std::string& line) { trace.push_back(to_text(elapsed()) + "  " + line); }

// --- nodes ----------------------------------------------------------------------------------------------------------

void simulation::implementation::check_known(const task_id& task) const {
  if (addresses.contains(task)) return;
  throw invalid_argument_error{
      fmt::format("{} is no task of this simulation: it has a chief, {} workers, {} servers and {} other members",
                  to_string(task), options.size.workers, options.size.servers,
                  static_cast<int>(addresses.size()) - 1 - options.size.workers - options.size.servers)};
}

chief_actors& simulation::implementation::running_chief() {
  node(chief_task);
  return chief;
}

simulated_node& simulation::implementation::node(const task_id& task) {
  check_known(task);
  const auto found = nodes.find(task);
  if (found != nodes.end()) return *found->second;
  throw failed_precondition_error{
      fmt::format("{} does not run: it was killed or has ended; restart it first", to_string(task))};
}

void simulation::implementation::start(const task_id& task) {
  if (++processes > processes_max)
    throw resource_exhausted_error{
        fmt::format("a simulation can start {} processes, restarts included: make another simulation", processes_max)};
  const auto incarnation = (random() >> 1) | 1;
  auto started = std::make_unique<simulated_node>(task, addresses.at(task), incarnation, now);
  auto& node = *started;
  nodes[task] = std::move(started);
  network.attach(node, now);
  task == chief_task ? start_chief(node) : start_member(node);
}

void simulation::implementation::start_chief(simulated_node& node) {
  const auto& cluster = options.cluster;
  chief.queue = std::make_shared<submission_queue>(cluster.queue_capacity);
  chief.dialer = node.spawn(network_dialer, connects(node));
  chief.events = node.spawn(event_bus);
  chief.client =
      std::make_shared<const client_actor>(node.spawn(troupe::client, chief.dialer, cluster.variables, session_id{0}));
  auto coordination = cluster.coordinator;
  coordination.workers = options.size.workers;
  coordination.first_session = node.who().incarnation;
  chief.coordinator = node.spawn(troupe::coordinator, chief.queue, coordination, chief.events);
  chief.shared_coordinator = std::make_shared<const weak_coordinator>(chief.coordinator);
  const auto listener = node.spawn([this](event_listener::pointer) -> event_listener::behavior_type {
    return {[this](event_atom, wire<event>& what) {
      if (what.open().ok()) take_event(*what);
    }};
  });
  caf::anon_send(chief.events, listen_atom_v, event_listener{listener});
  membership_options terms{.chief = node.who(),
                           .members = {},
                           .detection = cluster.detection,
                           .chief_silence_max = cluster.chief_silence_max};
  for (const auto& [task, address] : addresses)
    if (task != chief_task) terms.members.emplace_back(task, address);
  chief.application = std::make_shared<member_context>(node.system(), chief_task);
  chief.application->report = [this](const std::string& line) { note(line); };
  chief.application->set_on_failure([this](const status& why) { end(chief_task, {member_end::kind::gave_up, why}); });
  applications.insert_or_assign(chief_task, chief.application);
  member_context::enter(chief.application);
  chief.directory =
      node.spawn(troupe::directory, chief.application->book, chief.dialer, options.cluster.members.detection);
  chief.closures = node.spawn(closure_desk, chief.queue, chief.coordinator);
  offer_chief_services(*chief.application->book, chief.closures, chief.events);
  chief.membership = node.spawn(troupe::membership, chief.dialer, std::move(terms),
                                membership_audience{chief.coordinator, *chief.client, chief.events, chief.directory});
  chief_cluster = std::make_unique<troupe::cluster>(node.system(), chief, options.size, cluster);
}

void simulation::implementation::start_member(simulated_node& node) {
  const auto task = node.who().task;
  auto made = member_actors::spawn(node.system(),
                                   {.who = node.who(),
                                    .dialer = node.spawn(network_dialer, connects(node)),
                                    .detached = false,
                                    .on_end = [this, task](const member_end& how) { end(task, how); },
                                    .report = [this](const std::string& line) { note(line); }},
                                   options.cluster.members);
  for (auto& each : made.all) node.keep(std::move(each));
  applications.insert_or_assign(task, made.application);
  member_context::enter(made.application);
  node.publish(made.door);
}

std::shared_ptr<connector> simulation::implementation::connects(simulated_node& node) {
  return std::make_shared<simulated_connector>(network, node, now);
}

void simulation::implementation::stop_programs() {
  for (const auto& program : std::exchange(programs, {}))
    if (const auto fibers = program.lock()) {
      fibers->at_turn_end(nullptr);
      fibers->cancel_all({status_code::cancelled, "the chief has ended"});
    }
}

void simulation::implementation::stop(const task_id& task, simulated_network::death how) {
  auto& dead = node(task);
  // What its actors do while they end reaches nobody, and handles must not outlive their actor system.
  network.detach(dead, how, now);
  bulk->detach(dead);
  if (task == chief_task) {
    stop_programs();
    chief_cluster.reset();
    chief = {};
    present.clear();
  }
  std::erase_if(ending, [&](const auto& one) { return one.second == task; });
  const auto application = applications.extract(task);
  application.mapped()->begin_end();
  for (auto& actor : application.mapped()->take_actors()) dead.keep(std::move(actor));
  nodes.erase(task);
}

void simulation::implementation::end(const task_id& task, const member_end& how) {
  note(fmt::format("{} is {}: {}", to_string(task), to_string(how.how), how.why.render()));
  ends.insert_or_assign(task, how);
  ending.emplace_back(now + end_delay, task);
}

void simulation::implementation::take_event(const event& what) {
  occurrences.push_back({elapsed(), what});
  note(fmt::format("{} {} epoch {} count {}: {}", to_string(what.kind), to_string(what.task), what.epoch, what.count,
                   what.why.render()));
  if (what.kind == event_kind::member_joined) present[what.task] = true;
  if (what.kind == event_kind::member_lost) present[what.task] = false;
}

// --- steps ----------------------------------------------------------------------------------------------------------

void simulation::implementation::add_possibilities() {
  possible.clear();
  for (const auto& [_, node] : nodes) {
    if (node->frozen) continue;
    for (std::size_t i = 0; i < node->jobs(); ++i) possible.push_back({possibility::kind::job, node.get(), i});
    possible.push_back({possibility::kind::broker, node.get()});
    if (node->next_timeout() <= now) possible.push_back({possibility::kind::timeout, node.get()});
  }
  arrivals.clear();
  network.add_arrivals(now, arrivals);
  for (const auto& where : arrivals) possible.push_back({possibility::kind::arrival, where.node, 0, where});
  transfers.clear();
  bulk->add_due(transfers);
  for (const auto which : transfers)
    possible.push_back({.what = possibility::kind::transfer,
                        .node = nodes.at(bulk->fetcher(which).who().task).get(),
                        .transfer = which});
}

bool simulation::implementation::take(const possibility& chosen) {
  // The transport is the process's, and there may be other simulations.
  bulk_transport::install(bulk);
  bulk->run_as(*chosen.node);
  switch (chosen.what) {
    case possibility::kind::job:
      chosen.node->run_job(chosen.place);
      return true;
    case possibility::kind::broker:
      return chosen.node->run_broker();
    case possibility::kind::timeout:
      chosen.node->run_timeout();
      return true;
    case possibility::kind::arrival:
      return network.deliver(chosen.where, now);
    case possibility::kind::transfer:
      bulk->end(chosen.transfer);
      return true;
  }
  return false;
}

bool simulation::implementation::step_now() {
  if (end_process()) return true;
  add_possibilities();
  while (!possible.empty()) {
    auto& drawn = possible[random() % possible.size()];
    const auto chosen = std::exchange(drawn, possible.back());
    possible.pop_back();
    if (!take(chosen)) continue;
    network.collect(*chosen.node, now);
    ++steps;
    if (++steps_of_instant > options.steps_per_instant_max)
      throw internal_error{fmt::format("a livelock: {} steps at {} without any passing of time (seed {})",
                                       steps_of_instant, to_text(elapsed()), options.seed)};
    return true;
  }
  return false;
}

bool simulation::implementation::end_process() {
  if (ending.empty() || ending.front().first > now) return false;
  const auto task = ending.front().second;
  note(to_string(task) + " has ended");
  stop(task);
  return true;
}

time_point simulation::implementation::next_time() const {
  auto next = std::min(network.next_arrival(now), bulk->next());
  for (const auto& [_, node] : nodes)
    if (!node->frozen) next = std::min(next, node->next_timeout());
  if (!ending.empty()) next = std::min(next, ending.front().first);
  return next;
}

void simulation::implementation::set_time(time_point to) {
  now = to;
  steps_of_instant = 0;
  for (const auto& [_, node] : nodes)
    if (!node->frozen) node->set_time(now);
}

}  // namespace troupe
