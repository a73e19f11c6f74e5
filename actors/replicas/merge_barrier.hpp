// The merge barrier: runs functions on all replicas of a process in lock step, and merges what they bring.
//
//   a lock step (one after another, but those that a merge function starts run inside of its own):
//
//   QUEUED --its turn--> RUNNING
//            all arrived: B-1                    part for each
//   RUNNING --------------------> MERGING --------------------> RUNNING ... all returned --> ended with results
//      |   a replica throws, is lost, brings another function,     |
//      |   returns while others wait; the deadline                 | the merge function throws, a replica is lost
//      `--------------------> FAILED <-----------------------------'
//                                `-- all replicas have ended, or the deadline passed --> ended with the first failure
//
// B-1 A merge function runs exactly once for each generation, after all replicas arrived, never while one is running.
// B-2 A waiting replica is always released: by the merge, by an error that names the culprit, or by the deadline.
//
// The merge function runs in a fiber of this actor, in cross-replica context, and may start lock steps of its own: the
// replicas that wait host them in further fibers. Failing a lock step releases its waiting replicas, cancels the others
// (their next wait throws), and aborts the collectives that they block in.
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

#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace troupe {

struct merge_barrier_options {
  std::vector<replica_actor> replicas;
  fiber_host::options fibers = {.stack_bytes = 8 * 1024 * 1024, .pooled_max = 4};
};

class merge_barrier_state : public fiber_environment {
 public:
  static constexpr const char* name = "merge_barrier";
  using pointer = merge_barrier_actor::stateful_pointer<merge_barrier_state>;

  explicit merge_barrier_state(pointer self) : self_(self), clock_(self), awake_(self) {}
  ~merge_barrier_state() override;

  merge_barrier_actor::behavior_type make_behavior(merge_barrier_options options);
  fiber_work describe_work(std::uint64_t) const override { return {.name = "a merge function"}; }

  /// True inside of merge functions that this barrier runs.
  static bool runs_here(const merge_barrier_actor& which);

 private:
  enum class stage { queued, running, merging, failed };

  struct participant {
    merge_arrival_ptr arrived;
    bool ended = false;
    erased result;
  };

  struct active_step {
    lock_step_ptr step;
    stage at = stage::queued;
    std::vector<participant> replicas;
    std::size_t arrived = 0;
    std::size_t ended = 0;
    step_failure failure;
    timers::ticket deadline;
  };

  void begin(const lock_step_ptr& step);
  void start(active_step& run);
  void start_next();
  void arrive(active_step& run, int replica, merge_arrival_ptr brought);
  void finish(active_step& run, int replica, const replica_result& result);
  void merge(active_step& run);
  void release(active_step& run, const std::vector<erased>& parts);
  void fail(active_step& run, step_failure failure);
  void pass_deadline(lock_step_id id);
  void end_if_over(active_step& run);
  void lose(const caf::actor_addr& which, const status& why);

  active_step* find(lock_step_id id);

  pointer self_;
  timers clock_;
  keep_awake awake_;
  merge_barrier_options options_;
  /// Why a replica is gone; ok while it lives.
  std::vector<status> lost_;
  std::map<lock_step_id, active_step> runs_;
  std::deque<lock_step_id> queued_;
  /// The step that is not nested and has started, or 0.
  lock_step_id outermost_ = 0;
  /// Last, so that it goes first: fibers that are cancelled then still use the rest.
  std::unique_ptr<fiber_host> fibers_;
};

merge_barrier_actor::behavior_type merge_barrier(merge_barrier_state::pointer self, merge_barrier_options options);

}  // namespace troupe
