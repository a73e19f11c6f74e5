#include <troupe/actors/fibers/crash_report.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/internal/stack_pool.hpp>
#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/fibers/timers.hpp>

#include <boost/context/fiber.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>

#include <cxxabi.h>

#if defined(__SANITIZE_ADDRESS__)
#define TROUPE_ASAN_FIBERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TROUPE_ASAN_FIBERS 1
#endif
#endif
#ifdef TROUPE_ASAN_FIBERS
#include <sanitizer/common_interface_defs.h>
#endif

namespace troupe {

std::shared_ptr<member_context> fiber_environment::application() const { return nullptr; }
fiber_work fiber_environment::describe_work(std::uint64_t) const { return {}; }

namespace {

// Unoptimised frames with the sanitizer's guards are several times as large.
#ifdef TROUPE_ASAN_FIBERS
constexpr std::size_t bytes_per_byte_of_stack = 4;
#else
constexpr std::size_t bytes_per_byte_of_stack = 1;
#endif

// The C++ runtime keeps the exceptions in flight per thread; each fiber needs its own set (F-4).
struct exception_globals {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

void swap_exception_globals(exception_globals& mine) {
  auto* globals = reinterpret_cast<exception_globals*>(abi::__cxa_get_globals());
  std::swap(*globals, mine);
}

// Adapts the pool to Boost.Context, which wants an allocator by value.
struct pooled_stack {
  stack_pool* pool;
  boost::context::stack_context* allocated;
  boost::context::stack_context allocate() { return *allocated = pool->allocate(); }
  void deallocate(boost::context::stack_context& stack) noexcept { pool->deallocate(stack); }
};

}  // namespace

/// One fiber: a loop that runs one piece of work after the other, parked between them in its host's idle list.
class fiber {
 public:
  fiber(fiber_host& host, stack_pool& stacks) : host_(host) {
    inside_ = boost::context::fiber{std::allocator_arg, pooled_stack{&stacks, &stack_},
                                    [this](boost::context::fiber&& outside) {
                                      outside_ = std::move(outside);
                                      entered();
                                      while (work_) {
                                        work_();
                                        work_ = nullptr;
                                        locals_.clear();
                                        leave();
                                      }
                                      leaving_for_good();
                                      return std::move(outside_);
                                    }};
  }

  ~fiber() {
    // An idle fiber ends its loop when it is resumed without work.
    if (inside_) enter();
  }

  void enter() {
    prepare_crash_report();
    auto* const before = running;
    running = this;
    swap_exception_globals(exceptions_);
#ifdef TROUPE_ASAN_FIBERS
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, static_cast<char*>(stack_.sp) - stack_.size, stack_.size);
#endif
    inside_ = std::move(inside_).resume();
#ifdef TROUPE_ASAN_FIBERS
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    swap_exception_globals(exceptions_);
    running = before;
  }

  void leave() {
#ifdef TROUPE_ASAN_FIBERS
    __sanitizer_start_switch_fiber(&fake_stack_, outside_bottom_, outside_size_);
#endif
    outside_ = std::move(outside_).resume();
    entered();
  }

  void entered() {
#ifdef TROUPE_ASAN_FIBERS
    __sanitizer_finish_switch_fiber(fake_stack_, &outside_bottom_, &outside_size_);
#endif
  }

  void leaving_for_good() {
#ifdef TROUPE_ASAN_FIBERS
    __sanitizer_start_switch_fiber(nullptr, outside_bottom_, outside_size_);
#endif
  }

  /// For a wait, which whoever asks is told of.
  void leave_listed() {
    fiber_host::current_runner();  // numbers it
    const listed_wait shown{&host_.clock_.self()->system(), tell, this};
    leave();
  }

  static open_wait tell(const void* of, time_point now) {
    const auto& which = *static_cast<const fiber*>(of);
    return awaiting::tell(which.describe(), which.awaits_, which.parked_at_, now);
  }

