// What an event-based actor of the application's throws in a handler reaches whoever asked.
//
// Of its own CAF ends the actor, and who asked hears `runtime_error`, without a type and without a text. Here the
// request's error and the actor's exit reason are the exception's status (fault.hpp), of which `ask` and others make
// the exception again. The actor ends all the same, since what it holds may be half done: its supervisor, or its
// member, says so in the log.
#pragma once

#include <caf/behavior.hpp>
#include <caf/detail/type_traits.hpp>
#include <caf/infer_handle.hpp>
#include <caf/scheduled_actor.hpp>

#include <type_traits>
#include <utility>

namespace troupe {

/// In the actor itself, before it handles anything.
void answer_exceptions(caf::scheduled_actor* self);

namespace detail {

/// An actor's function that begins with `answer_exceptions`. `Self` is for functions that take no pointer to their
/// actor.
template <class F, class Result, class Self, class... Parameters>
struct answering_function {
  F body;
  Result operator()(Self* self, Parameters... arguments) {
    answer_exceptions(self);
    return body(static_cast<Parameters&&>(arguments)...);
  }
};
template <class F, class Result, class Self, class... Parameters>
struct answering_function_with_self {
  F body;
  Result operator()(Self* self, Parameters... arguments) {
    answer_exceptions(self);
    return body(self, static_cast<Parameters&&>(arguments)...);
  }
};

template <class F, class Result, class Parameters>
struct answering_of;
template <class F, class Result, class... Parameters>
struct answering_of<F, Result, caf::detail::type_list<Parameters...>> {
  using type = answering_function<F, Result, caf::infer_impl_from_fun_t<F>, Parameters...>;
};
template <class F, class Result, class Self, class... Parameters>
requires std::is_base_of_v<caf::scheduled_actor, Self>
struct answering_of<F, Result, caf::detail::type_list<Self*, Parameters...>> {
  using type = answering_function_with_self<F, Result, Self, Parameters...>;
};
/// Blocking actors hear no exceptions: their function ends by one.
template <class F, class Result, class Self, class... Parameters>
requires(std::is_base_of_v<caf::local_actor, Self> &&
         !std::is_base_of_v<caf::scheduled_actor,
                            Self>) struct answering_of<F, Result, caf::detail::type_list<Self*, Parameters...>> {
  using type = F;
};

/// The function of an actor as `spawn` takes it.
template <class F>
auto answering(F body) {
  using traits = typename caf::detail::get_callable_trait<F>::type;
  using function = typename answering_of<F, typename traits::result_type, typename traits::arg_types>::type;
  return function{std::move(body)};
}

}  // namespace detail

}  // namespace troupe
