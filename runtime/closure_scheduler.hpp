// `schedule`, as a program's coordinator, a member's and a simulation have it.
//
// Whoever derives from it has, for this class alone, `enqueue(packed_closure, const schedule_options&)`, which returns
// the closure, and `owner_of_closures()`, which its remote values hold.
#pragma once

#include <troupe/runtime/closures/closure_arguments.hpp>
#include <troupe/runtime/remote_value.hpp>

#include <type_traits>
#include <utility>

namespace troupe {

template <class Scheduler>
class closure_scheduler {
 public:
  /// Enqueues `F{}(arguments...)` and returns at once. F is a lambda without captures: what it needs are arguments
  /// (numbers, strings, tensors, containers, structs, variables, remote values, per-worker values).
  /// @throws resource_exhausted_error when the queue stays full for `queue_limit`.
  template <class F, class... Arguments>
  requires(!std::is_same_v<std::decay_t<F>, schedule_options>) auto schedule(F, Arguments&&... arguments) {
    return schedule_packed<std::decay_t<F>>(schedule_options{}, std::forward<Arguments>(arguments)...);
  }
  template <class F, class... Arguments>
  auto schedule(const schedule_options& options, F, Arguments&&... arguments) {
    return schedule_packed<std::decay_t<F>>(options, std::forward<Arguments>(arguments)...);
  }
  /// The same for a named function: `schedule<step>(v, x)`, `schedule<step>({.worker = 1}, v, x)`.
  template <auto Function, class... Arguments>
  requires(!detail::begins_with_options<Arguments...>) auto schedule(Arguments&&... arguments) {
    return schedule_packed<detail::callable_of<Function>>(schedule_options{}, std::forward<Arguments>(arguments)...);
  }
  template <auto Function, class... Arguments>
  auto schedule(const schedule_options& options, Arguments&&... arguments) {
    return schedule_packed<detail::callable_of<Function>>(options, std::forward<Arguments>(arguments)...);
  }

 private:
  template <class F, class... Arguments>
  auto schedule_packed(const schedule_options& options, Arguments&&... arguments) {
    if constexpr (detail::is_sound_call<F, std::decay_t<Arguments>...>()) {
      using packing = detail::packing_for<F, Arguments...>;
      using result = typename packing::result;
      if constexpr (detail::is_sound_result<result>()) {
        auto& self = static_cast<Scheduler&>(*this);
        return remote_value<result>{self.enqueue(packing::pack(std::forward<Arguments>(arguments)...), options),
                                    self.owner_of_closures()};
      } else {
        return detail::no_remote_value{};
      }
    } else {
      return detail::no_remote_value{};
    }
  }
};

}  // namespace troupe
