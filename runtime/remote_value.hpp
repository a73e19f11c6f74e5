// The result of a scheduled closure, available later.
//
// A remote value is a small handle; copies share the result. It never hangs: a closure ends within its own limit
// (schedule_options::limit), whatever happens to its worker. `fetch`, `get` and `wait_for` suspend a fiber (a closure,
// a method of a server, a replica's function) and block any other thread; the handler of an event-based actor, which
// must not block, uses `then` or asks `handle()`.
//
// Semantics: examples/reference/semantics.md 1.1, 2.3. The reference's `fetch` (host copy) and `get` (local tensors)
// differ here only in ownership: `fetch` returns a copy, `get` a reference to the one decoded object.
#pragma once

#include <troupe/actors/closures/closure.hpp>
#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/runtime/closures/closure_arguments.hpp>
#include <troupe/runtime/closures/value_promise.hpp>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace troupe {

using remote_value_state = closure::readiness;

/// What is the same for all types. Thread-safe, except that one handle must not be assigned while it is used.
class remote_value_base {
 public:
  remote_value_base() = default;
  remote_value_base(std::shared_ptr<closure> scheduled, coordinator_ptr coordinator)
      : closure_(std::move(scheduled)), coordinator_(std::move(coordinator)) {}

  /// not_ready; ready (a value or an error); aborted (cancelled: schedule it again if it is needed).
  remote_value_state state() const { return checked().state(); }
  /// Waits at most this long. False: not ready yet. @throws cancelled_error when the fiber is cancelled;
  /// resource_exhausted_error when too many closures of a worker wait for others already.
  bool wait_for(duration limit) const {
    checked();
    return closure::wait_for(closure_, limit);
  }
  /// The closure is not wanted any more: the value becomes aborted, and a worker that runs it is told to stop. Returns
  /// at once; any number of times.
  void cancel() const;
  /// The same, and returns when nothing of the closure runs any more: it had not begun, or it has ended, or its worker,
  /// which did not end it within coordinator_options::cancel_limit, was given up and no parameter server takes anything
  /// from it. @throws deadline_exceeded_error after `limit`; unavailable_error on a member that has lost the chief
  /// since the closure was sent there; cancelled_error when the fiber is cancelled.
  void cancel_and_wait(duration limit = std::chrono::minutes{1}) const;
  /// An actor that answers `find_atom` with the value, or with the error, as soon as there is one.
  value_promise_actor handle() const;

  const std::shared_ptr<closure>& scheduled() const { return closure_; }

 protected:
  const closure& checked() const;
  /// Waits for the end. @throws what the closure failed with; deadline_exceeded_error after `limit`.
  const value& await(duration limit) const;
  duration longest_wait() const;
  /// Calls `work` in the actor once the closure has ended.
  template <class Self>
  void when_ended(Self* self, std::function<void()> work) const {
    checked();
    closure_->on_end(make_notifier(self, std::move(work)));
  }

 private:
  std::shared_ptr<closure> closure_;
  coordinator_ptr coordinator_;
};

/// A T that a closure will return; T is void for a closure that returns nothing.
template <class T>
class remote_value : public remote_value_base {
 public:
  using value_type = T;
  using remote_value_base::remote_value_base;

  /// Waits for the result and returns a copy.
  /// @throws cancelled_error if the closure (or the fiber that waits) was cancelled, what the closure threw (exceptions
  /// of the application's own arrive as themselves when they are registered: actors/values/exception.hpp), and
  /// deadline_exceeded_error if `limit` passes first (the closure goes on): it says where the closure is and for what
  /// it waits, and comes up to half a second after the limit. To look often, `wait_for` is better.
  T fetch() const { return fetch(longest_wait()); }
  T fetch(duration limit) const {
    const auto& result = await(limit);
    if constexpr (!std::is_void_v<T>) return *result.template get<T>();
  }

  /// The same without a copy: the reference is valid as long as this handle or a copy of it.
  std::add_lvalue_reference_t<std::add_const_t<T>> get() const { return get(longest_wait()); }
  std::add_lvalue_reference_t<std::add_const_t<T>> get(duration limit) const {
    await(limit);
    if constexpr (!std::is_void_v<T>) return scheduled()->template object<T>();
  }

  /// For event-based actors: calls `on_value(const T&)` (or `on_value()`) or `on_error(const status&)` in `self`, once,
  /// unless `self` ends before.
  template <class Self, class OnValue, class OnError>
  void then(Self* self, OnValue on_value, OnError on_error) const {
    when_ended(self, [result = *this, on_value = std::move(on_value), on_error = std::move(on_error)]() mutable {
      try {
        result.get();
      } catch (...) {
        return on_error(status_of(std::current_exception()));
      }
      if constexpr (std::is_void_v<T>)
        on_value();
      else
        on_value(result.get());
    });
  }
};

namespace detail {

template <class T>
struct argument<remote_value<T>> {
  static_assert(!std::is_void_v<T>, "a remote value without a result can't be an argument");
  using stored = deferred<T>;
  static stored store(const remote_value<T>& x, std::vector<closure_input>& inputs) {
    if (!x.scheduled()) throw invalid_argument_error{"an empty remote value was passed to schedule()"};
    inputs.push_back({.producer = x.scheduled()});
    return {static_cast<std::uint32_t>(inputs.size() - 1)};
  }
};

}  // namespace detail

}  // namespace troupe