  open_wait describe() const {
    auto work = host_.environment_ != nullptr ? host_.environment_->describe_work(key_) : fiber_work{};
    if (work.name.empty()) {
      auto* const actor = host_.clock_.self();
      work.name = fmt::format("fiber {} of {} {}", key_, actor->name(), actor->id());
    }
    if (name_ != nullptr) work.name += fmt::format(" ({})", name_);
    return {.who = std::move(work.name), .what = {}, .waiter = number_, .runs = work.closure};
  }

  void throw_if_cancelled() const {
    if (!cancelled_) return;
    throw cancelled_error{why_cancelled_.code() == status_code::cancelled
                              ? why_cancelled_
                              : why_cancelled_.wrap(status_code::cancelled, "the function was cancelled")};
  }

  /// While it waits: F-5.
  [[noreturn]] void throw_out_of_time() const {
    const auto waited = tell(this, host_.clock_.now());
    missed_deadlines::report(waited.what, duration{waited.time_ns});
    throw deadline_exceeded_error{fmt::format("the time of {} is over; it waited for {}", waited.who, waited.what)};
  }

  /// A cancellation and a deadline are messages to the actor, which hears none while its fiber computes. So a fiber
  /// that looks goes behind what lies in the mailbox, now and then: a turn costs a microsecond.
  void let_actor_hear() {
    const auto now = host_.clock_.now();
    if (now < hears_at_) return;
    const auto first = hears_at_ == time_point{};
    hears_at_ = now + hearing_interval;
    if (first) return;
    const auto point = wait_point::make();
    make_notifier(host_.clock_.self(), [point] { point->complete(); })();
    point->wait_until(never);
  }

  static constexpr auto hearing_interval = std::chrono::milliseconds{1};
  static thread_local fiber* running;

  fiber_host& host_;
  boost::context::stack_context stack_;
  boost::context::fiber inside_;
  boost::context::fiber outside_;
  std::function<void()> work_;
  std::uint64_t key_ = 0;
  /// Of its work.
  time_point deadline_ = never;
  const char* name_ = nullptr;
  /// See `runner`; 0: nobody has asked.
  std::uint64_t number_ = 0;
  /// The outermost; null: none.
  const awaiting* awaits_ = nullptr;
  time_point parked_at_{};
  bool cancelled_ = false;
  status why_cancelled_;
  std::shared_ptr<wait_point> waiting_;
  /// When the next look lets the actor hear its messages; nothing before the first look.
  time_point hears_at_{};
  std::unordered_map<const void*, std::shared_ptr<void>> locals_;
  exception_globals exceptions_;
#ifdef TROUPE_ASAN_FIBERS
  void* fake_stack_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_size_ = 0;
#endif
};

thread_local fiber* fiber::running = nullptr;

namespace {

// A fiber can continue on another thread than the one it parked on (a scheduled actor moves), so the address of the
// thread-local must be computed anew at each use: never inlined.
[[gnu::noinline]] fiber* running_fiber() { return fiber::running; }

/// Of fibers and threads.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(2, std::memory_order_relaxed) + 2;
}

/// See `runner`; 0: nobody has asked.
thread_local std::uint64_t number_of_thread = 0;

}  // namespace

// --- what fibers wait for -------------------------------------------------------------------------------------------

namespace {

thread_local const awaiting* awaited_by_thread = nullptr;

}  // namespace

awaiting::awaiting(std::string_view what, std::string_view which) : what_(what), which_(which) {
  auto* const owner = running_fiber();
  place_ = owner != nullptr ? &owner->awaits_ : &awaited_by_thread;
  if (*place_ != nullptr)
    place_ = nullptr;
  else
    *place_ = this;
}

awaiting::~awaiting() {
  if (place_ != nullptr) *place_ = nullptr;
}

const awaiting* awaiting::of_thread() { return awaited_by_thread; }

open_wait awaiting::tell(open_wait waiter, const awaiting* what, time_point since, time_point now) {
  const auto subject = what != nullptr ? what->subject() : wait_subject{};
  waiter.what = what != nullptr ? what->describe(now) : "something without a name";
  waiter.holder = subject.holder;
  waiter.closure = subject.closure;
  waiter.time_ns = (now - since).count();
  return waiter;
}

std::string awaiting::describe(time_point) const {
  return which_.empty() ? std::string{what_} : fmt::format("{} \"{}\"", what_, which_);
}

