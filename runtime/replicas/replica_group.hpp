// The replicas of one strategy in this process: their actors, their barrier, their communicators, and how to use them.
//
// It lives in an actor system of the application, or in one of its own. Everything that waits here ends by the step's
// deadline at the latest, which is `step_limit` after its start.
//
//   RG-1 A broken group of communicators is replaced before the next use, while no replica is in a collective.
#pragma once

#include <troupe/actors/replicas/merge_barrier.hpp>
#include <troupe/actors/replicas/replica.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>

#include <caf/actor_system.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class system_config;

/// The steps that somebody waits for; they end with the barrier, whatever it was doing.
class open_steps {
 public:
  /// @throws unavailable_error when the barrier has ended.
  void add(const std::shared_ptr<lock_step>& step);
  void remove(const std::shared_ptr<lock_step>& step);
  void end_all();

 private:
  std::mutex mutex_;
  std::set<std::shared_ptr<lock_step>> steps_;
  bool ended_ = false;
};

class replica_group {
 public:
  using communicators = std::vector<std::unique_ptr<communicator>>;

  struct options {
    /// One for each replica.
    std::vector<std::string> devices;
    /// The number of this process's first replica among all replicas in sync.
    int first_replica = 0;
    duration step_limit = std::chrono::hours{1};
    /// Makes one communicator for each replica of this process, which are connected with each other by that.
    std::function<communicators(const local_connection& connect)> make_communicators;
  };

  /// With a null system it starts one of its own; in a simulation it takes its process's.
  replica_group(caf::actor_system* system, options chosen);
  ~replica_group();
  replica_group(const replica_group&) = delete;

  /// Whether replicas in this system, or in what a null one stands for, are fibers of one thread.
  static bool is_simulated(const caf::actor_system* system);

  int size() const { return static_cast<int>(options_.devices.size()); }
  const std::vector<std::string>& devices() const { return options_.devices; }
  int first_replica() const { return options_.first_replica; }

  /// Ends it wherever the caller is: its destructor waits, which neither its own threads nor any fiber may do, whose
  /// actor would stand still.
  static void end(std::unique_ptr<replica_group> which);

  /// Calls `body` once for each replica, in its fiber; returns the results by replica. Outside of replica fibers.
  /// @throws what the first replica that failed threw; deadline_exceeded_error, unavailable_error, cancelled_error.
  std::vector<erased> run(std::function<erased(lock_step&, int replica)> body);

  /// A collective of one replica, as long as it is there: meanwhile the end of the group ends its communicators, too.
  class call {
   public:
    call(replica_group& of, int replica, std::chrono::nanoseconds limit);
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    ~call() { --*calls_; }

    communicator& group() const { return *(*group_)[replica_]; }
    std::chrono::nanoseconds limit() const { return limit_; }

   private:
    const std::size_t replica_;
    const std::chrono::nanoseconds limit_;
    std::shared_ptr<communicators> group_;
    std::shared_ptr<std::atomic<int>> calls_;
  };

  /// Inside a replica's fiber: the collective's communicator, and the time that is left.
  std::shared_ptr<call> begin(lock_step& step, int replica, duration limit);
  /// The same, and calls the collective.
  void perform(lock_step& step, int replica, duration limit,
               const std::function<void(communicator&, std::chrono::nanoseconds)>& collective);

 private:
  class shared_body;

  static void end_with_actors(std::shared_ptr<replica_group> which);
  void spawn(caf::actor_system& system);
  void prepare_communicators();
  void abort_communicators(const status& why);
  void end_collectives();

  options options_;
  std::unique_ptr<system_config> own_config_;
  std::unique_ptr<caf::actor_system> own_system_;
  caf::actor_system* system_;
  std::vector<caf::actor> actors_;
  merge_barrier_actor barrier_;
  std::shared_ptr<open_steps> open_;
  std::mutex mutex_;
  std::shared_ptr<communicators> communicators_;  // under the mutex
  bool ended_ = false;                            // under the mutex
  std::shared_ptr<std::atomic<int>> calls_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace troupe
