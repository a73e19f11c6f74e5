// The coordinator: schedules closures onto workers and ends their remote values.
//
// It owns the course of each closure (closure.hpp draws it) and each worker's admission:
//
//        up                ok                 down, or the handle died
//   GONE --> ADMITTING -----------> ADMITTED ------------------------> GONE
//              | failed: again after a while, until `down`
//
// C-1 A closure's remote value ends exactly once: value, error or cancelled.
// C-2 When `drained` answers, nothing that was scheduled before it is executing; when it raises, nothing at all is. The
//     exception is a closure that did not react to its cancellation within `cancel_limit`: its worker counts as lost.
// C-3 A closure lost with its worker runs again elsewhere, never twice at the same time on live workers. A worker that
//     the chief does not hear may be alive: what it held is adrift until all servers have been told to refuse what it
//     writes (session_gate.hpp).
// C-4 Resources of a worker are rebuilt before any closure uses them: they are the first orders of its session.
// C-5 Scheduling costs O(1) per closure, whatever the number of workers (worker_roster.hpp).
//
// Each handler, timer and answer is a `turn`. It changes the state and no more; the turn's end, one function, does what
// has become possible by that, whatever it was:
//
//   end_turn: take in what callers have left -> send out -> raise the errors that are due --+--> answer who waits
//                ^                                                                         |
//                +----------- an error was raised: the next generation begins -------------+
//
// One change may concern all closures of a full queue: an error that cancels them, an end that they all wait for, a
// limit that they share. Nobody is held up by that: a turn's end ends or cancels no more than `turn_closures_max`, and
// what is left then goes on in a turn of its own, behind the messages that have come meanwhile.
//
// Closures that have ended make room in the queue at the turn's end, too, before anybody is answered or an error is
// raised: who hears of it finds room.
//
// What a worker says in a session is taken in the order of its sending, however late its results arrive; what comes of
// another session is refused (M-2).
//
// Errors, as in the reference: the first error of a generation is kept and raised by the next schedule, join or done;
// raising cancels everything else first. Until then workers go on with what is queued. The course of a generation:
//
//         somebody waits, and          every worker that         nothing runs,
//         there is an error            runs some was told        nothing waits
//   GOES ON ------------> TELLS WORKERS -------------> ENDS WHAT WAITS ------> RAISED: the next one GOES ON
//
// What is scheduled before the error is raised is part of the generation. Nothing starts before that. Closures of other
// members (services/closure_desk.hpp) are cancelled with the others, but their own errors are their owners' alone.
//
// What was lost with several workers runs alone from then on (coordinator_suspects.cpp), so that the one that ends
// workers fails, and no other.
//
// What a worker holds and has not begun, since its thread is in a closure, goes to another that idles
// (coordinator_recalls.cpp).
//
// A closure that no present worker can run, since these are other binaries, is stranded: it waits for the workers of
// the specification that are absent, and fails when the last of them has come and can't run it either.
//
// Semantics: examples/reference/semantics.md 2 and 5.2.
#pragma once

#include <troupe/actors/closures/coordinator_options.hpp>
#include <troupe/actors/closures/internal/deadline_calendar.hpp>
#include <troupe/actors/closures/internal/in_flight_table.hpp>
#include <troupe/actors/closures/internal/join_line.hpp>
#include <troupe/actors/closures/internal/submission_queue.hpp>
#include <troupe/actors/closures/internal/worker_roster.hpp>
#include <troupe/actors/fibers/internal/lookout.hpp>
#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/inbox.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/response_promise.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <array>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

class coordinator_state {
 public:
  static constexpr const char* name = "coordinator";
  using pointer = coordinator_actor::stateful_pointer<coordinator_state>;

  explicit coordinator_state(pointer self)
      : self_(self), clock_(self), lookout_(self, clock_), requests_(self, clock_) {}
  ~coordinator_state();

