// Turns the arguments of `schedule` into what travels with the closure.
//
// Plain arguments are stored as the function's own parameter types, so that `schedule<step>(v, 2)` finds the same
// registered function as `schedule<step>(v, 2.0f)`. A remote value becomes a place for another closure's result, a
// per-worker value a place for the executing worker's copy; both also inside the containers of structure.hpp.
// Their own headers say how (`argument<remote_value<T>>`, `argument<per_worker_values<T>>`).
//
// A mistake in a call would come out of the middle of std::tuple or std::invoke, hundreds of lines long. So it is found
// first, by looking at types alone; then one static_assert says what to do, inside a template whose arguments show the
// function's parameters and what was given, and nothing else of the call is instantiated (tests/compile_errors).
#pragma once

#include <troupe/actors/closures/closure.hpp>
#include <troupe/actors/functions/deferred.hpp>
#include <troupe/actors/functions/function_registry.hpp>
#include <troupe/actors/functions/lossless.hpp>
#include <troupe/actors/values/structure.hpp>

#include <caf/fwd.hpp>

#include <array>
#include <concepts>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe::detail {

/// What an argument without parts becomes in the closure, and how.
template <class T>
struct argument {
  using stored = T;
  static T store(const T& x, std::vector<closure_input>&) { return x; }
};

template <>
struct argument<const char*> {
  using stored = std::string;
  static std::string store(const char* text, std::vector<closure_input>&) { return text; }
};

struct store_leaf {
  std::vector<closure_input>& inputs;

  template <class T>
  typename argument<T>::stored operator()(const T& x) const {
    return argument<T>::store(x, inputs);
  }
};

template <class T>
using stored_argument = mapped_structure_t<result_of_map<store_leaf>, whole_structs, T>;

/// An argument as it travels; the places of what it is made of are handed out from left to right.
template <class T>
stored_argument<T> store_argument(T x, std::vector<closure_input>& inputs) {
  if constexpr (std::is_same_v<stored_argument<T>, T>) {
    return x;
  } else {
    return map_leaves<whole_structs>(x, store_leaf{inputs});
  }
}

/// The type to store an argument as, for a function whose parameter has this type.
template <class Argument, class Parameter>
using stored_for = std::conditional_t<contains_deferred<stored_argument<Argument>>, stored_argument<Argument>,
                                      std::decay_t<Parameter>>;

template <class Arguments, class Signature>
struct stored_arguments;
template <class... Arguments, class Result, class... Parameters>
requires(sizeof...(Arguments) ==
         sizeof...(Parameters)) struct stored_arguments<type_list<Arguments...>, std::function<Result(Parameters...)>> {
  using type = type_list<stored_for<Arguments, Parameters>...>;
};
template <class... Arguments>
struct stored_arguments<type_list<Arguments...>, void> {
  using type = type_list<stored_argument<Arguments>...>;
};

template <auto Function>
requires requires { std::function{Function}; }
struct signature_of<function_constant<Function>> : std::type_identity<decltype(std::function{Function})> {};

/// A function with its arguments as they travel.
struct packed_closure {
  function_id function;
  value arguments;
  std::vector<closure_input> inputs;
};

/// Only for calls without a mistake (`is_sound_call`).
template <class F, class... Stored>
struct packing {
  using result = std::decay_t<std::invoke_result_t<F&, const resolved<Stored>&...>>;

  template <class... Arguments>
  static packed_closure pack(Arguments&&... xs) {
    const auto& entry = registered<F, Stored...>();
    packed_closure packed{function_registry::instance().id_of(entry), {}, {}};
    if constexpr (sizeof...(Stored) != 0)
      packed.arguments = value::of(std::tuple<Stored...>{
          fitting<Stored>(store_argument<std::decay_t<Arguments>>(std::forward<Arguments>(xs), packed.inputs))...});
    return packed;
  }
};

template <class F, class List>
struct packing_of;
template <class F, class... Stored>
struct packing_of<F, type_list<Stored...>> : std::type_identity<packing<F, Stored...>> {};

/// The packing of F for these argument types.
template <class F, class... Arguments>
using packing_for = typename packing_of<
    F, typename stored_arguments<type_list<std::decay_t<Arguments>...>, typename signature_of<F>::type>::type>::type;

