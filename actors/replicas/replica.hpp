// A replica: runs functions on one device, in step with the other replicas of its process.
//
//   IDLE --run--> RUNNING --merge_call--> WAITING --merged--> RUNNING --returns or throws--> IDLE (tells the barrier)
//                    `------- cancel: the next wait of the function throws --------'
//
// A function runs in a fiber, so that the replica hears cancellations while it waits, and so that a merge function may
// start another lock step on replicas that wait in the first. The replica is spawned detached: it owns a thread and the
// device context that belongs to it, and replicas run truly in parallel. In a simulation the same code is scheduled.
//
// Semantics: examples/reference/semantics.md 4, 5.2.1, 5.2.2.
#pragma once

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/internal/keep_awake.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/replicas/lock_step.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <memory>

namespace troupe {

struct replica_options {
  /// Which of its process's replicas this is.
  int index = 0;
  /// Functions compute with libraries that take large frames; only touched pages of a stack cost memory.
  fiber_host::options fibers = {.stack_bytes = 8 * 1024 * 1024, .pooled_max = 4};
};

/// What a function finds of the replica that runs it.
class replica_environment : public fiber_environment {
 public:
  /// Of the running fiber, or nullptr.
  static replica_environment* current();
  virtual int index() const = 0;
  /// Waits until all replicas have brought theirs, and returns this replica's part of the result. @throws why there is
  /// none: aborted_error when another replica failed, failed_precondition_error when replicas don't agree, what the
  /// merge function threw as aborted_error.
  virtual erased merge(lock_step& step, merge_arrival_ptr brought) = 0;
};

class replica_state : public replica_environment {
 public:
  static constexpr const char* name = "replica";
  using pointer = replica_actor::stateful_pointer<replica_state>;

  explicit replica_state(pointer self) : self_(self), clock_(self), awake_(self) {}
  ~replica_state() override;
  replica_actor::behavior_type make_behavior(replica_options options);

  int index() const override { return options_.index; }
  fiber_work describe_work(std::uint64_t key) const override;
  erased merge(lock_step& step, merge_arrival_ptr brought) override;

 private:
  /// One merge_call that waits for its part.
  struct waiting_merge {
    std::shared_ptr<wait_point> point;
    replica_result_ptr part;
  };

  void run(const lock_step_ptr& step);
  replica_result_ptr run_body(lock_step& step);
  /// False if the function does not wait in a merge_call.
  bool end_merge(lock_step_id id, const replica_result_ptr& part);
  void lose_barrier();

  pointer self_;
  timers clock_;
  keep_awake awake_;
  replica_options options_;
  merge_barrier_actor barrier_;
  std::map<lock_step_id, waiting_merge> waiting_;
  bool ending_ = false;
  /// Last, so that it goes first: fibers that are cancelled then still use the rest.
  std::unique_ptr<fiber_host> fibers_;
};

replica_actor::behavior_type replica(replica_state::pointer self, replica_options options);

}  // namespace troupe
