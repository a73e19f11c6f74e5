// Waiting is a fiber on an event-based actor.
//
// Problem: user code looks blocking (`v.assign_add(...)`, `ctx.merge_call(...)`), but an actor that blocks hears
// neither `cancel` nor `down`, and a thread for each wait does not scale. Solution: the actor hosts the user code in
// fibers. A wait parks the fiber and returns to the mailbox; what it waited for, its deadline, or a cancellation
// resumes it.
//
// One turn, from the handler that opens it to the actor's next look at its mailbox:
//
//   handler: turn scope{host}      what runs meanwhile
//     |
//     |  run(key, work)  --------> work, until its first wait or its end
//     |  point->complete()         nothing yet: the fiber that waited joins the line of those that go on
//     |  cancel, a deadline        nothing yet: the same, and its wait will throw
//     |
//   end of the outermost turn, as often as somebody is in line:
//     1. drain: each fiber in line goes on, until its next wait or its end; what it completes joins the line
//     2. at_turn_end: the actor starts waiting work (`run`), sends what its fibers left in batches
//     |
//   mailbox
//
// So user code may run before these return: `run`, and the end of a turn when no other turn is open around it (of
// which `complete`, `cancel` and `cancel_all` outside of any turn open one themselves). Inside a turn or a fiber
// `complete` and `cancel` run nothing. The host's destructor runs all its fibers to their end. A handler that has
// opened a turn should therefore not hold references into what user code may change across `run` or the turn's end.
//
// F-1 A fiber runs only in its host's actor, one at a time. F-2 Each wait ends: by completion, by its deadline, or by
// cancellation, which throws `cancelled_error` out of the wait (and of every later wait of that fiber).
// F-3 When the host is destroyed no fiber of it is left: all are cancelled and run to their end.
// F-4 Exceptions stay inside the fiber: a fiber may wait inside a catch block.
// F-5 No wait that has a deadline outlasts the time of the fiber's work (`run`): then it throws
// deadline_exceeded_error. Waits without one end with what they wait for, which has one, and by the cancellation that
// comes with the end of the work's time.
//
// F-6 Keys of live fibers differ: `run` with a key that one has changes nothing and throws.
//
// All calls belong to the host's actor, inside or outside a fiber as stated.
#pragma once

#include <troupe/actors/fibers/open_waits.hpp>
#include <troupe/actors/fibers/time.hpp>
#include <troupe/device/base/error.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

class fiber_host;
class timers;
struct member_context;

/// How a wait ended.
enum class wake_reason { completed, deadline, cancelled };

/// One wait of one fiber: made inside the fiber, completed by whoever has the result, waited for once.
class wait_point : public std::enable_shared_from_this<wait_point> {
 public:
  /// Inside a fiber only.
  static std::shared_ptr<wait_point> make();

  /// Ends the wait; the fiber continues before the host's current turn ends. Later calls do nothing. Host's actor only.
  void complete();

  /// Parks the fiber until `complete`, the deadline (`never` if what it waits for has one of its own) or a
  /// cancellation. False: the deadline passed first. @throws cancelled_error when the fiber is cancelled;
  /// deadline_exceeded_error when the time of its work is over (F-5).
  bool wait_until(time_point deadline);
  /// The same, but @throws deadline_exceeded_error with `what` in its message when the deadline passes first.
  void wait_until(time_point deadline, std::string_view what);

 private:
  friend class fiber_host;
  struct private_tag {};

 public:
  explicit wait_point(private_tag) {}

 private:
  class fiber* owner_ = nullptr;
  wake_reason reason_ = wake_reason::completed;
  bool done_ = false;
  bool parked_ = false;
};

/// For what the running fiber, or the thread outside of fibers, waits while this lives: who asks meanwhile is told
/// (`fiber_host::activity`, `open_waits`). Of nested ones the outermost counts, which is nearest to the user's code.
/// Makes no text before somebody asks.
class awaiting {
 public:
  /// "a read of variable" and "v1"; both outlive this object.
  explicit awaiting(std::string_view what, std::string_view which = {});
  virtual ~awaiting();
  awaiting(const awaiting&) = delete;

  // In any thread, while the waiter waits.

  virtual std::string describe(time_point now) const;
  /// `waiter`, who waits for this (null: for something without a name) since then.
  static open_wait tell(open_wait waiter, const awaiting* what, time_point since, time_point now);

  /// Of the calling thread, outside of fibers; null: none.
  static const awaiting* of_thread();

 private:
  /// Who has to go on, if it is known.
  virtual wait_subject subject() const { return {}; }

  std::string_view what_;
  std::string_view which_;
  /// Where the outermost one stands; null: this one is not it.
  const awaiting** place_;
};

/// What a fiber does, as its host's actor sees it between two messages.
struct fiber_activity {
  /// For what it waits; empty: it computes, and lets its actor hear messages.
  std::string awaited;
  /// For so long.
  duration time{};
};

/// Who runs here: a fiber, whatever thread it is on; outside of fibers the thread.
struct runner {
  /// Even and not 0. No other fiber or thread of the process ever has it.
  std::uint64_t number;
  /// What `fiber_host::name_running` said, or null.
  const char* function;
};

/// What a fiber runs, for whoever asks.
struct fiber_work {
  /// "replica 1"; empty: the host's actor and the key name it.
  std::string name;
  /// Of its coordinator, if it is a closure.
  std::uint64_t closure = 0;
};