// --- wait_point ---------------------------------------------------------------------------------------------------

std::shared_ptr<wait_point> wait_point::make() {
  auto* const owner = running_fiber();
  if (owner == nullptr) throw failed_precondition_error{"a wait point was made outside of a fiber"};
  auto point = std::make_shared<wait_point>(private_tag{});
  point->owner_ = owner;
  return point;
}

void wait_point::complete() {
  if (done_) return;
  done_ = true;
  reason_ = wake_reason::completed;
  if (!parked_) return;
  auto& host = owner_->host_;
  const fiber_host::turn scope{host};
  host.ready_.push_back(owner_->waiting_);
}

void wait_point::wait_until(time_point deadline, std::string_view what) {
  const awaiting scope{what};
  const auto begin = owner_->host_.clock_.now();
  if (wait_until(deadline)) return;
  missed_deadlines::report(what, owner_->host_.clock_.now() - begin);
  throw deadline_exceeded_error{fmt::format("the deadline passed while waiting for {}", what)};
}

bool wait_point::wait_until(time_point deadline) {
  auto* const self = owner_;
  assert(self == running_fiber());
  self->throw_if_cancelled();
  const auto outlasts_work = deadline != never && self->deadline_ < deadline;
  if (!done_) {
    auto& host = self->host_;
    timers::ticket timer;
    if (deadline != never)
      timer = host.clock_.at(std::min(deadline, self->deadline_), [&host, self, this] {
        if (done_) return;
        const fiber_host::turn scope{host};
        done_ = true;
        reason_ = wake_reason::deadline;
        host.ready_.push_back(self->waiting_);
      });
    parked_ = true;
    self->parked_at_ = host.clock_.now();
    self->waiting_ = shared_from_this();
    self->leave_listed();
    self->waiting_.reset();
    parked_ = false;
    host.clock_.cancel(timer);
  }
  self->throw_if_cancelled();
  if (reason_ != wake_reason::deadline) return true;
  if (outlasts_work) self->throw_out_of_time();
  return false;
}

// --- fiber_host -----------------------------------------------------------------------------------------------------

fiber_host::fiber_host(timers& clock, options chosen, fiber_environment* environment)
    : clock_(clock),
      options_(chosen),
      environment_(environment),
      stacks_(std::make_unique<stack_pool>(chosen.stack_bytes * bytes_per_byte_of_stack, chosen.pooled_max)) {}

fiber_host::~fiber_host() {
  turn_end_ = nullptr;
  cancel_all({status_code::cancelled, "the actor that runs this closure ends"});
  assert(active_.empty());
  idle_.clear();
}

fiber_host::turn::~turn() noexcept(false) {
  // Depth stays up while fibers run, so that turns inside of them don't drain. It goes down even if the work at the
  // turn's end throws: the host must still be able to end its fibers (F-3).
  const struct ending {
    std::size_t& depth;
    ~ending() { --depth; }
  } last{host_.depth_};
  if (host_.depth_ != 1 || running_fiber() != nullptr) return;
  host_.drain();
  if (host_.turn_end_) host_.turn_end_();
  // What was done at the end has woken some: that is another turn.
  while (!host_.ready_.empty()) {
    if (host_.turn_begin_) host_.turn_begin_();
    host_.drain();
    if (host_.turn_end_) host_.turn_end_();
  }
}

void fiber_host::run(std::uint64_t key, std::function<void()> work, time_point deadline) {
  assert(running_fiber() == nullptr);
  // The fiber that has it would be destroyed, and resumed later.
  if (runs(key))
    throw already_exists_error{fmt::format("a fiber with the key {} runs already, and is left alone", key)};
  const turn scope{*this};
  auto taken = take_idle();
  auto& started = *taken;
  started.key_ = key;
  started.deadline_ = deadline;
  started.name_ = nullptr;
  started.number_ = 0;
  started.awaits_ = nullptr;
  started.cancelled_ = false;
  started.hears_at_ = {};
  started.work_ = std::move(work);
  active_.insert_or_assign(key, std::move(taken));
  resume(started);
}

