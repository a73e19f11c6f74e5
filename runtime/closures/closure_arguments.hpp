// Turns the arguments of `schedule` into what travels with the closure.
//
// Plain arguments are stored as the function's own parameter types, so that `schedule<step>(v, 2)` finds the same
// registered function as `schedule<step>(v, 2.0f)`. A remote value becomes a place for another closure's result, a
// per-worker value a place for the executing worker's copy; both also inside the containers of structure.hpp.
// Their own headers say how (`argument<remote_value<T>>`, `argument<per_worker_values<T>>`).
#pragma once

#include <troupe/actors/closures/closure.hpp>
#include <troupe/actors/functions/deferred.hpp>
#include <troupe/actors/functions/function_registry.hpp>
#include <troupe/actors/values/structure.hpp>

#include <functional>
#include <string>
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

/// std::function<...> for a callable with one signature, void for a generic one.
template <class F>
struct signature_of : std::type_identity<void> {};
template <class F>
requires requires(F f) { std::function{f}; }
struct signature_of<F> : std::type_identity<decltype(std::function{std::declval<F>()})> {};
template <auto Function>
struct signature_of<function_constant<Function>> : std::type_identity<decltype(std::function{Function})> {};

/// A function with its arguments as they travel.
struct packed_closure {
  function_id function;
  value arguments;
  std::vector<closure_input> inputs;
};

template <class F, class... Stored>
struct packing {
  static_assert(
      (encodable<Stored> && ...),
      "an argument of a closure must be able to travel: make it an aggregate of numbers, strings, tensors and "
      "standard containers, or give it a member function serialize (see actors/values/codec.hpp)");
  using result = std::decay_t<std::invoke_result_t<F&, const resolved<Stored>&...>>;

  template <class... Arguments>
  static packed_closure pack(Arguments&&... xs) {
    const auto& entry = registered<F, Stored...>();
    packed_closure packed{function_registry::instance().id_of(entry), {}, {}};
    if constexpr (sizeof...(Stored) != 0)
      packed.arguments = value::of(std::tuple<Stored...>{
          store_argument<std::decay_t<Arguments>>(std::forward<Arguments>(xs), packed.inputs)...});
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

}  // namespace troupe::detail
