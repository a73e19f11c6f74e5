// Rules of arithmetic that every kernel shares. Private to the kernels.
//
// 16-bit floats compute in float. Integers wrap around (computed unsigned, because signed overflow is undefined in
// C++). A conversion to an integer truncates towards zero, saturates at the limits and turns NaN into 0. A minimum or
// maximum with NaN is NaN. The CUDA kernels compile this file too, so that they compute the same.
#pragma once

#include <troupe/device/base/dtype.hpp>
#include <troupe/device/base/error.hpp>

#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace troupe::numeric {

template <class T>
concept half = std::same_as<T, float16> || std::same_as<T, bfloat16>;

/// The type in which elements of type T are computed.
template <class T>
using wide = std::conditional_t<half<T>, float, T>;

template <class T>
constexpr wide<T> widen(const T& x) {
  return static_cast<wide<T>>(x);
}

template <std::integral To, std::floating_point From>
constexpr To saturate(From x) {
  using limits = std::numeric_limits<To>;
  constexpr auto above = static_cast<From>(limits::max() / 2 + 1) * 2;  // first value too large, a power of two
  if (x >= above) return limits::max();
  if (x > static_cast<From>(limits::min())) return static_cast<To>(x);
  return x == x ? limits::min() : To{0};
}

/// Any element (or double) to any element type.
template <tensor_element To, class From>
constexpr To convert(const From& x) {
  const auto value = widen(x);
  if constexpr (std::same_as<To, bool>) {
    return value != wide<From>{};
  } else if constexpr (half<To>) {
    return To{static_cast<float>(value)};
  } else if constexpr (std::integral<To> && std::floating_point<wide<From>>) {
    return saturate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

/// Unsigned for integers, so that overflow wraps; at least 32 bits, so that no promotion makes it signed again.
template <class T>
using modular =
    std::conditional_t<!std::integral<T>, T, std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>>;

struct add {
  template <class T>
  constexpr T operator()(T a, T b) const {
    return static_cast<T>(modular<T>(a) + modular<T>(b));
  }
};

struct subtract {
  template <class T>
  constexpr T operator()(T a, T b) const {
    return static_cast<T>(modular<T>(a) - modular<T>(b));
  }
};

struct multiply {
  template <class T>
  constexpr T operator()(T a, T b) const {
    return static_cast<T>(modular<T>(a) * modular<T>(b));
  }
};

/// Precondition for integers: b is not 0.
struct divide {
  template <class T>
  constexpr T operator()(T a, T b) const {
    if constexpr (std::signed_integral<T>) {
      // The smallest integer divided by -1 overflows, and traps, unless it is negated modulo.
      return b == T{-1} ? subtract{}(T{0}, a) : static_cast<T>(a / b);
    } else {
      return static_cast<T>(a / b);
    }
  }
};

struct minimum {
  template <class T>
  constexpr T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

struct maximum {
  template <class T>
  constexpr T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

[[noreturn]] inline void throw_no_arithmetic(std::string_view operation) {
  throw invalid_argument_error{std::string{operation} +
                               " has no meaning for boolean tensors; cast to int32 or float32 first"};
}

/// Booleans have no arithmetic: throws invalid_argument_error that names the operation.
inline void check_arithmetic(std::string_view operation, dtype type) {
  if (type == dtype::boolean) throw_no_arithmetic(operation);
}

/// visit_dtype without boolean, after the same check.
template <class Function>
decltype(auto) visit_arithmetic(std::string_view operation, dtype type, Function&& f) {
  using result = decltype(f(std::type_identity<float>{}));
  return visit_dtype(type, [&]<class T>(std::type_identity<T> tag) -> result {
    if constexpr (std::same_as<T, bool>) {
      throw_no_arithmetic(operation);
    } else {
      return f(tag);
    }
  });
}

/// Calls f(std::type_identity<T>{}) with float or double, after a check that the type is one of the two.
template <class Function>
void visit_floating(dtype type, Function&& f) {
  if (type == dtype::float32) {
    f(std::type_identity<float>{});
  } else {
    f(std::type_identity<double>{});
  }
}

}  // namespace troupe::numeric