std::unique_ptr<fiber> fiber_host::take_idle() {
  if (idle_.empty()) return std::make_unique<fiber>(*this, *stacks_);
  auto taken = std::move(idle_.back());
  idle_.pop_back();
  return taken;
}

void fiber_host::resume(fiber& which) {
  which.enter();
  if (which.work_) return;
  const auto place = active_.find(which.key_);
  auto finished = std::move(place->second);
  active_.erase(place);
  if (idle_.size() < options_.pooled_max) idle_.push_back(std::move(finished));
}

void fiber_host::drain() {
  while (!ready_.empty()) {
    const auto point = std::move(ready_.front());
    ready_.pop_front();
    auto& owner = *point->owner_;
    if (owner.waiting_ != point) continue;
    resume(owner);
  }
}

void fiber_host::cancel(std::uint64_t key, const status& why) {
  const auto found = active_.find(key);
  if (found == active_.end()) return;
  const turn scope{*this};
  auto& target = *found->second;
  target.cancelled_ = true;
  target.why_cancelled_ = why;
  if (target.waiting_ && target.waiting_->parked_ && !target.waiting_->done_) {
    target.waiting_->done_ = true;
    target.waiting_->reason_ = wake_reason::cancelled;
    ready_.push_back(target.waiting_);
  }
}

void fiber_host::cancel_all(const status& why) {
  const turn scope{*this};
  for (const auto key : keys()) cancel(key, why);
}

std::vector<std::uint64_t> fiber_host::keys() const {
  std::vector<std::uint64_t> keys;
  keys.reserve(active_.size());
  for (const auto& [key, _] : active_) keys.push_back(key);
  return keys;
}

std::optional<fiber_activity> fiber_host::activity(std::uint64_t key) const {
  const auto found = active_.find(key);
  if (found == active_.end()) return std::nullopt;
  const auto& which = *found->second;
  if (!which.waiting_ || which.awaits_ == nullptr) return fiber_activity{};
  const auto now = clock_.now();
  return fiber_activity{.awaited = which.awaits_->describe(now), .time = now - which.parked_at_};
}

fiber_host* fiber_host::current() {
  auto* const running = running_fiber();
  return running == nullptr ? nullptr : &running->host_;
}

std::uint64_t fiber_host::current_key() {
  const auto* const running = running_fiber();
  return running == nullptr ? 0 : running->key_;
}

fiber_environment* fiber_host::current_environment() {
  const auto* const host = current();
  return host == nullptr ? nullptr : host->environment_;
}

time_point fiber_host::current_deadline() {
  const auto* const running = running_fiber();
  return running == nullptr ? never : running->deadline_;
}

void fiber_host::name_running(const char* function) {
  if (auto* const running = running_fiber()) running->name_ = function;
}

// Never inlined, as `running_fiber`: one call costs less than two.
[[gnu::noinline]] runner fiber_host::current_runner() {
  auto* const running = fiber::running;
  auto& number = running != nullptr ? running->number_ : number_of_thread;
  if (number == 0) number = next_number();
  return {number, running != nullptr ? running->name_ : nullptr};
}

open_wait fiber_host::describe_waiter() {
  const auto number = current_runner().number;
  if (const auto* const running = running_fiber()) return running->describe();
  return {.who = thread_identity::current().describe(), .what = {}, .waiter = number};
}

running_fiber_report describe_running_fiber() noexcept {
  const auto* const running = running_fiber();
  if (running == nullptr) return {};
  return {running->name_, static_cast<const char*>(running->stack_.sp) - running->stack_.size, running->stack_.size};
}

bool fiber_host::cancelled() {
  const auto* const running = running_fiber();
  return running != nullptr && running->cancelled_;
}

void fiber_host::throw_if_cancelled() {
  auto* const running = running_fiber();
  if (running == nullptr) return;
  running->throw_if_cancelled();
  running->let_actor_hear();
}

std::shared_ptr<void>& fiber_host::local(const void* slot) {
  static thread_local std::unordered_map<const void*, std::shared_ptr<void>> of_thread;
  auto* const running = running_fiber();
  return running != nullptr ? running->locals_[slot] : of_thread[slot];
}

}  // namespace troupe