/// What code inside a fiber may find of the actor around it; the actor's state derives from it.
class fiber_environment {
 public:
  virtual ~fiber_environment() = default;
  /// What the fiber of this key runs. Any thread, while it waits: only of what never changes.
  virtual fiber_work describe_work(std::uint64_t key) const;
  /// The application's side of the member whose code runs here (offers/member.hpp), or null.
  virtual std::shared_ptr<member_context> application() const;
};

/// Runs user functions as fibers on behalf of one actor.
class fiber_host {
 public:
  struct options {
    /// Usable bytes of a stack, rounded up to pages; a guard page lies below. With AddressSanitizer four times as many.
    std::size_t stack_bytes = std::size_t{1} << 20;
    /// Stacks kept for later fibers.
    std::size_t pooled_max = 64;
  };

  /// One handler of the actor as far as fibers are concerned: resumed fibers run, and the work that fibers left for the
  /// end of the turn (`at_turn_end`) is done when the outermost turn ends. Drawn at the top of this file.
  class turn {
   public:
    explicit turn(fiber_host& host) : host_(host) {
      if (host_.depth_++ == 0 && host_.turn_begin_) host_.turn_begin_();
    }
    ~turn() noexcept(false);
    turn(const turn&) = delete;

   private:
    fiber_host& host_;
  };

  fiber_host(timers& clock, options chosen, fiber_environment* environment = nullptr);
  ~fiber_host();
  fiber_host(const fiber_host&) = delete;

  /// Starts `work` in a fiber, at once, and returns when it has ended or waits. `key` names it for `cancel`. After
  /// `deadline` nobody wants its result any more: `current_deadline`, and F-5. An exception that leaves `work` ends the
  /// process: catch inside. Outside fibers only. @throws already_exists_error for the key of a fiber that has not
  /// ended, which goes on undisturbed (F-6).
  void run(std::uint64_t key, std::function<void()> work, time_point deadline = never);

  /// Cancels one fiber by key (nothing happens if there is none) or all of them, with the reason that waits throw.
  void cancel(std::uint64_t key, const status& why);
  void cancel_all(const status& why);

  /// Called at the begin of each outermost turn.
  void at_turn_begin(std::function<void()> work) { turn_begin_ = std::move(work); }
  /// Called at the end of each outermost turn, before the actor goes back to its mailbox.
  void at_turn_end(std::function<void()> work) { turn_end_ = std::move(work); }

  /// Fibers that have started and not ended.
  std::size_t active() const { return active_.size(); }
  bool runs(std::uint64_t key) const { return active_.contains(key); }
  /// What the fiber does; nothing if there is none.
  std::optional<fiber_activity> activity(std::uint64_t key) const;
  /// The keys of all fibers that have started and not ended.
  std::vector<std::uint64_t> keys() const;
  timers& clock() { return clock_; }

  /// The host of the fiber that runs on this thread, or nullptr outside of fibers.
  static fiber_host* current();
  /// The key of the fiber that runs on this thread; 0 outside of fibers.
  static std::uint64_t current_key();
  /// The environment of the running fiber, or nullptr.
  static fiber_environment* current_environment();
  /// When the time of the running fiber's work is over, on the clock of `current_time`; `never` for work without a
  /// limit, and outside of fibers.
  static time_point current_deadline();
  /// Names what the running fiber does from now on, for a report of its crash; `function` outlives the fiber.
  static void name_running(const char* function);
  /// Who calls. Cheap: locks ask each time.
  static runner current_runner();
  /// The running fiber, or the thread outside of fibers, as one that waits for nothing yet.
  static open_wait describe_waiter();
  /// True while the running fiber has been cancelled: long computations may look and leave early.
  static bool cancelled();
  /// Throws `cancelled_error` if the running fiber has been cancelled; does nothing outside of fibers. Once in a while
  /// it waits for the actor to hear its messages, since a cancellation is one of them: other fibers may run meanwhile.
  static void throw_if_cancelled();
  /// One slot of fiber-local data by the address of `slot`; outside of fibers it belongs to the thread.
  static std::shared_ptr<void>& local(const void* slot);

 private:
  friend class wait_point;
  friend class fiber;
  void resume(fiber& which);
  void drain();
  std::unique_ptr<fiber> take_idle();

  timers& clock_;
  options options_;
  fiber_environment* environment_;
  std::unique_ptr<class stack_pool> stacks_;
  std::unordered_map<std::uint64_t, std::unique_ptr<fiber>> active_;
  std::vector<std::unique_ptr<fiber>> idle_;
  std::deque<std::shared_ptr<wait_point>> ready_;
  std::function<void()> turn_begin_;
  std::function<void()> turn_end_;
  std::size_t depth_ = 0;
};

/// A value that belongs to the running fiber (or, outside of fibers, to the thread): the current replica context, a
/// read-caching scope. `T` is default-constructed on first use. Declare as `static inline const`.
template <class T>
class fiber_local {
 public:
  T& operator*() const {
    auto& slot = fiber_host::local(this);
    if (!slot) slot = std::make_shared<T>();
    return *static_cast<T*>(slot.get());
  }
  T* operator->() const { return &**this; }
};

}  // namespace troupe
