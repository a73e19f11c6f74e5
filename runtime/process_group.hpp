// The processes that compute in step, as one of them sees it: its rank, its connection to the others, their losses.
//
// All processes of a cluster specification run the same program (run_group in run.hpp). The chief is rank 0 and hosts
// the rendezvous; worker i is rank i + 1. Without a specification the group is this process alone.
//
// Each process listens at its address in the specification, and nowhere else: those of higher ranks come there, on
// other hosts too, with the secret or under TLS as everywhere (runtime/door/credentials.hpp). Those of one host can
// share memory instead.
//
// When a process is lost or fails, every collective of the group ends on every process with an error that names it
// (D-1). Then `rebuild` forms a group of those that are left, as long as the chief is among them. A process that ends
// in order ends the collectives that need it, and no other: those who are in the last one can finish it.
#pragma once

#include <troupe/actors/membership/failure_detector_options.hpp>
#include <troupe/device/collectives/communication_plan.hpp>
#include <troupe/device/collectives/communicator.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>

#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct process_group_options {
  /// How long the start may take until all processes are there and connected, and a rebuild, too.
  duration start_limit = std::chrono::seconds{60};
  /// What connects the processes; all of them must ask for the same.
  process_transport_choice transport = process_transport_choice::automatic;
  failure_detector_options detection;
  duration stop_limit = std::chrono::seconds{3};
  /// Takes a line while processes are missing, after 1 s and then each 5 s: for whom this one waits, and where. Any
  /// thread. `run_group` gives them to the log.
  std::function<void(const std::string&)> report = {};
};

class process_group {
 public:
  /// A group of one process.
  explicit process_group(caf::actor_system& system);
  /// Waits until all processes of the specification are there. The middleman must be loaded.
  /// @throws invalid_argument_error for a parameter server's configuration; unavailable_error when the port can't be
  /// used or the chief is not reached; deadline_exceeded_error that names who did not come; failed_precondition_error
  /// when shared memory was asked for and the processes can't share any.
  process_group(caf::actor_system& system, const task_config& config, process_group_options options = {});
  ~process_group();
  process_group(const process_group&) = delete;

  int rank() const;
  int size() const;
  /// On how many hosts the processes are; those that can share memory are on one.
  int hosts() const;
  /// What connects the processes, and why that.
  process_connection connection() const;
  /// The tasks, by rank.
  const std::vector<task_id>& tasks() const;
  const task_id& task() const;
  /// Counts the groups that were formed, from 1.
  std::uint64_t generation() const;
  /// Connects all processes: unless the options choose, over shared memory if they are on one host, TCP otherwise. All
  /// of them must call it, as often; null in a group of one. One thread at a time uses the result, which must not
  /// outlive the group.
  std::shared_ptr<communicator> communicator_of_processes() const;
  /// Why the group can't go on, if so: also when a process has left it in order. Any thread.
  std::optional<status> broken() const;
  /// Forms a new group of the processes that are left; all of them must call it. Ranks are new.
  /// @throws unavailable_error when the chief is lost; aborted_error when this process was declared lost itself;
  /// deadline_exceeded_error.
  void rebuild();

  /// What the program was given on its command line, after troupe's own flags.
  const std::vector<std::string>& arguments() const;
  void set_arguments(std::vector<std::string> arguments);
  caf::actor_system& system() const;

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe
