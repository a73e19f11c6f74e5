// A worker: runs closures as fibers, many at once, and keeps per-worker resources.
//
//   IDLE --admit--> IN SESSION --dismiss, another admit, the coordinator's death--> IDLE
//
// Ending a session cancels its closures and drops its resources. Orders of another session are refused (M-2). Within
// a session orders, cancellations and releases are taken in the order of their sending, however late their tensors
// arrive; what already runs is cancelled at once, and what has not arrived yet will not run: the coordinator hears of
// that at once, since it doesn't wait for ever for the end of what it cancelled.
// An order that comes again never disturbs the first: what was taken before (WT-4), or has the id of what runs, is
// ignored, and nothing is sent for it, since the coordinator waits for one outcome of each id and gets that of the
// first. A resource is built once in a session. Of orders that wait there are at most `orders_max`: with more the
// worker gives its session up, so that the coordinator takes its closures back.
//
// A closure that uses a resource which is still being built waits for it in a fiber; one whose resource failed to build
// fails with that error.
//
// A closure that waits for another one's remote value leaves its place to a third meanwhile (perhaps to that one), here
// and in the coordinator's count of what the worker may hold; so closures that schedule others and wait for them can't
// use up all places.
//
// The worker is spawned detached, since user code computes for long; in a simulation the same code is scheduled. It
// goes back to its mailbox at least every `turn_budget`, between closures, so that it hears cancellations. While a
// closure computes it hears nothing; its desk (worker_desk.hpp) then gives others what it has not begun, and sends what
// has ended.
//
// Semantics: examples/reference/semantics.md 1.1 (per-worker values), 2.2, 5.2.4.
#pragma once

#include <troupe/actors/closures/internal/worker_trays.hpp>
#include <troupe/actors/closures/worker_desk.hpp>
#include <troupe/actors/closures/worker_options.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/internal/lookout.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/inbox.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/variable_client.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

namespace troupe {

class worker_state : public closure_environment {
 public:
  static constexpr const char* name = "worker";
  using pointer = worker_actor::stateful_pointer<worker_state>;

  explicit worker_state(pointer self) : self_(self), clock_(self), lookout_(self, clock_) {}

  worker_actor::behavior_type make_behavior(dialer_actor dialer, worker_options options);

  variable_client& variables() override { return *variables_; }
  client_ptr variables_of_replicas() override;
  std::shared_ptr<member_context> application() const override { return options_.application; }
  fiber_work describe_work(std::uint64_t key) const override;
  int worker_index() const override { return terms_.worker; }
  std::shared_ptr<void>& worker_local(const void* key) override { return locals_[key]; }
  bool runs_for(const caf::actor_addr& coordinator) const override;
  void begin_wait_for_closure(std::shared_ptr<const closure> other) override;
  void end_wait_for_closure() override;

 private:
  struct resource_entry {
    bool built = false;
    status problem;
    value content;
    std::vector<std::shared_ptr<wait_point>> waiting;
  };

  /// A closure that one of this worker's waits for.
  struct awaited_closure {
    std::shared_ptr<const closure> other;
    time_point since;
    /// The coordinator knows of it.
    bool told = false;
  };

  status begin(outcome_sink coordinator, const session_terms& terms);
  void give_up_session(const status& why);
  void end_session(const status& why);
  void tell_over(session_id session);
  bool in_session(session_id session) const { return coordinator_ && session == terms_.session; }
  void build(run_orders orders);
  void take_orders(std::uint64_t first, run_orders orders);
  bool cancel(closure_id id, const status& why);
  void cancel_ahead(const cancel_orders& orders);
  void take_cancellations(const cancel_orders& orders);
  void start_some();
  std::optional<closure_order> take_order();
  void alarm_desk();
  void start(closure_order&& order);
  value execute(const closure_order& order);
  value dependency_value(const dependency& from);
  std::vector<closure_activity> tell_activities(closure_id only) const;
  closure_activity activity_of(closure_id id) const;
  void tell_long_waits();
  void finish_resource(resource_id id, status ended, value content);
  void report(closure_id id, status ended, value result);
  bool send_outcomes(bool turn_ends);

  pointer self_;
  timers clock_;
  lookout lookout_;
  worker_options options_;
  dialer_actor dialer_;
  std::unique_ptr<variable_client> variables_;
  /// Of the session's replicas, if there are any.
  client_ptr client_;
  /// For replicas that come later.
  cluster_view view_;
  std::map<const void*, std::shared_ptr<void>> locals_;
  outcome_sink coordinator_;
  session_terms terms_;
  caf::actor_addr admitted_by_;
  /// The last session that was not known any more and whose sender was told so.
  session_id told_over_ = 0;
  std::optional<inbox<session_id>> inbox_;
  /// What it was sent and has not begun, and what it has not sent.
  std::shared_ptr<worker_trays> trays_ = std::make_shared<worker_trays>();
  worker_desk_with_alarm desk_;
  /// Closures that were cancelled while their orders, or earlier ones, were under way.
  std::unordered_set<closure_id> cancelled_ahead_;
  std::map<resource_id, std::shared_ptr<resource_entry>> resources_;
  /// What has ended since the tray was looked at, how many outcomes wait here and there, and since when.
  std::vector<closure_outcome> ended_;
  std::size_t unsent_ = 0;
  time_point first_outcome_{};
  time_point reported_at_{};
  /// Closures that wait for others, and how many of them the coordinator knows of.
  std::uint32_t waiting_ = 0;
  std::uint32_t told_waiting_ = 0;
  /// By the closures that wait for them.
  std::map<closure_id, awaited_closure> awaited_;
  bool waits_timed_ = false;
  /// The last recall of which it has told that it heard.
  std::uint64_t told_recall_ = 0;
  bool yielding_ = false;
  /// What ends now was begun in this turn, by `start_some`, which hands its outcome over before it begins another.
  bool starting_ = false;
  /// Last, so that it goes first: fibers that are cancelled then still use the rest.
  std::unique_ptr<fiber_host> fibers_;
};

worker_actor::behavior_type worker(worker_state::pointer self, dialer_actor dialer, worker_options options);

}  // namespace troupe