  coordinator_actor::behavior_type make_behavior(std::shared_ptr<submission_queue> queue, coordinator_options options,
                                                 event_bus_actor events);

 private:
  using closure_ptr = std::shared_ptr<closure>;
  using drained_promise = caf::typed_response_promise<bool>;
  using idle_promise = caf::typed_response_promise<bool>;
  using over_promise = caf::typed_response_promise<caf::ok_atom>;
  /// Closures that callers left together.
  struct arrival {
    std::vector<closure_ptr> closures;
    std::size_t taken_in = 0;
    std::uint64_t stretch = 0;
  };
  struct waiting_join {
    drained_promise promise;
    /// What lies before this stretch of the join line must be over.
    std::uint64_t stretch;
    /// Then it is answered all the same, and takes no error with it.
    time_point deadline;
    timers::ticket timer;
  };
  /// A closure that a worker was told to end.
  struct cancellation {
    closure_id id;
    time_point limit;
  };
  struct server_entry {
    parameter_server_actor handle;
    std::uint64_t incarnation = 0;
  };
  /// What a lost worker held, until all servers know.
  struct loss {
    task_id task;
    status why;
    std::vector<closure_id> adrift;
    std::size_t untold = 0;
  };
  /// What a generation that is being cancelled has come to.
  struct cancelling_course {
    /// Workers up to this one, in the order of their indices, were told.
    std::size_t told = 0;
    /// Closures that were ended without having run.
    std::uint64_t ended = 0;
  };
  /// The end of a closure, and those that take its result: the first `told` of them know.
  struct passing {
    status ended;
    bool failed_by_input = false;
    std::vector<closure_ptr> dependents;
    std::size_t told = 0;
  };

  /// One handler, timer or answer: what changes the state lies in one.
  class turn {
   public:
    explicit turn(coordinator_state& of) : of_(of) {
      if (of_.turns_++ == 0) of_.lookout_.work_came();
    }
    ~turn() noexcept(false);
    turn(const turn&) = delete;

   private:
    coordinator_state& of_;
    int exceptions_ = std::uncaught_exceptions();
  };
  void end_turn();
  void go_on_later();

  // --- taking closures in (coordinator.cpp) ---
  void take_submitted();
  void take_in();
  void accept(closure_ptr scheduled, time_point now);
  bool inputs_ready(const closure_ptr& scheduled);
  void enqueue(closure_ptr ready, bool first);
  void set_deadline(closure& scheduled, time_point now);
  void forget_deadline(closure& ended);
  status limit_is_over(const closure& late) const;
  void expire(closure& late);
  void expire_late();
  void tell_late_workers();
  void watch_calendar();
  const in_flight_table::entry* in_flight(const closure& which) const;
  void abandon(closure& unwanted, status why);
  caf::result<caf::ok_atom> when_over(const closure& cancelled);
  void tell_over(closure_id id);

  // --- what comes back ---
  worker_entry* admitted_in(session_id session);
  bool comes_from(const worker_entry& worker) const;
  void take_outcomes(worker_entry& worker, run_outcomes batch);
  void take_outcome(worker_entry& worker, closure_outcome& outcome);
  closure_ptr take_back(closure_id id);
  void end(closure& what, status ended, value result = {});
  void pass_on(const closure& producer, std::vector<closure_ptr> dependents);
  void pass_on_ends();
  void fail_by_input(closure& consumer, const passing& from);
  /// Makes room in the queue for others; once in a turn, since callers push under the same lock.
  void release_ended();

  // --- errors, cancellations and joins (coordinator_errors.cpp) ---
  caf::result<bool> drained(duration limit);
  caf::result<bool> idle();
  static bool is_raised(const closure& failed, const status& why);
  void note_error(const closure& failed, const status& why);
  void keep_error(const status& why);
  void announce_errors(const status& first, std::uint64_t count);
  void cancel_generation();
  void tell_workers();
  bool end_waiting();
  bool raise_errors();
  void answer_joins();
  void answer_late_joins();
  void expect_end(const std::vector<closure_id>& cancelled);
  void check_cancellations();
  status did_not_end(const worker_entry& worker, const closure& cancelled) const;

