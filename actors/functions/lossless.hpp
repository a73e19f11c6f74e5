// Arguments that would arrive as something else.
//
// What a program passes to a function that runs elsewhere is converted to the function's parameters inside of troupe,
// where no compiler warns. So a fraction that an integer parameter would drop does not compile, and a number that is
// too large for the parameter's type is an error when it is passed. A double may become a float: it is rounded.
#pragma once

#include <troupe/actors/values/internal/type_name.hpp>

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace troupe::detail {

/// std::function<...> for a callable with one signature, void for a generic one.
template <class F>
struct signature_of : std::type_identity<void> {};
template <class F>
requires requires(F f) { std::function{f}; }
struct signature_of<F> : std::type_identity<decltype(std::function{std::declval<F>()})> {};

template <class Argument, class Parameter>
inline constexpr bool loses_fraction =
    std::is_floating_point_v<std::remove_cvref_t<Argument>>&& std::is_integral_v<std::remove_cvref_t<Parameter>>;

/// Of a call with these arguments; never of a generic function, which takes them as they are.
template <class Signature, class... Arguments>
inline constexpr bool any_loses_fraction = false;
template <class Result, class... Parameters, class... Arguments>
requires(
    sizeof...(Parameters) ==
    sizeof...(Arguments)) inline constexpr bool any_loses_fraction<std::function<Result(Parameters...)>, Arguments...> =
    (loses_fraction<Arguments, Parameters> || ...);

/// Does not compile for such a call.
template <bool LosesFraction>
constexpr void refuse_lost_fraction() {
  static_assert(!LosesFraction,
                "an argument would lose its fraction, because the parameter is an integer: pass an integer "
                "(static_cast<int>(x), std::lround(x)), or give the parameter a floating-point type");
}

[[noreturn]] void throw_does_not_fit(std::string_view number, std::string_view parameter);

/// The argument as it is, for a parameter of this type. @throws invalid_argument_error for an integer that the type
/// does not hold.
template <class Parameter, class Argument>
Argument fitting(Argument x) {
  if constexpr (std::integral<Argument> && std::integral<Parameter> && !std::same_as<Parameter, bool>) {
    const auto passed = static_cast<Parameter>(x);
    if (static_cast<Argument>(passed) != x || (passed < Parameter{}) != (x < Argument{}))
      throw_does_not_fit(std::to_string(x), type_name<Parameter>);
  }
  return x;
}

}  // namespace troupe::detail
