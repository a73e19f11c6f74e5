#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/actors/membership/participant.hpp>
#include <troupe/actors/membership/rendezvous.hpp>
#include <troupe/actors/messages/first_few.hpp>
#include <troupe/device/collectives/communication_plan.hpp>
#include <troupe/device/collectives/message_communicator.hpp>
#include <troupe/device/collectives/shared_memory_communicator.hpp>
#include <troupe/runtime/cluster/group_visitors.hpp>
#include <troupe/runtime/cluster/host_identity.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/cluster/missed_deadline_log.hpp>
#include <troupe/runtime/cluster/publish.hpp>
#include <troupe/runtime/cluster/reach.hpp>
#include <troupe/runtime/cluster/system_needs.hpp>
#include <troupe/runtime/cluster_node.hpp>
#include <troupe/runtime/process_group.hpp>
#include <troupe/runtime/replicas/group_mesh.hpp>
#include <troupe/runtime/replicas/rendezvous_communicator.hpp>

#include <caf/actor_cast.hpp>
#include <caf/exit_reason.hpp>
#include <caf/io/middleman.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

/// Whether who is lost has only ended its part, as ~process_group does. Its connections tell those who still need it,
/// and only those.
bool has_left_in_order(const status& why) {
  static const auto last_words = caf::to_string(caf::make_error(caf::exit_reason::user_shutdown));
  return !why.causes().empty() && why.causes().back().message.ends_with(last_words);
}

/// What the program's threads and the participant share: which generation this process is in, and what broke it.
class group_link {
 public:
  void enter(std::uint64_t generation) {
    const std::scoped_lock lock{mutex_};
    generation_ = generation;
    broken_.reset();
    connections_.clear();
  }

  void add(const std::shared_ptr<communicator>& connection) {
    std::optional<status> broken;
    {
      const std::scoped_lock lock{mutex_};
      connections_.push_back(connection);
      broken = broken_;
    }
    if (broken) connection->abort(*broken);
  }

  /// Nobody tells this process any more whether the others are there.
  void end() {
    const status why{status_code::cancelled, "the process_group was destroyed, which must outlive its strategies"};
    std::vector<std::weak_ptr<communicator>> connections;
    {
      const std::scoped_lock lock{mutex_};
      if (!broken_) broken_ = why;
      connections.swap(connections_);
    }
    for (const auto& each : connections)
      if (const auto connection = each.lock()) connection->abort(why);
  }

  /// Of any generation if it is 0.
  void break_off(std::uint64_t generation, const status& why) {
    std::vector<std::weak_ptr<communicator>> connections;
    {
      const std::scoped_lock lock{mutex_};
      if (broken_ || (generation != 0 && generation != generation_)) return;
      broken_ = why;
      if (!has_left_in_order(why)) connections = connections_;
    }
    for (const auto& each : connections)
      if (const auto connection = each.lock()) connection->abort(why);
  }

  std::optional<status> broken() const {
    const std::scoped_lock lock{mutex_};
    return broken_;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t generation_ = 0;
  std::optional<status> broken_;
  std::vector<std::weak_ptr<communicator>> connections_;
};

std::vector<task_id> tasks_in_rank_order(const cluster_spec& cluster) {
  std::vector<task_id> tasks{{"chief", 0}};
  for (auto i = 0; i < static_cast<int>(cluster.worker.size()); ++i) tasks.push_back({"worker", i});
  return tasks;
}

/// The chief may not be up yet.
rendezvous_actor reach(caf::actor_system& system, const task_address& chief, const process_group_options& options) {
  const auto what = "connecting to " + to_string(chief);
  constexpr auto pause = std::chrono::milliseconds{50};
  const auto deadline = later(current_time(), options.start_limit);
  auto next_report = later(current_time(), std::chrono::seconds{1});
  while (true) {
    try {
      return reach_as<rendezvous_actor>(system, chief, std::max<duration>(deadline - current_time(), pause), what,
                                        "chief of a group");
    } catch (const cancelled_error&) {
      throw;
    } catch (const error& failed) {
      if (current_time() > deadline)
        throw unavailable_error{failed.get_status().wrap(status_code::unavailable,
                                                         fmt::format("the chief at {} is not reached; is it running, "
                                                                     "and was it started as part of a group?",
                                                                     to_string(chief)))};
      if (options.report && current_time() > next_report) {
        options.report(fmt::format("waiting for the chief of the group at {}: {}", to_string(chief), failed.what()));
        next_report = later(current_time(), std::chrono::seconds{5});
      }
    }
    sleep_for(pause);
  }
}

}  // namespace