  // --- what closures do (coordinator_activity.cpp) ---
  struct inquiry;
  caf::result<std::string> tell_activity(const closure_ptr& only, duration limit);
  std::vector<awaited_closure> tell_awaited() const;
  void tell_activity_of(const std::shared_ptr<inquiry>& asked, const closure& only, duration limit);
  std::vector<worker_entry*> quietest_workers() const;
  void ask_activity(const std::shared_ptr<inquiry>& asked, worker_entry& worker, closure_id only, duration limit);
  void take_activities(inquiry& asked, const worker_entry& worker, closure_id only,
                       const std::vector<closure_activity>& told);
  void tell_silence(inquiry& asked, const worker_entry& worker, closure_id only);
  void tell_waiting(inquiry& asked);
  void answer_inquiry(const std::shared_ptr<inquiry>& asked);
  void end_inquiries(const status& why);

  // --- taking closures from busy workers (coordinator_recalls.cpp) ---
  void watch_workers();
  void recall_some();
  bool recall_from(worker_entry& worker, const std::vector<const worker_entry*>& idle);
  void recall(worker_entry& worker, const std::vector<closure_id>& wanted);
  void recall_cancelled(worker_entry& worker, const std::vector<closure_id>& cancelled);
  void ask_back(worker_entry& worker, const std::vector<closure_id>& wanted, bool cancelled,
                std::function<void(worker_entry&)> then, std::function<void(worker_entry&, const status&)> otherwise);
  void take_recalled(worker_entry& worker, const std::vector<closure_id>& wanted, const recalled_orders& told,
                     std::uint64_t serial);
  time_point next_recall(closure& asked, std::uint8_t doublings_max) const;
  void give_back(const closure_ptr& recalled);

  // --- closures that wait for each other (coordinator_cycles.cpp) ---
  void take_wait(worker_entry& worker, closure_id waiting, std::shared_ptr<const closure> other);
  std::string cycle_through(const closure& waiting, const closure& other) const;

  // --- sending closures out (coordinator_dispatch.cpp) ---
  void touch(worker_entry& worker);
  void send_out();
  void pump();
  void clear_queues();
  void fill(worker_entry& worker);
  bool send_from(worker_entry& worker, std::deque<closure_ptr>& queue, time_point now);
  void redirect(const closure_ptr& what);
  worker_entry* freest_for(const function_id& function);
  status resource_problem(const closure& what) const;
  void flush(worker_entry& worker);
  void send_orders(worker_entry& worker, std::vector<closure_order>& outgoing);
  void send_message(worker_entry& worker, std::vector<closure_order> orders);
  void send_one_by_one(worker_entry& worker, std::vector<closure_order> orders);
  void send_alone(worker_entry& worker, closure_order order);
  void take_back_unsent(worker_entry& worker, closure_id id, const status& why);
  void send_cancel(worker_entry& worker, std::vector<closure_id> closures, std::vector<resource_id> released,
                   const status& why);

  // --- closures that may be what ends workers (coordinator_suspects.cpp) ---
  bool is_suspect(const closure& lost) const;
  void send_suspects();
  bool keep_apart(worker_entry& worker);
  bool bring_suspect_forward(const worker_entry& worker);
  worker_entry* freest_for_suspects();

  // --- workers ---
  void worker_up(const member_actor& door, const worker_actor& handle, member_identity who);
  void request_admission(worker_entry& worker);
  void admitted(worker_entry& worker, worker_desk_actor desk);
  void readmit(worker_entry& worker, const status& why);
  void dismiss(worker_entry& worker, const status& why);

