// One scheduled closure, and the result that its remote value waits for.
//
// The coordinator owns the closure's course; callers share the closure through a `remote_value` and only look at its
// end. Both are one object, because a queued closure must be small (half a KiB with its arguments).
//
//             taken in          inputs ready         sent to a worker            outcome, error, cancellation
//   SUBMITTED ---------> WAITING -------------> QUEUED ----------------> IN_FLIGHT ---------------------------> ENDED
//                                                 ^                          |
//                                                 +--- the worker was lost,--+
//                                                      or asked it back
//
// C-1 A closure ends exactly once: with a value, an error or a cancellation.
#pragma once

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/messages/messages.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace troupe {

class closure;

/// What a caller asks of one closure.
struct schedule_options {
  /// From schedule to end; then the closure fails with `deadline_exceeded`. Finite.
  duration limit = std::chrono::hours{1};
  /// Higher goes first among the closures that are queued: 0 (low) to 2 (high).
  int priority = 1;
  /// Only this worker may run it; -1: any.
  int worker = -1;
  /// How long `schedule` may wait for room in the queue.
  duration queue_limit = std::chrono::seconds{60};
  /// Scheduled by a closure or a method, it stands on its own. Otherwise it has no more time than that has left
  /// (remaining_time.hpp), and is cancelled with it; when that ends of itself, it goes on.
  bool outlives_scheduler = false;

  static constexpr int priorities = 3;
  /// @throws invalid_argument_error for what no cluster can do.
  void check() const;
  bool operator==(const schedule_options&) const = default;
};

/// Where an argument comes from: another closure's result, or a per-worker resource.
struct closure_input {
  std::shared_ptr<closure> producer;
  resource_id resource = 0;
  /// Keeps the resource from being released before the closure has ended.
  std::shared_ptr<const void> owner;
};

/// A closure's neighbours among those of about the same deadline; see internal/deadline_calendar.hpp.
struct deadline_place {
  deadline_place* before = nullptr;
  deadline_place* after = nullptr;
};

/// State of a remote value. Any thread or fiber may look and wait; only the coordinator ends it.
class closure : public deadline_place {
 public:
  enum class stage : std::uint8_t { submitted, waiting, queued, in_flight, ended };
  /// RemoteValueStatus of the reference: not ready, ready (value or error), aborted (cancelled).
  enum class readiness : std::uint8_t { not_ready, ready, aborted };

  closure(function_id called, value with, std::vector<closure_input> needs, schedule_options chosen)
      : function(std::move(called)), arguments(std::move(with)), inputs(std::move(needs)), options(chosen) {}
  closure(const closure&) = delete;

  // --- the caller's side, any thread ---

  readiness state() const;
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  /// Waits for its end: parks a fiber, blocks a thread. False: not ended within the limit. A closure that waits here
  /// leaves its place on its worker to another meanwhile, which may be the one that it waits for. Closures that wait
  /// for each other fail: the coordinator ends one of them and says which they are (coordinator_cycles.cpp).
  /// @throws cancelled_error when the fiber is cancelled; resource_exhausted_error when too many closures of this
  /// worker wait for others already.
  static bool wait_for(const std::shared_ptr<const closure>& other, duration limit);
  /// Whether anybody has waited for it, or wants to hear of its end.
  bool is_awaited() const { return awaited_.load(std::memory_order_relaxed); }
  /// The end; only after `ended()`.
  const status& end_status() const { return end_status_; }
  const value& result() const { return result_; }
  /// The result as an object, one for all who ask: it lives as long as the closure. T is always the same type.
  template <class T>
  const T& object() const {
    auto kept = kept_object();
    if (!kept) kept = keep_object(result_.get<T>());
    return *static_cast<const T*>(kept.get());
  }
  /// Calls `observer` once after the end: now, in this thread, if it has ended already; else in the coordinator.
  void on_end(std::function<void()> observer);

  /// Whether any worker could begin with it as soon as it is scheduled.
  bool is_for_any_worker_at_once() const {
    return options.worker < 0 &&
           std::none_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.producer != nullptr; });
  }

  // --- the coordinator's side ---

  /// Ends the closure; false if it had ended already (C-1).
  bool finish(status ended, value result = {});

  const function_id function;
  value arguments;
  std::vector<closure_input> inputs;
  const schedule_options options;
  std::vector<std::shared_ptr<closure>> dependents;
  std::uint32_t missing_inputs = 0;
  std::uint32_t lost_workers = 0;
  /// Of the last order; on a member that has scheduled it, the number by which the chief's desk knows it.
  closure_id id = 0;
  /// It failed because an input did; its consumers pass that on without wrapping it again.
  bool failed_by_input = false;
  /// Its limit is what the closure or method had left that scheduled it.
  bool bounded_by_scheduler = false;
  /// On a member: it was sent to the chief, whose answer will never come.
  bool may_run_unseen = false;
  /// Its error is one of the program's, which raises it. That of another member's closure is its owner's alone.
  bool raises_errors = true;
  stage at = stage::submitted;
  /// How often it was asked back and had not begun.
  std::uint8_t recalls = 0;
  time_point deadline{};
  /// Its worker is not asked for it before; `never`: it has begun, or its worker is being asked.
  time_point recall_from{};
  /// The number of its timer, if its limit is kept by one.
  std::uint64_t timer = 0;
  /// Which joins wait for it; see internal/join_line.hpp.
  std::uint64_t stretch = 0;

 private:
  /// What is set at the end; made when the first one asks. Null: it has ended.
  std::shared_ptr<completion> waited_for() const;
  std::shared_ptr<const void> kept_object() const;
  /// What is kept from then on: this, or what another thread was faster with.
  std::shared_ptr<const void> keep_object(std::shared_ptr<const void> decoded) const;

  std::atomic<bool> ended_{false};
  mutable std::atomic<bool> awaited_{false};
  status end_status_;
  value result_;
  // Under one of a few locks that all closures share.
  /// Shared by all who wait.
  mutable std::shared_ptr<completion> end_;
  mutable std::shared_ptr<const void> object_;
};

}  // namespace troupe
