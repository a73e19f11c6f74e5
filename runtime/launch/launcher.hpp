// Runs a whole cluster on this machine: one process per task, each told its role through TF_CONFIG.
//
// The chief's end is the job's end, and its exit code is the job's. Until then a worker or server that ends by a
// signal or with a code other than 0 is started again, with a delay that doubles each time, at most `restarts_max`
// times in a row; when no worker is left, or nobody reads the job's output any more, the job is stopped. A process that
// exits with 0 has finished and stays away. Nothing outlives the launcher: it forwards signals to the chief, kills what
// does not end within its grace time, and if it dies itself the kernel kills the processes that it has started.
//
//   idle --start--> running --chief ended--> leaving --leave_grace--> stopping --stop_grace--> killing --> ended
//                      |                        ^                                                ^  (all are gone)
//                      '--request_stop, no worker left, no reader left--> asking the chief ------'
//                                               '---------chief ended--------'   stop_grace
//
// Whoever tests how a job bears failures takes tasks down and brings them back at times of its own; these restarts are
// not counted.
//
// Everything happens in poll_once, on one thread: no lock, no handler, no background activity.
#pragma once

#include <troupe/runtime/cluster/cluster_spec.hpp>
#include <troupe/runtime/launch/task_console.hpp>
#include <troupe/runtime/launch/task_place.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace troupe {

/// What to start and how to treat it.
struct launcher_options {
  std::string program;                             ///< a path, or a name that is looked up in PATH
  std::vector<std::string> arguments;              ///< the same for every task
  std::map<std::string, std::string> environment;  ///< in addition to this process's own and to TF_CONFIG
  int workers = 2;                                 ///< 1 to launcher::tasks_max
  int servers = 1;                                 ///< parameter servers, 0 to launcher::tasks_max
  std::map<std::string, int> roles;                ///< members of other roles
  int restarts_max = 10;                           ///< of each member, in a row; 0 starts nothing again
  std::string host = "127.0.0.1";                  ///< the address of this machine that all tasks listen on
  bool tls = false;                                ///< makes certificates for all, so that all is encrypted
  placement place;  ///< where each task runs, in place of `host`, at ports that nobody else may take; empty: there
  std::chrono::milliseconds restart_delay{100};  ///< before the first restart; doubles each time
  std::chrono::milliseconds restart_delay_max{5'000};
  /// A member that has run for so long begins to count its restarts anew: a job of weeks bears more faults than one of
  /// minutes.
  std::chrono::milliseconds restart_reset_time{600'000};
  std::chrono::milliseconds leave_grace{2'000};   ///< after the chief's end, for the others to end by themselves
  std::chrono::milliseconds stop_grace{12'000};   ///< between SIGTERM and SIGKILL; more than run()'s 10 s
  task_console::writer output;                    ///< takes all output; empty: this process's own streams
  std::array<bool, 2> is_terminal{false, false};  ///< whether standard output and error go to a terminal
};

/// A local cluster. Not thread-safe; use it on one thread, which the processes do not outlive.
class launcher {
 public:
  static constexpr int tasks_max = 1000;

  /// Checks the options, finds the program and reserves a port for every task; starts nothing.
  /// @throws invalid_argument_error for an option out of its range, not_found_error and permission_denied_error for
  ///         the program, resource_exhausted_error when ports or descriptors run out.
  explicit launcher(launcher_options options);
  /// Kills what still runs.
  ~launcher();
  launcher(const launcher&) = delete;
  launcher& operator=(const launcher&) = delete;

  /// Starts everything, forwards SIGINT, SIGTERM and SIGHUP (as SIGTERM) until the job has ended (a second one kills),
  /// and returns the job's exit code. Signals that this process ignores are not forwarded (nohup). From then on SIGPIPE
  /// does not end this process. `turn` is called before each wait for something to happen, which is no longer than it
  /// says.
  int run(const std::function<std::chrono::milliseconds()>& turn = {});

  /// Starts servers, workers and the chief, in this order. Throws what child_process throws; then nothing runs.
  void start();
  /// Waits at most `timeout` for something to happen and handles it: output, ends, restarts, time limits.
  /// Returns false when the job has ended and every process is gone.
  bool poll_once(std::chrono::milliseconds timeout);
  /// Ends the job in order: the chief gets `signal`, the others end after it; who does not is killed after
  /// `stop_grace`. The second request kills at once. A job that is being stopped already goes on with that.
  void request_stop(int signal);
  /// The chief's exit code, or 128 + the signal that killed it; nothing while it runs.
  std::optional<int> exit_code() const noexcept;

  const cluster_spec& cluster() const noexcept;
  /// A task's process; nothing while it is down. @throws invalid_argument_error when there is no such task.
  std::optional<pid_t> pid(const task_id& task) const;
  /// How often a task has been started again. Throws as pid.
  int restarts(const task_id& task) const;
  /// Sends a signal to a task's process group; nothing happens while it is down. Throws as pid.
  void kill(const task_id& task, int signal);
  /// Kills a task other than the chief, which then stays down until it is brought back.
  /// @throws failed_precondition_error when it does not run; invalid_argument_error as pid, and for the chief.
  void take_down(const task_id& task);
  /// Starts it again, at once or as soon as its process is gone. @throws failed_precondition_error when it was not
  /// taken down; as pid.
  void bring_back(const task_id& task);
  /// A line of the launcher's own on the console.
  void say(std::string_view line);

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe
