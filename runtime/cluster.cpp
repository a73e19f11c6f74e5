#include <troupe/actors/closures/coordinator.hpp>
#include <troupe/actors/closures/weak_coordinator.hpp>
#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/membership/event_bus.hpp>
#include <troupe/actors/membership/membership.hpp>
#include <troupe/actors/messages/first_few.hpp>
#include <troupe/actors/offers/directory.hpp>
#include <troupe/actors/offers/member.hpp>
#include <troupe/actors/services/chief_services.hpp>
#include <troupe/actors/services/closure_desk.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/client.hpp>
#include <troupe/runtime/cluster.hpp>
#include <troupe/runtime/cluster/chief_actors.hpp>
#include <troupe/runtime/cluster/dialer.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/cluster/member_actors.hpp>
#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/cluster/system_needs.hpp>
#include <troupe/runtime/wait_graph.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace troupe {

cluster& cluster_reference::operator*() const {
  if (auto* const here = here_->load()) return *here;
  throw failed_precondition_error{
      "the cluster has ended: strategies, coordinators and what they made are of use only while it is there"};
}

struct cluster::implementation {
  cluster_reference reference;
  caf::actor_system& system;
  cluster_options options;
  int workers = 0;
  int servers = 0;
  chief_actors chief;
  std::optional<encoding_within_process> encoding;
  std::vector<member_actors> members;
  std::vector<std::string> arguments;
  /// Somebody else ends the actors.
  bool is_guest = false;

  /// The application's part of the members inside this process ends; their actors are left.
  std::vector<caf::actor> end_members();
};

std::vector<caf::actor> cluster::implementation::end_members() {
  std::vector<caf::actor> left;
  for (auto& each : std::exchange(members, {})) {
    stop_application(*each.application, options.stop_limit);
    left.insert(left.end(), each.all.begin(), each.all.end());
  }
  return left;
}

namespace {

void check(const local_cluster& size) {
  const auto in_range = [](int n, int least) { return n >= least && n <= local_cluster::members_max; };
  if (!in_range(size.workers, 1) || !in_range(size.servers, 0))
    throw invalid_argument_error{
        fmt::format("a cluster of {} workers and {} parameter servers cannot be: it needs 1 to {} workers and 0 to {} "
                    "servers",
                    size.workers, size.servers, local_cluster::members_max, local_cluster::members_max)};
  for (const auto& [role, count] : size.roles) {
    check_role_name(role, "a cluster");
    if (!in_range(count, 0))
      throw invalid_argument_error{fmt::format("a cluster can't have {} tasks of the role \"{}\": 0 to {}", count, role,
                                               local_cluster::members_max)};
  }
}

std::function<void(const status&)> failing(const cluster_options& options) {
  if (options.on_failure) return options.on_failure;
  return [](const status& why) { log_error(why.render()); };
}

/// Inside one process an address is only a key.
task_address local_address(const task_id& task) { return {to_string(task), 1}; }

}  // namespace

cluster::cluster(caf::actor_system& system, local_cluster size, cluster_options options)
    : implementation_(new implementation{.reference = cluster_reference{*this}, .system = system, .options = options}) {
  check(size);
  options.detection.check();
  options.coordinator.check();
  auto& self = *implementation_;
  if (size.encode) self.encoding.emplace();
  const auto members = std::make_shared<local_members>();
  self.chief.dialer = system.spawn(local_dialer, members);
  std::vector<std::pair<task_id, task_address>> list;
  const auto add = [&](const task_id& task) {
    self.members.push_back(member_actors::spawn(system,
                                                {.who = make_identity(task),
                                                 .dialer = self.chief.dialer,
                                                 .on_end =
                                                     [fail = failing(options)](const member_end& end) {
                                                       if (end.how == member_end::kind::gave_up) fail(end.why);
                                                     }},
                                                options.members));
    members->emplace(local_address(task), self.members.back().door);
    list.emplace_back(task, local_address(task));
  };
  try {
    for (int i = 0; i < size.servers; ++i) add({"ps", i});
    for (int i = 0; i < size.workers; ++i) add({"worker", i});
    for (const auto& [role, count] : size.roles)
      for (int i = 0; i < count; ++i) add({role, i});
  } catch (...) {
    stop_actors(self.end_members(), options.stop_limit);
    throw;
  }
  start(std::move(list), make_identity({"chief", 0}));
}

cluster::cluster(caf::actor_system& system, const task_config& config, cluster_options options)
    : implementation_(new implementation{.reference = cluster_reference{*this}, .system = system, .options = options}) {
  if (config.task.job != "chief")
    throw invalid_argument_error{fmt::format(
        "a cluster is made by its chief, but this process is {}: make a troupe::cluster_node", to_string(config.task))};
  options.detection.check();
  options.coordinator.check();
  require_network(system, "a cluster of several processes");
  const auto who = make_identity(config.task);
  implementation_->chief.dialer = system.spawn(network_dialer, links_of(system, {who.task, who.incarnation}));
  std::vector<std::pair<task_id, task_address>> list;
  for (const auto& task : config.cluster.tasks())
    if (task.job != "chief") list.emplace_back(task, config.cluster.address(task));
  start(std::move(list), who);
}

cluster::cluster(caf::actor_system& system, chief_actors chief, local_cluster size, cluster_options options)
    : implementation_(new implementation{.reference = cluster_reference{*this},
                                         .system = system,
                                         .options = options,
                                         .workers = size.workers,
                                         .servers = size.servers,
                                         .chief = std::move(chief),
                                         .is_guest = true}) {}

void cluster::start(std::vector<std::pair<task_id, task_address>> members, const member_identity& who) {
  auto& self = *implementation_;
  auto& chief = self.chief;
  for (const auto& [task, _] : members) {
    self.workers += task.job == "worker" ? 1 : 0;
    self.servers += task.job == "ps" ? 1 : 0;
  }
  chief.queue = std::make_shared<submission_queue>(self.options.queue_capacity);
  chief.events = self.system.spawn(event_bus);
  chief.client = std::make_shared<const client_actor>(
      self.system.spawn(troupe::client, chief.dialer, self.options.variables, session_id{0}));
  auto coordination = self.options.coordinator;
  coordination.workers = self.workers;
  coordination.first_session = who.incarnation;
  chief.coordinator = self.system.spawn<caf::detached>(troupe::coordinator, chief.queue, coordination, chief.events);
  chief.shared_coordinator = std::make_shared<const weak_coordinator>(chief.coordinator);
  chief.application = std::make_shared<member_context>(self.system, who.task);
  chief.application->report = log_warning;
  chief.application->set_on_failure(failing(self.options));
  member_context::enter(chief.application);
  chief.directory =
      self.system.spawn(troupe::directory, chief.application->book, chief.dialer, self.options.members.detection);
  chief.closures = self.system.spawn(closure_desk, chief.queue, chief.coordinator);
  offer_chief_services(*chief.application->book, chief.closures, chief.events);
  chief.membership =
      self.system.spawn(troupe::membership, chief.dialer,
                        membership_options{.chief = who,
                                           .members = std::move(members),
                                           .detection = self.options.detection,
                                           .detached = true,
                                           .chief_silence_max = self.options.chief_silence_max},
                        membership_audience{chief.coordinator, *chief.client, chief.events, chief.directory});
}

cluster::~cluster() {
  auto& self = *implementation_;
  auto& chief = self.chief;
  // Actors that lose what they relied on, as their part comes later, are no failure of a program that has ended.
  for (const auto& each : self.members) each.application->set_on_failure(nullptr);
  // What the program does at its end may use the cluster.
  if (!self.is_guest) stop_application(*chief.application, self.options.stop_limit);
  self.reference.end();
  if (self.is_guest) return;
  // In the reverse order of their beginning: the program's actors, which used those of the members, then the members.
  try {
    ask(
        self.system, chief.membership, self.options.stop_limit, "ending the cluster's members", [](caf::ok_atom) {},
        retire_atom_v, wire<status>{status{}});
  } catch (const error&) {
    // Members that did not answer end themselves when the chief is gone.
  }
  // Whoever has kept a member is told that it is gone.
  std::vector<std::shared_ptr<member_context>> applications{chief.application};
  for (const auto& each : self.members) applications.push_back(each.application);
  auto actors = self.end_members();
  for (const auto& each : {caf::actor_cast<caf::actor>(chief.membership), caf::actor_cast<caf::actor>(chief.directory),
                           caf::actor_cast<caf::actor>(chief.closures), caf::actor_cast<caf::actor>(chief.coordinator),
                           caf::actor_cast<caf::actor>(*chief.client), caf::actor_cast<caf::actor>(chief.events),
                           caf::actor_cast<caf::actor>(chief.dialer)})
    actors.push_back(each);
  chief = {};
  stop_actors(std::move(actors), self.options.stop_limit);
  for (const auto& each : applications) each->leave_system();
}

const cluster_reference& cluster::reference() const { return implementation_->reference; }
member cluster::here() const { return member{implementation_->chief.application}; }
int cluster::worker_count() const { return implementation_->workers; }
int cluster::server_count() const { return implementation_->servers; }
const std::vector<std::string>& cluster::arguments() const { return implementation_->arguments; }
void cluster::set_arguments(std::vector<std::string> arguments) { implementation_->arguments = std::move(arguments); }
caf::actor_system& cluster::system() const { return implementation_->system; }
const cluster_options& cluster::options() const { return implementation_->options; }
const coordinator_actor& cluster::coordinator() const { return implementation_->chief.coordinator; }
const membership_actor& cluster::membership() const { return implementation_->chief.membership; }
const event_bus_actor& cluster::events() const { return implementation_->chief.events; }
const std::shared_ptr<submission_queue>& cluster::queue() const { return implementation_->chief.queue; }
const dialer_actor& cluster::dialer() const { return implementation_->chief.dialer; }
const coordinator_ptr& cluster::shared_coordinator() const { return implementation_->chief.shared_coordinator; }
const client_ptr& cluster::client() const { return implementation_->chief.client; }

// --- waiting for members --------------------------------------------------------------------------------------------

namespace {

template <class T>
T opened(wire<T>& message) {
  if (auto problem = message.open(); !problem.ok()) throw_status(std::move(problem));
  return *message;
}

bool is_present(const cluster_view& view, const task_id& task) {
  const auto* const record = view.find(task);
  return record != nullptr && record->state == member_presence::present;
}

std::string describe_absent(const cluster_view& view, const std::vector<task_id>& tasks) {
  std::vector<std::string> absent;
  for (const auto& task : tasks) {
    if (is_present(view, task)) continue;
    const auto* const record = view.find(task);
    absent.push_back(fmt::format("{} at {}: {}", to_string(task),
                                 record != nullptr ? to_string(record->address) : "no address",
                                 record != nullptr ? record->why.render() : "it is no task of this cluster"));
  }
  return first_few(absent, "; ");
}

std::string still_missing(const cluster_view& view, const std::vector<task_id>& tasks, duration limit) {
  return fmt::format("after {} ms these members are still missing: {}", in_milliseconds(limit),
                     describe_absent(view, tasks));
}

}  // namespace

cluster_view cluster::view() const {
  cluster_view result;
  ask(
      implementation_->system, implementation_->chief.membership, std::chrono::seconds{10},
      "asking who is in the cluster", [&](wire<cluster_view>& answer) { result = opened(answer); }, view_atom_v);
  return result;
}

wait_graph cluster::why(duration limit) const {
  constexpr duration grace = std::chrono::seconds{2};
  std::optional<wait_graph> result;
  ask(
      implementation_->system, implementation_->chief.membership,
      std::clamp<duration>(limit, duration::zero(), waits_inquiries::limit_max) + grace, "asking who waits",
      [&](wire<cluster_waits>& answer) { result.emplace(opened(answer)); }, why_atom_v, std::int64_t{limit.count()});
  return *std::move(result);
}

cluster_view cluster::wait_for(const std::vector<task_id>& tasks, duration limit) {
  if (auto all = wait_a_while_for(tasks, limit)) return *std::move(all);
  throw deadline_exceeded_error{still_missing(view(), tasks, limit)};
}

std::optional<cluster_view> cluster::wait_a_while_for(const std::vector<task_id>& tasks, duration limit) {
  // The membership keeps the limit: a look at who is there now is no wait that has failed.
  constexpr duration grace = std::chrono::seconds{10};
  const auto gives_up = later(later(current_time(), limit), grace);
  cluster_view result;
  ask(
      implementation_->system, implementation_->chief.membership, gives_up - current_time(),
      "waiting for members of the cluster", [&](wire<cluster_view>& answer) { result = opened(answer); }, watch_atom_v,
      wire<std::vector<task_id>>{tasks}, std::int64_t{limit.count()});
  if (!std::all_of(tasks.begin(), tasks.end(), [&](const task_id& task) { return is_present(result, task); }))
    return std::nullopt;
  return result;
}

cluster_view cluster::wait_until_ready(const std::function<void(const std::string& missing)>& told) {
  const auto tell = told ? told : log_warning;
  constexpr duration first = std::chrono::seconds{1};
  constexpr duration interval = std::chrono::seconds{5};
  std::vector<task_id> tasks;
  for (const auto& record : view().members) tasks.push_back(record.task);
  const auto limit = implementation_->options.start_limit;
  const auto deadline = later(current_time(), limit);
  for (auto pause = first;; pause = interval) {
    const auto left = deadline - current_time();
    if (auto all = wait_a_while_for(tasks, std::min(pause, left))) return *std::move(all);
    const auto now = view();
    if (left <= pause) return begin_with_fewer(now, still_missing(now, tasks, limit), tell);
    tell("waiting for " + describe_absent(now, tasks));
  }
}

cluster_view cluster::begin_with_fewer(const cluster_view& now, const std::string& missing,
                                       const std::function<void(const std::string& missing)>& tell) {
  auto usable = false;
  std::vector<task_id> absent;
  for (const auto& record : now.members) {
    if (record.state == member_presence::absent) absent.push_back(record.task);
    if (record.task.job == "worker" && record.state == member_presence::present) usable = true;
    if (record.task.job == "ps" && record.state == member_presence::absent)
      throw unavailable_error{"the cluster did not start: every parameter server must be up; " + missing};
  }
  if (!usable) throw unavailable_error{"the cluster did not start: no worker is up; " + missing};
  tell("beginning without " + describe_absent(now, absent));
  return now;
}

}  // namespace troupe