// --- what can be wrong with a call ----------------------------------------------------------------------------------

enum class call_mistake {
  none,
  not_a_function,
  pointer,
  std_function,
  captures,
  argument_count,
  reference_parameter,
  view,
  actor_handle,
  argument_stays,
  argument_type,
  lost_fraction,
  member_function,
  not_callable,
};

/// Names in compiler messages.
template <class F>
struct the_function_is;
template <class... Parameters>
struct the_function_takes {
  template <class... Arguments>
  struct but_was_given;
};
template <class... Arguments>
struct the_function_was_given;

template <class T>
inline constexpr bool is_view = false;
template <class Character, class Traits>
inline constexpr bool is_view<std::basic_string_view<Character, Traits>> = true;
template <class T, std::size_t Extent>
inline constexpr bool is_view<std::span<T, Extent>> = true;

template <class T>
inline constexpr bool is_actor_handle = std::is_same_v<T, caf::actor>;
template <class... Signatures>
inline constexpr bool is_actor_handle<caf::typed_actor<Signatures...>> = true;

template <class F>
inline constexpr bool is_std_function = false;
template <class Signature>
inline constexpr bool is_std_function<std::function<Signature>> = true;

template <class F>
inline constexpr bool is_member_constant = false;
template <auto Function>
inline constexpr bool is_member_constant<function_constant<Function>> = std::is_member_pointer_v<decltype(Function)>;

template <class Parameter>
inline constexpr bool takes_constant = std::is_convertible_v<const std::remove_cvref_t<Parameter>&, Parameter>;

template <class Stored, class Argument, class Parameter>
inline constexpr bool argument_fits = std::is_constructible_v<Stored, stored_argument<Argument>>&&
    std::is_convertible_v<const resolved<Stored>&, Parameter>;

template <class... Stored>
constexpr call_mistake mistake_in_stored() {
  if constexpr ((is_view<Stored> || ...)) {
    return call_mistake::view;
  } else if constexpr ((is_actor_handle<Stored> || ...)) {
    return call_mistake::actor_handle;
  } else {
    return (encodable<Stored> && ...) ? call_mistake::none : call_mistake::argument_stays;
  }
}

/// A call with these arguments of a function that has one signature, or none (void) because it is generic.
template <class F, class Signature, class... Arguments>
struct checked_call;
template <class F, class Result, class... Parameters, class... Arguments>
struct checked_call<F, std::function<Result(Parameters...)>, Arguments...> {
  using types = typename the_function_takes<Parameters...>::template but_was_given<Arguments...>;
  static constexpr call_mistake mistake() {
    if constexpr (sizeof...(Arguments) != sizeof...(Parameters)) {
      return call_mistake::argument_count;
    } else if constexpr (((std::is_reference_v<Parameters> && !takes_constant<Parameters>) || ...)) {
      return call_mistake::reference_parameter;
    } else if constexpr (mistake_in_stored<stored_for<Arguments, Parameters>...>() != call_mistake::none) {
      return mistake_in_stored<stored_for<Arguments, Parameters>...>();
    } else if constexpr (!(argument_fits<stored_for<Arguments, Parameters>, Arguments, Parameters> && ...)) {
      return call_mistake::argument_type;
    } else {
      return (loses_fraction<resolved<stored_argument<Arguments>>, Parameters> || ...) ? call_mistake::lost_fraction
                                                                                       : call_mistake::none;
    }
  }
};
template <class F, class... Arguments>
struct checked_call<F, void, Arguments...> {
  using types = the_function_was_given<Arguments...>;
  static constexpr call_mistake mistake() {
    if constexpr (mistake_in_stored<stored_argument<Arguments>...>() != call_mistake::none) {
      return mistake_in_stored<stored_argument<Arguments>...>();
    } else if constexpr (std::invocable<F&, const resolved<stored_argument<Arguments>>&...>) {
      return call_mistake::none;
    } else {
      return is_member_constant<F> ? call_mistake::member_function : call_mistake::not_callable;
    }
  }
};

/// Whether F can travel at all.
template <class F>
constexpr call_mistake mistake_in_function() {
  if constexpr (std::is_member_pointer_v<F> || std::is_function_v<std::remove_pointer_t<F>>) {
    return call_mistake::pointer;
  } else if constexpr (is_std_function<F>) {
    return call_mistake::std_function;
  } else if constexpr (!std::is_class_v<F>) {
    return call_mistake::not_a_function;
  } else {
    return std::is_empty_v<F> && std::default_initializable<F> ? call_mistake::none : call_mistake::captures;
  }
}

