#include <troupe/actors/closures/coordinator.hpp>
#include <troupe/actors/closures/worker.hpp>
#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/membership/event_bus.hpp>
#include <troupe/actors/membership/member.hpp>
#include <troupe/actors/membership/membership.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/client.hpp>
#include <troupe/actors/variables/parameter_server.hpp>
#include <troupe/runtime/cluster.hpp>
#include <troupe/runtime/cluster/chief_actors.hpp>
#include <troupe/runtime/cluster/dialer.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

namespace troupe {

struct cluster::implementation {
  caf::actor_system& system;
  cluster_options options;
  int workers = 0;
  int servers = 0;
  chief_actors chief;
  std::vector<caf::actor> members;
  std::vector<std::string> arguments;
  /// Somebody else ends the actors.
  bool is_guest = false;
};

namespace {

void check(const local_cluster& size) {
  const auto in_range = [](int n, int least) { return n >= least && n <= local_cluster::members_max; };
  if (!in_range(size.workers, 1) || !in_range(size.servers, 0))
    throw invalid_argument_error{
        fmt::format("a cluster of {} workers and {} parameter servers cannot be: it needs 1 to {} workers and 0 to {} "
                    "servers",
                    size.workers, size.servers, local_cluster::members_max, local_cluster::members_max)};
}

/// Inside one process an address is only a key.
task_address local_address(const task_id& task) { return {to_string(task), 1}; }

}  // namespace

cluster::cluster(caf::actor_system& system, local_cluster size, cluster_options options)
    : implementation_(new implementation{.system = system, .options = options}) {
  check(size);
  options.detection.check();
  options.coordinator.check();
  auto& self = *implementation_;
  const auto members = std::make_shared<local_members>();
  self.chief.dialer = system.spawn(local_dialer, members);
  std::vector<std::pair<task_id, task_address>> list;
  const auto add = [&](const task_id& task, member_options door) {
    door.adoption_limit = options.members.adoption_limit;
    door.link_loss_max = options.members.link_loss_max;
    const auto handle = system.spawn(troupe::member, std::move(door));
    members->emplace(local_address(task), handle);
    self.members.push_back(caf::actor_cast<caf::actor>(handle));
    list.emplace_back(task, local_address(task));
  };
  for (int i = 0; i < size.servers; ++i) {
    const auto who = make_identity({"ps", i});
    const auto server = system.spawn(parameter_server, who.incarnation, options.members.server);
    self.members.push_back(caf::actor_cast<caf::actor>(server));
    add(who.task, {.self = who, .server = server});
  }
  for (int i = 0; i < size.workers; ++i) {
    const auto handle = system.spawn<caf::detached>(worker, self.chief.dialer, options.members.worker);
    self.members.push_back(caf::actor_cast<caf::actor>(handle));
    const auto who = make_identity({"worker", i});
    add(who.task, {.self = who, .worker = handle});
  }
  start(std::move(list), make_identity({"chief", 0}));
}

cluster::cluster(caf::actor_system& system, const task_config& config, cluster_options options)
    : implementation_(new implementation{.system = system, .options = options}) {
  if (config.task.job != "chief")
    throw invalid_argument_error{fmt::format(
        "a cluster is made by its chief, but this process is {}: make a troupe::node", to_string(config.task))};
  options.detection.check();
  options.coordinator.check();
  if (!system.has_middleman())
    throw failed_precondition_error{
        "a cluster of several processes needs CAF's middleman: call load<caf::io::middleman>() in the constructor of "
        "the "
        "actor system's config"};
  implementation_->chief.dialer = system.spawn(network_dialer, tcp_connector::of_process());
  std::vector<std::pair<task_id, task_address>> list;
  for (const auto& task : config.cluster.tasks())
    if (task.job != "chief") list.emplace_back(task, config.cluster.address(task));
  start(std::move(list), make_identity(config.task));
}

cluster::cluster(caf::actor_system& system, chief_actors chief, local_cluster size, cluster_options options)
    : implementation_(new implementation{.system = system,
                                         .options = options,
                                         .workers = size.workers,
                                         .servers = size.servers,
                                         .chief = std::move(chief),
                                         .is_guest = true}) {}

void cluster::start(std::vector<std::pair<task_id, task_address>> members, const identity& who) {
  auto& self = *implementation_;
  auto& chief = self.chief;
  for (const auto& [task, _] : members) ++(task.job == "worker" ? self.workers : self.servers);
  chief.queue = std::make_shared<submission_queue>(self.options.queue_capacity);
  chief.events = self.system.spawn(event_bus);
  chief.client = std::make_shared<const client_actor>(
      self.system.spawn(troupe::client, chief.dialer, self.options.variables, session_id{0}));
  auto coordination = self.options.coordinator;
  coordination.workers = self.workers;
  coordination.first_session = who.incarnation;
  chief.coordinator = std::make_shared<const coordinator_actor>(
      self.system.spawn<caf::detached>(troupe::coordinator, chief.queue, coordination, chief.events));
  chief.membership = self.system.spawn(troupe::membership, chief.dialer,
                                       membership_options{.chief = who,
                                                          .members = std::move(members),
                                                          .detection = self.options.detection,
                                                          .chief_silence_max = self.options.chief_silence_max},
                                       membership_audience{*chief.coordinator, *chief.client, chief.events});
}

cluster::~cluster() {
  auto& self = *implementation_;
  if (self.is_guest) return;
  auto& chief = self.chief;
  try {
    ask(
        self.system, chief.membership, self.options.stop_limit, "ending the cluster's members", [](caf::ok_atom) {},
        retire_atom_v, wire<status>{status{}});
  } catch (const error&) {
    // Members that did not answer end themselves when the chief is gone.
  }
  std::vector<caf::actor> actors{caf::actor_cast<caf::actor>(chief.membership),
                                 caf::actor_cast<caf::actor>(*chief.coordinator),
                                 caf::actor_cast<caf::actor>(*chief.client), caf::actor_cast<caf::actor>(chief.events),
                                 caf::actor_cast<caf::actor>(chief.dialer)};
  actors.insert(actors.end(), self.members.begin(), self.members.end());
  self.members.clear();
  chief = {};
  stop_actors(std::move(actors), self.options.stop_limit);
}

int cluster::worker_count() const { return implementation_->workers; }
int cluster::server_count() const { return implementation_->servers; }
const std::vector<std::string>& cluster::arguments() const { return implementation_->arguments; }
void cluster::set_arguments(std::vector<std::string> arguments) { implementation_->arguments = std::move(arguments); }
caf::actor_system& cluster::system() const { return implementation_->system; }
const cluster_options& cluster::options() const { return implementation_->options; }
const coordinator_actor& cluster::coordinator() const { return *implementation_->chief.coordinator; }
const membership_actor& cluster::membership() const { return implementation_->chief.membership; }
const event_bus_actor& cluster::events() const { return implementation_->chief.events; }
const std::shared_ptr<submission_queue>& cluster::queue() const { return implementation_->chief.queue; }
const dialer_actor& cluster::dialer() const { return implementation_->chief.dialer; }
const coordinator_ptr& cluster::shared_coordinator() const { return implementation_->chief.coordinator; }
const client_ptr& cluster::client() const { return implementation_->chief.client; }

// --- waiting for members --------------------------------------------------------------------------------------------

namespace {

cluster_view opened(wire<cluster_view>& message) {
  if (auto problem = message.open(); !problem.ok()) throw_status(std::move(problem));
  return *message;
}

std::string describe_absent(const cluster_view& view, const std::vector<task_id>& tasks) {
  std::string text;
  for (const auto& task : tasks) {
    const auto* record = view.find(task);
    if (record != nullptr && record->state == presence::present) continue;
    text += fmt::format("{}{} at {}: {}", text.empty() ? "" : "; ", to_string(task),
                        record != nullptr ? to_string(record->address) : "no address",
                        record != nullptr ? record->why.render() : "it is no task of this cluster");
  }
  return text;
}

}  // namespace

cluster_view cluster::view() const {
  cluster_view result;
  ask(
      implementation_->system, implementation_->chief.membership, std::chrono::seconds{10},
      "asking who is in the cluster", [&](wire<cluster_view>& answer) { result = opened(answer); }, view_atom_v);
  return result;
}

cluster_view cluster::wait_for(const std::vector<task_id>& tasks, duration limit) {
  cluster_view result;
  try {
    ask(
        implementation_->system, implementation_->chief.membership, limit, "waiting for members of the cluster",
        [&](wire<cluster_view>& answer) { result = opened(answer); }, watch_atom_v, wire<std::vector<task_id>>{tasks});
  } catch (const deadline_exceeded_error&) {
    throw deadline_exceeded_error{fmt::format("after {} ms these members are still missing: {}", in_milliseconds(limit),
                                              describe_absent(view(), tasks))};
  }
  return result;
}

cluster_view cluster::wait_until_ready() {
  const auto now = view();
  std::vector<task_id> tasks;
  for (const auto& record : now.members) tasks.push_back(record.task);
  try {
    return wait_for(tasks, implementation_->options.start_limit);
  } catch (const deadline_exceeded_error& late) {
    auto then = view();
    auto usable = false;
    for (const auto& record : then.members) {
      if (record.task.job == "worker" && record.state == presence::present) usable = true;
      if (record.task.job == "ps" && record.state == presence::absent)
        throw unavailable_error{late.get_status().wrap(status_code::unavailable,
                                                       "the cluster did not start: every parameter server must be up")};
    }
    if (!usable)
      throw unavailable_error{
          late.get_status().wrap(status_code::unavailable, "the cluster did not start: no worker is up")};
    return then;
  }
}

}  // namespace troupe
