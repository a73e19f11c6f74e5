// Starts a program as a child process, watches it, and ends it, whatever happens to either side.
//
// What can go wrong between fork and exit decides the design:
//   - the parent dies: the kernel kills the child (PR_SET_PDEATHSIG), so no orphan keeps a port or a GPU;
//   - the program cannot be executed: its error comes back over a pipe and becomes an exception in the parent;
//   - the child leaves processes of its own behind: it leads a process group, and signals go to the whole group, which
//     is killed once its leader has ended;
//   - the child ignores SIGTERM or is stopped: termination has a grace time, after which SIGKILL follows.
// The child is watched through a pid descriptor (Linux 5.3), which can be polled beside pipes and, unlike a pid, never
// means another process.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace troupe {

/// How a process ended.
struct exit_status {
  bool killed = false;  ///< by a signal, whose number `value` is; otherwise `value` is the exit code
  int value = 0;
  bool operator==(const exit_status&) const = default;

  bool success() const noexcept { return !killed && value == 0; }
  /// What a shell reports: the exit code, or 128 + the signal's number.
  int shell_code() const noexcept { return killed ? 128 + value : value; }
};

/// "exit code 3" or "killed by SIGKILL".
std::string to_string(const exit_status& status);

/// The file that a program's name stands for: the name itself when it has a '/', else the first match in PATH.
/// @throws not_found_error or permission_denied_error that says where it was looked for.
std::string find_program(const std::string& name);

/// What to start. Standard input of the child is /dev/null.
struct child_process_options {
  std::string program;                             ///< a path, or a name that is looked up in PATH
  std::vector<std::string> arguments;              ///< without the program's name
  std::map<std::string, std::string> environment;  ///< replaces or adds to this process's environment
};

/// A running (or ended) child. Not thread-safe. The child dies with the *thread* that created this object, because
/// that is what Linux ties PR_SET_PDEATHSIG to: create it on a thread that lives as long as the child shall.
class child_process {
 public:
  /// Starts the program and returns when it is executing.
  /// @throws not_found_error, permission_denied_error or failed_precondition_error when it cannot be executed,
  ///         resource_exhausted_error when the system allows no further process or descriptor.
  explicit child_process(const child_process_options& options);
  child_process(child_process&& other) noexcept = default;
  child_process& operator=(child_process&&) = delete;
  /// Kills what still runs.
  ~child_process();

  pid_t pid() const noexcept { return pid_; }
  /// Becomes readable when the child has ended: poll for POLLIN.
  int pid_descriptor() const noexcept { return pid_descriptor_.get(); }
  /// The read ends of the child's standard output and error, non-blocking. Reset one when it has reached its end.
  descriptor& standard_output() noexcept { return standard_output_; }
  descriptor& standard_error() noexcept { return standard_error_; }

  /// How the child ended; nothing while it runs. Never blocks.
  std::optional<exit_status> poll();
  /// Waits for the end at most so long.
  std::optional<exit_status> wait_for(std::chrono::milliseconds timeout);
  /// Sends a signal to the child's process group; does nothing when the child has ended.
  void signal(int number) noexcept;
  /// Asks to end with SIGTERM (a stopped child is continued, so that it can answer), and kills after `grace`.
  /// @throws deadline_exceeded_error when even SIGKILL does not end it, as in a hung file system call.
  exit_status terminate(std::chrono::milliseconds grace);
  /// Kills and waits. Throws as terminate.
  exit_status kill();

 private:
  pid_t pid_ = -1;
  descriptor pid_descriptor_;
  descriptor standard_output_;
  descriptor standard_error_;
  std::optional<exit_status> ended_;
};

}  // namespace troupe