struct process_group::implementation {
  implementation(caf::actor_system& where, process_group_options chosen) : system(where), options(chosen) {}
  implementation(const implementation&) = delete;
  ~implementation() {
    tells.reset();
    link->end();
    meeting = nullptr;
    ear = nullptr;
    stop_actors(std::move(actors), options.stop_limit);
  }

  caf::actor_system& system;
  process_group_options options;
  task_id task{"chief", 0};
  std::string host = "localhost";
  cluster_spec addresses;
  std::optional<group_host> visited;
  /// Where the others come in, if not by the rendezvous's.
  std::unique_ptr<door> own_door;
  rendezvous_actor meeting;
  participant_actor ear;
  /// The rendezvous too, in the process that hosts it.
  std::vector<caf::actor> actors;
  std::shared_ptr<group_link> link = std::make_shared<group_link>();
  /// What takes its reports is told who waits, too, when a wait of this process is over its limit.
  std::optional<missed_deadline_log> tells;
  group_roster roster{.generation = 1, .members = {{.task = {"chief", 0}}}, .token = {}};
  std::vector<task_id> tasks{{"chief", 0}};
  int rank = 0;
  mutable int connections = 0;
  std::vector<std::string> arguments;

  void host_rendezvous(const task_config& config) {
    rendezvous_options terms{.expected = tasks_in_rank_order(config.cluster),
                             .gather_limit = options.start_limit,
                             .fetch_limit = options.start_limit,
                             .detection = options.detection};
    // Simulated hosts have no other way for their collectives (rendezvous_communicator.hpp).
    if (!has_threads(system)) terms.words_max = 1'000'000;
    if (options.report)
      terms.report = [report = options.report, cluster = config.cluster](const std::vector<task_id>& missing) {
        std::vector<std::string> names;
        names.reserve(missing.size());
        for (const auto& each : missing)
          names.push_back(fmt::format("{} ({})", to_string(each), to_string(cluster.address(each))));
        report(fmt::format("the group waits for {}", first_few(names, ", ")));
      };
    meeting = system.spawn(rendezvous, std::move(terms));
    actors.push_back(caf::actor_cast<caf::actor>(meeting));
    publish(system, meeting, config.cluster.address(task), to_string(task), {.task = task});
  }

  void gather(std::uint64_t last_generation) {
    // The rendezvous keeps the limit; it may also be gone.
    constexpr auto grace = std::chrono::seconds{2};
    const auto wish = std::make_shared<gathering>();
    wish->candidate = {
        .task = task, .generation = last_generation, .host_identity = has_threads(system) ? host_identity() : host};
    wish->limit = options.start_limit + grace;
    caf::anon_send(ear, gather_atom_v, wish);
    wish->ended.wait_until(later(current_time(), wish->limit + grace), "the group to gather");
    if (!wish->why.ok()) throw_status(wish->why);
    enter(wish->roster);
  }

  void enter(const group_roster& formed) {
    roster = formed;
    tasks.clear();
    for (const auto& each : roster.members) tasks.push_back(each.task);
    rank = static_cast<int>(std::find(tasks.begin(), tasks.end(), task) - tasks.begin());
    connections = 0;
    link->enter(roster.generation);
    connection();  // is possible
  }

  int hosts() const {
    std::set<std::string_view> different;
    for (const auto& each : roster.members) different.insert(each.host_identity);
    return static_cast<int>(different.size());
  }

  process_connection connection() const {
    std::string difference;
    for (const auto& each : roster.members) {
      difference = difference_of_hosts(roster.members.front().host_identity, each.host_identity);
      if (!difference.empty()) break;
    }
    return connection_between(static_cast<int>(tasks.size()), hosts(), options.transport, difference);
  }