  // --- losing workers (coordinator_losses.cpp) ---
  void lose(worker_entry& worker, const status& why);
  void tell_servers(const std::shared_ptr<loss>& lost);
  wire<session_fence> fence() const;
  void give_back(const loss& lost);
  void server_up(const parameter_server_actor& handle, const member_identity& who);
  void server_down(const member_record& record);
  void give_back_redirected(worker_entry& worker);
  bool give_back(const closure_ptr& what, const status& why);

  bool can_run(const worker_entry& worker, const function_id& function) const;
  void publish(event what);

  pointer self_;
  timers clock_;
  lookout lookout_;
  requests requests_;
  coordinator_options options_;
  event_bus_actor events_;
  std::shared_ptr<submission_queue> submitted_;
  std::vector<closure_ptr> drain_buffer_;
  /// What joins wait for already, and what is not taken in.
  std::deque<arrival> arrivals_;
  /// Of those, about so many will be queued for any worker: each worker gets its share of all of them in one message.
  std::size_t coming_ = 0;

  std::array<std::deque<closure_ptr>, schedule_options::priorities> queued_;
  std::size_t queued_count_ = 0;
  /// What no present worker can run.
  std::deque<closure_ptr> stranded_;
  /// What was lost with too many workers, and the workers that run only such closures.
  std::deque<closure_ptr> suspects_;
  std::vector<worker_entry*> set_apart_;
  /// In all queues, about so many have ended.
  std::size_t ended_in_queues_ = 0;
  /// Taken in and not ended.
  std::size_t open_ = 0;
  /// Ended in this turn.
  std::size_t ended_ = 0;
  join_line join_line_;
  std::optional<deadline_calendar> calendar_;
  timers::ticket calendar_timer_;
  /// Closures of its first page may have passed their limits.
  bool calendar_is_due_ = false;
  /// Those whose `expired` they do not know of.
  std::deque<worker_entry*> late_workers_;
  /// Ends that not all dependents know of.
  std::deque<passing> passing_;

  worker_roster roster_;
  /// Workers that are being admitted, or are, by their session.
  std::unordered_map<session_id, worker_entry*> sessions_;
  std::optional<inbox<session_id>> outcomes_;
  /// By their indices.
  std::map<int, server_entry> servers_;
  in_flight_table in_flight_;
  /// What closures of this process wait for, by their ids.
  std::unordered_map<closure_id, std::shared_ptr<const closure>> awaited_;
  /// Who is told when no worker holds these any more, which were cancelled.
  std::unordered_multimap<closure_id, over_promise> overs_;
  session_id last_session_ = 0;
  /// In the order of their creation, which is the order of their rebuilding.
  std::map<resource_id, closure_order> resources_;
  /// Those that can't be sent to workers, and why: whoever uses one fails with that.
  std::map<resource_id, status> unsendable_;

  /// Workers that may be sent something at the turn's end, beside what the common queue holds.
  std::deque<worker_entry*> touched_;

  std::vector<std::shared_ptr<inquiry>> inquiries_;
  std::vector<waiting_join> joins_;
  std::vector<idle_promise> idle_questions_;
  /// Those of both that are answered with the error.
  std::vector<waiting_join> raising_joins_;
  std::vector<idle_promise> raising_questions_;
  std::vector<status> errors_;
  std::vector<status> last_errors_;
  std::optional<cancelling_course> cancelling_;
  /// In the order of their telling, which is the order of their limits.
  std::deque<cancellation> cancellations_;
  bool cancellations_timed_ = false;
  /// A timer runs for `recall_some`.
  bool workers_watched_ = false;
  int turns_ = 0;
  /// How many closures this turn's end may still end or cancel.
  std::size_t turn_left_ = 0;
  /// A turn of its own is under way for what is left.
  bool goes_on_later_ = false;
};

coordinator_actor::behavior_type coordinator(coordinator_state::pointer self, std::shared_ptr<submission_queue> queue,
                                             coordinator_options options, event_bus_actor events);

}  // namespace troupe
