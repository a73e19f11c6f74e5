// How a remote call ended, or will end: StatusOrResult in TensorFlow.
//
// A handle on one call; copies share it. Dropping all of them neither cancels the call nor leaves anything behind. A
// call never hangs: it ends with its answer, an error, its deadline, a cancellation or the loss of its server.
//
// Threads: any. `is_ok`, `get_error`, `get_value` wait: they suspend a fiber (a closure, a replica's function, a method
// of a server) and block a thread; an event-based actor, which must not block, uses `then`.
//
// Semantics: examples/reference/semantics.md 1.7.
#pragma once

#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/rpc/rpc_call.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace troupe::rpc {

/// What is the same for all results.
class pending_result {
 public:
  pending_result(call_ptr open, std::shared_ptr<channel> over) : call_(std::move(open)), channel_(std::move(over)) {}

  /// True if the call has ended. Does not wait.
  bool ended() const { return call_->ended(); }
  /// The caller does not want the result any more: it ends with `cancelled`, and the method is cancelled if it runs.
  void cancel() const { channel_->cancel(call_); }

 protected:
  const call& awaited() const {
    call_->wait();
    return *call_;
  }
  const call_ptr& open() const { return call_; }

  /// Calls `work` in the actor once the call has ended.
  template <class Self>
  void when_ended(Self* self, std::function<void()> work) const {
    call_->on_end(make_notifier(self, std::move(work)));
  }

 private:
  call_ptr call_;
  std::shared_ptr<channel> channel_;
};

/// The result of `client::call`, whose types the program does not know: data.
class status_or_result : public pending_result {
 public:
  status_or_result(call_ptr open, std::shared_ptr<channel> over, output_specs specs)
      : pending_result(std::move(open), std::move(over)), specs_(std::move(specs)) {}

  /// Waits. True if there is a value.
  bool is_ok() const { return get_error().ok(); }
  /// Waits. Why there is no value: code and message; ok if there is one.
  status get_error() const;
  /// Waits. The result in the structure of the output specs; without specs, the flat list of its leaves, numbers as
  /// tensors of rank 0. `.as<T>()` makes a T of it.
  /// @throws what the call failed with; invalid_argument_error when the result is not as the specs say
  datum get_value() const;
  /// The same as an object: `get_value<int>()` ignores the specs.
  template <class T>
  T get_value() const {
    const auto& ended = awaited();
    if (!ended.end_status().ok()) throw_status(ended.end_status());
    return ended.result().as<T>();
  }

  /// Calls `on_value(const datum&)` or `on_error(const status&)` in `self`, once.
  template <class Self, class OnValue, class OnError>
  void then(Self* self, OnValue on_value, OnError on_error) const {
    when_ended(self, [result = *this, on_value = std::move(on_value), on_error = std::move(on_error)]() mutable {
      if (const auto why = result.get_error(); !why.ok()) return on_error(why);
      on_value(result.get_value());
    });
  }

 private:
  output_specs specs_;
};

/// The result of a typed method.
template <class T>
class status_or : public pending_result {
 public:
  using value_type = T;
  using pending_result::pending_result;

  /// Waits. True if there is a value.
  bool is_ok() const { return get_error().ok(); }
  /// Waits. Why there is no value: code and message; ok if there is one.
  const status& get_error() const { return awaited().end_status(); }
  /// Waits. @throws what the call failed with
  T get_value() const {
    const auto& ended = awaited();
    if (!ended.end_status().ok()) throw_status(ended.end_status());
    if constexpr (!std::is_void_v<T>) return ended.result().template as<T>();
  }

  /// Calls `on_value(const T&)` (or `on_value()`) or `on_error(const status&)` in `self`, once.
  template <class Self, class OnValue, class OnError>
  void then(Self* self, OnValue on_value, OnError on_error) const {
    when_ended(self, [result = *this, on_value = std::move(on_value), on_error = std::move(on_error)]() mutable {
      if (!result.is_ok()) return on_error(result.get_error());
      if constexpr (std::is_void_v<T>)
        on_value();
      else
        on_value(result.get_value());
    });
  }
};

}  // namespace troupe::rpc