  /// As whom this process comes to the doors of the others, and answers at its own.
  peer_identity party() const { return party_of(system, *credentials_of(system), {.task = task}); }

  std::unique_ptr<communicator> connect_by_doors(const std::string& name) const {
    std::vector<group_rank> ranks;
    ranks.reserve(tasks.size());
    for (const auto& each : tasks) ranks.push_back({each, addresses.address(each)});
    const auto deadline = std::chrono::steady_clock::now() + options.start_limit;
    return make_message_communicator(rank,
                                     connect_group(ranks, rank, name, party(), *credentials_of(system), deadline));
  }
};

process_group::process_group(caf::actor_system& system) : implementation_(new implementation{system, {}}) {}

process_group::process_group(caf::actor_system& system, const task_config& config, process_group_options options)
    : implementation_(new implementation{system, options}) {
  auto& self = *implementation_;
  self.task = config.task;
  if (config.cluster.roles.contains(config.task.job))
    throw invalid_argument_error{
        fmt::format("{} can be no part of a group of processes in step, which consists of the chief and the workers",
                    to_string(config.task))};
  if (config.task.job == "ps" || !config.cluster.ps.empty())
    throw invalid_argument_error{
        "a group of processes in step has no parameter servers: start it with --ps 0, or without \"ps\" in TF_CONFIG"};
  require_network(system, "a group of processes");
  options.detection.check();
  const auto& own = config.cluster.address(config.task);
  self.host = own.host;
  self.addresses = config.cluster;
  self.visited.emplace(config.task);
  if (config.task.job == "chief") {
    self.host_rendezvous(config);
  } else {
    // In a simulation the rendezvous is all they need.
    if (has_threads(system)) self.own_door = open_group_door(own, self.party(), *credentials_of(system));
    self.meeting = reach(system, config.cluster.address({"chief", 0}), options);
  }
  self.ear = system.spawn(
      participant, participant_options{.self = make_identity(config.task),
                                       .host = self.meeting,
                                       .on_broken = [link = self.link](std::uint64_t generation, const status& why) {
                                         link->break_off(generation, why);
                                       }});
  self.actors.push_back(caf::actor_cast<caf::actor>(self.ear));
  if (options.report && has_threads(system))
    self.tells.emplace(system, caf::actor_cast<caf::actor>(self.meeting), options.report);
  self.gather(0);
}

process_group::~process_group() = default;

int process_group::rank() const { return implementation_->rank; }
int process_group::size() const { return static_cast<int>(implementation_->tasks.size()); }
int process_group::hosts() const { return implementation_->hosts(); }
process_connection process_group::connection() const { return implementation_->connection(); }
const std::vector<task_id>& process_group::tasks() const { return implementation_->tasks; }
const task_id& process_group::task() const { return implementation_->task; }
std::uint64_t process_group::generation() const { return implementation_->roster.generation; }
std::optional<status> process_group::broken() const { return implementation_->link->broken(); }
const std::vector<std::string>& process_group::arguments() const { return implementation_->arguments; }
void process_group::set_arguments(std::vector<std::string> arguments) {
  implementation_->arguments = std::move(arguments);
}
caf::actor_system& process_group::system() const { return implementation_->system; }

std::shared_ptr<communicator> process_group::communicator_of_processes() const {
  const auto& self = *implementation_;
  const auto over = connection().over;
  if (over == process_transport::none) return nullptr;
  const auto name = fmt::format("troupe-{}-{}", self.roster.token, self.connections++);
  std::shared_ptr<communicator> made;
  if (!has_threads(self.system)) {
    made = make_rendezvous_communicator(self.system, self.meeting, generation(), name, rank(), size());
  } else if (over == process_transport::shared_memory) {
    made = make_shared_memory_communicator(name, rank(), size(), self.options.start_limit);
  } else {
    made = self.connect_by_doors(name);
  }
  self.link->add(made);
  return made;
}

void process_group::rebuild() {
  auto& self = *implementation_;
  if (!self.meeting) return;
  self.gather(generation());
}

}  // namespace troupe
