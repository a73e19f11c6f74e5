// What a simulation is made of: the nodes, the network between them, and the seeded choice of what happens next.
//
// A step is one message of one actor or broker, one timeout, or one arrival, drawn from all that could happen now. Time
// stands still while anything can happen, then moves to the next timeout or arrival.
#pragma once

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/runtime/cluster/chief_actors.hpp>
#include <troupe/runtime/simulation.hpp>
#include <troupe/runtime/simulation/simulated_bulk.hpp>
#include <troupe/runtime/simulation/simulated_network.hpp>

#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace troupe {

inline const task_id chief_task{"chief", 0};

/// Where CAF's testing clock begins; it keeps zero for itself.
inline constexpr time_point simulation_beginning{duration{1}};

/// Starts of processes in one simulation: CAF tells the nodes inside one process apart by one byte.
inline constexpr std::size_t processes_max = 250;

struct simulation::implementation {
  /// Something that could happen next.
  struct possibility {
    enum class kind { job, broker, timeout, arrival, transfer };
    kind what = kind::job;
    simulated_node* node = nullptr;
    std::size_t place = 0;
    simulated_network::arrival where{};
    std::uint64_t transfer = 0;
  };

  explicit implementation(const simulation_options& chosen)
      : options(chosen),
        random(chosen.seed),
        network(random, chosen.latency_min, chosen.latency_max),
        bulk(std::make_shared<simulated_bulk>(network, now, chosen.bulk_bytes_per_second)) {}

  /// @throws invalid_argument_error
  void check_known(const task_id& task) const;
  /// @throws also failed_precondition_error when it does not run.
  simulated_node& node(const task_id& task);
  chief_actors& running_chief();
  void start(const task_id& task);
  void start_chief(simulated_node& node);
  void start_member(simulated_node& node);
  std::shared_ptr<connector> connects(simulated_node& node);
  /// As main functions that end with their process.
  void stop_programs();
  void stop(const task_id& task, simulated_network::death how = simulated_network::death::of_process);
  duration elapsed() const { return now - simulation_beginning; }
  void note(const std::string& line);
  void take_event(const event& what);
  /// The task's process ends soon.
  void end(const task_id& task, const member_end& how);

  bool step_now();
  bool take(const possibility& chosen);
  void add_possibilities();
  bool end_process();
  time_point next_time() const;
  void set_time(time_point to);

  const simulation_options options;
  std::mt19937_64 random;
  simulated_network network;
  time_point now = simulation_beginning;
  std::shared_ptr<simulated_bulk> bulk;
  std::map<task_id, task_address> addresses;
  std::map<task_id, std::unique_ptr<simulated_node>> nodes;
  /// What the application has on each task that runs.
  std::map<task_id, std::shared_ptr<member_context>> applications;
  chief_actors chief;
  /// The same for what is written for real clusters; lives as long as the chief's programs.
  std::unique_ptr<cluster> chief_cluster;
  std::vector<std::weak_ptr<fiber_host>> programs;
  /// Processes that were told to end, and when they do.
  std::vector<std::pair<time_point, task_id>> ending;
  std::map<task_id, member_end> ends;
  std::map<task_id, bool> present;
  std::vector<occurrence> occurrences;
  std::vector<std::string> trace;
  std::vector<possibility> possible;
  std::vector<simulated_network::arrival> arrivals;
  std::vector<std::uint64_t> transfers;
  std::uint64_t steps = 0;
  std::size_t steps_of_instant = 0;
  std::size_t processes = 0;
  resource_id last_resource = 0;
  /// By the incarnation of the server: another process begins anew, so that what reaches it by mistake is noticed.
  std::map<std::uint64_t, std::uint64_t> last_shard;
};

}  // namespace troupe