/// Does not compile unless nothing was found.
template <call_mistake Found, class Types>
constexpr bool explain_mistake() {
  static_assert(
      Found != call_mistake::not_a_function,
      "the first argument is the function: a lambda without captures, or schedule<step>(...) for a named one");
  static_assert(Found != call_mistake::pointer,
                "a function pointer has no identity in another process: name the function, as in schedule<step>(...)");
  static_assert(Found != call_mistake::std_function,
                "a std::function has no identity in another process: pass the lambda itself, or name the function, as "
                "in schedule<step>(...)");
  static_assert(Found != call_mistake::captures,
                "a function travels without captures and without state: pass what it needs as arguments");
  static_assert(Found != call_mistake::argument_count,
                "the function takes another number of arguments; see the_function_takes<...>::but_was_given<...>");
  static_assert(Found != call_mistake::reference_parameter,
                "a parameter is a reference to something that the function may change, but arguments travel as copies: "
                "take it by value or by const reference, and return what changed");
  static_assert(Found != call_mistake::view,
                "a std::string_view or std::span does not own what it shows, so it can't travel: use std::string, "
                "std::vector or tensor");
  static_assert(Found != call_mistake::actor_handle,
                "an actor's handle leads nowhere after its process has ended, so it can't travel: offer the actor by a "
                "name on its member, and pass the actor_reference (see actors/offers/member.hpp)");
  static_assert(Found != call_mistake::argument_stays,
                "an argument must be able to travel: make it an aggregate of numbers, strings, tensors and standard "
                "containers, or give it a member function serialize (see actors/values/codec.hpp)");
  static_assert(Found != call_mistake::argument_type,
                "an argument does not convert to the function's parameter; see "
                "the_function_takes<...>::but_was_given<...>");
  static_assert(Found != call_mistake::lost_fraction,
                "an argument would lose its fraction, because the parameter is an integer: pass an integer "
                "(static_cast<int>(x), std::lround(x)), or give the parameter a floating-point type; see "
                "the_function_takes<...>::but_was_given<...>");
  static_assert(Found != call_mistake::member_function,
                "the member function can't be called with these arguments, of which the first is the object, a copy "
                "that can't be changed: make the member function const, or schedule a lambda that takes the object");
  static_assert(Found != call_mistake::not_callable,
                "the function can't be called with these arguments: it takes another number of them, types they do not "
                "convert to, or a reference to something that it may change; see the_function_was_given<...>");
  return Found == call_mistake::none;
}

/// True for a call that can travel; does not compile, with one message, for any other.
template <class F, class... Arguments>
constexpr bool is_sound_call() {
  if constexpr (mistake_in_function<F>() != call_mistake::none) {
    return explain_mistake<mistake_in_function<F>(), the_function_is<F>>();
  } else {
    using call = checked_call<F, typename signature_of<F>::type, Arguments...>;
    return explain_mistake<call::mistake(), typename call::types>();
  }
}

/// The same for its result, which the caller gets a copy of. `Result` is a template argument for the message.
template <class Result>
constexpr bool is_sound_result() {
  constexpr bool travels = std::is_void_v<Result> || (encodable<Result> && std::copy_constructible<Result>);
  static_assert(travels,
                "a closure's result must be able to travel (see actors/values/codec.hpp) and to be copied; keep what "
                "can't on the worker with create_per_worker_values");
  return travels;
}

/// What a call that does not compile gives, so that the lines after it are not reported, too.
struct any_type {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
struct no_remote_value : any_type {
  using value_type = any_type;
  any_type fetch(auto&&...) const;
  any_type get(auto&&...) const;
  bool wait_for(auto&&...) const;
  closure::readiness state() const;
  void cancel() const;
};

/// Whether the arguments are those of the overload that takes options.
template <class... Arguments>
inline constexpr bool begins_with_options = false;
template <class First, class... Rest>
inline constexpr bool begins_with_options<First, Rest...> = std::is_same_v<std::decay_t<First>, schedule_options>;

}  // namespace troupe::detail
