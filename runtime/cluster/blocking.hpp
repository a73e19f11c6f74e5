// Asks an actor from a thread that may block: one request, one answer or an exception, always within a limit.
#pragma once

#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/timers.hpp>

#include <caf/detail/type_traits.hpp>
#include <caf/scoped_actor.hpp>

#include <exception>
#include <string_view>

namespace troupe {

namespace detail {

/// `on_value` as a handler of exactly its own parameter types, whose exceptions stay out of CAF.
template <class OnValue, class... Answer>
auto catching(OnValue& on_value, std::exception_ptr& thrown, caf::detail::type_list<Answer...>) {
  return [&](Answer... answer) {
    try {
      on_value(static_cast<Answer&&>(answer)...);
    } catch (...) {
      thrown = std::current_exception();
    }
  };
}

}  // namespace detail

/// Calls `on_value` with the answer. @throws the answerer's error; deadline_exceeded_error after `limit`; `what` names
/// the request in messages.
template <class Handle, class OnValue, class... Ts>
void ask_blocking(caf::actor_system& system, const Handle& to, duration limit, std::string_view what, OnValue on_value,
                  Ts&&... xs) {
  caf::scoped_actor self{system};
  status failed;
  std::exception_ptr thrown;
  self->request(to, std::chrono::duration_cast<std::chrono::milliseconds>(limit), std::forward<Ts>(xs)...)
      .receive(detail::catching(on_value, thrown, typename caf::detail::get_callable_trait<OnValue>::arg_types{}),
               [&](caf::error& why) { failed = status_of(why, what); });
  if (thrown) std::rethrow_exception(thrown);
  if (!failed.ok()) throw_status(std::move(failed));
}

}  // namespace troupe
