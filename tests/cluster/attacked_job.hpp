// A job that strangers attack: processes that work without a pause, and what an attack must not change.
//
// The chief runs rounds of closures at a fixed pace, each with content that travels beside the messages and additions
// to a variable, and has a server of remote procedures over "caf", so that it listens, too. It tells its rate, in
// rounds per second, several times a second. The pace leaves most of a processor free: a rate that falls is not for
// want of one.
#pragma once

#include "process_cluster.hpp"
#include "support/scoped_credentials.hpp"
#include "support/security_mode.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace troupe {

/// Where a process of the job listens.
struct attacked_port {
  task_id task;
  task_address address;
};

class attacked_job {
 public:
  /// Where other tasks find a task, if not at its own address.
  using detour = std::function<task_address(const task_id& task, const task_address& own)>;

  /// With what its processes let each other in; this process comes with it, too, as no member.
  using security = security_mode;
  explicit attacked_job(const detour& through = {}, security how = security::none);
  attacked_job(const attacked_job&) = delete;

  process_cluster& processes() { return processes_; }
  /// With TLS only.
  cluster_certificates& certificates() { return *certificates_; }
  /// Of each worker, the server and the chief.
  const std::vector<attacked_port>& ports() const { return ports_; }
  const attacked_port& port_of(const task_id& task) const;
  /// Of the server's process.
  std::uint64_t server_incarnation() const { return server_incarnation_; }
  /// CAF's id of the chief's process, as every member is told it.
  const std::string& chief_node() const { return chief_node_; }
  /// Of the chief's process, as every member is told it.
  std::uint64_t chief_incarnation() const { return chief_incarnation_; }

  /// The mean of the reports of the time from now on. Fails the test when the job stands still.
  double rate(int reports = 4);
  /// All processes live, the job goes on, and the chief's server answers.
  void check_goes_on(std::string_view after);
  /// Ends the job and checks that it was as if nobody had come: each process ends well, nobody was lost, each addition
  /// came once. Checks nothing when the attack has ended the job.
  void check_end();

 private:
  void check_served();

  std::shared_ptr<cluster_certificates> certificates_;
  process_cluster processes_;
  scoped_credentials own_;
  std::vector<attacked_port> ports_;
  std::uint64_t server_incarnation_ = 0;
  std::string chief_node_;
  std::uint64_t chief_incarnation_ = 0;
  double calm_rate_ = 0;
};

/// What the process has in memory; 0: there is none.
std::size_t resident_bytes(pid_t process);

/// Watches how much processes have in memory while somebody else does something.
class memory_watch {
 public:
  explicit memory_watch(attacked_job& job);

  void look();
  /// Again and again, while the job goes on.
  void look_for(attacked_job& job, std::chrono::milliseconds time);
  /// No process had more than `factor` times what it had, and `more_bytes`.
  void check(double factor, std::size_t more_bytes);

 private:
  struct entry {
    task_id task;
    pid_t process = 0;
    std::size_t before_bytes = 0;
    std::size_t most_bytes = 0;
  };

  std::vector<entry> entries_;
};

}  // namespace troupe
