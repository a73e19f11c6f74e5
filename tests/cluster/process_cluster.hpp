// A cluster of real processes that a test controls one by one: it starts, kills, freezes and replaces them, reads what
// they write and learns how they end. Nothing is started again by itself (that is the launcher's work, which has tests
// of its own), so a test sees the cluster between a loss and a recovery.
//
// Every wait has a limit, and a test whose chief has ended early fails at once; both show the output of all processes.
#pragma once

#include "support/cluster_certificates.hpp"

#include <troupe/runtime/cluster/task_environment.hpp>
#include <troupe/runtime/launch/child_process.hpp>
#include <troupe/runtime/launch/credentials_for_children.hpp>
#include <troupe/runtime/launch/line_splitter.hpp>
#include <troupe/runtime/launch/port_reservation.hpp>
#include <troupe/runtime/launch/task_place.hpp>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

inline const task_id chief_task{"chief", 0};
inline task_id worker_task(int index) { return {"worker", index}; }
inline task_id server_task(int index) { return {"ps", index}; }

struct process_cluster_options {
  int workers = 2;
  int servers = 1;
  /// What follows the name of the chief's program.
  std::vector<std::string> arguments;
  /// The executable; empty: this one.
  std::string program;
  /// Where each task runs. Unset: on this machine's loopback, at ports that are kept for them.
  placement place;
  /// Whether the processes have a secret of their own. Beyond loopback they always have, unless they have certificates.
  bool secret = false;
  /// Null: what they say is not encrypted.
  std::shared_ptr<cluster_certificates> certificates = nullptr;
};

class process_cluster {
 public:
  using milliseconds = std::chrono::milliseconds;
  /// What a test waits for must happen within this time; only a failing test uses it up.
  static constexpr milliseconds patience{60'000};

  /// Gives each task its place; starts nothing.
  explicit process_cluster(std::string program_name, process_cluster_options options = {});
  process_cluster(const process_cluster&) = delete;

  /// Starts servers, workers and the chief.
  process_cluster& start();
  /// Starts one task, again or for the first time; `program` and `config` replace its own.
  void start(const task_id& task, const std::string& program = {}, const std::optional<task_config>& config = {});

  /// For tasks that are started from now on: what follows the name of the chief's program.
  void set_arguments(std::vector<std::string> arguments) { options_.arguments = std::move(arguments); }

  /// The file of the processes' secret; empty: they have none.
  std::string secret_file() const { return secret_ ? secret_->path() : ""; }
  /// With what this process connects to the others as one of this job; "client": as no member.
  credentials credentials_of(const std::string& job) const;

  /// What the task finds in TF_CONFIG.
  task_config config(const task_id& task) const { return {spec_, task}; }
  /// All tasks: servers, workers, the chief.
  std::vector<task_id> tasks() const { return spec_.tasks(); }
  pid_t pid(const task_id& task) const;
  bool runs(const task_id& task) const;
  void signal(const task_id& task, int number);

  /// Waits for a line that contains `text`, or takes it if it has come already; no line is taken twice. Returns the
  /// line with the name of its task, "[worker 1] ...".
  std::string wait_for(std::string_view text, milliseconds limit = patience);
  /// Whether such a line has come and was not taken. Does not wait.
  bool has(std::string_view text) const;
  /// Waits for the end of the task's process.
  exit_status end_of(const task_id& task, milliseconds limit = patience);
  /// Lets time pass, reading what comes.
  void pass(milliseconds time);
  /// What all processes wrote, most of it if it is much.
  std::string output() const;

 private:
  struct process {
    child_process child;
    std::array<line_splitter, 2> lines;
  };

  task_place loopback_place();
  /// Reads until `done`, or until the limit is over: then false.
  bool pump(milliseconds limit, const std::function<bool()>& done);
  void wait_for_events(milliseconds limit);
  void read(const task_id& task, process& from);
  const process& find(const task_id& task) const;
  [[noreturn]] void fail(const std::string& what) const;

  process_cluster_options options_;
  std::optional<secret_for_children> secret_;
  std::string program_name_;
  cluster_spec spec_;
  std::map<task_id, std::vector<std::string>> launchers_;
  std::vector<port_reservation> ports_;
  std::map<task_id, process> processes_;
  std::map<task_id, exit_status> ended_;
  std::deque<std::string> lines_;
  std::deque<bool> taken_;
};

/// This test's own executable.
std::string this_program();

/// The time since its construction.
class stopwatch {
 public:
  std::chrono::milliseconds elapsed() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin_);
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace troupe
