// Element types of tensors: the run-time tag, the C++ type behind each tag, and the way from one to the other.
//
// A dtype that came over the network may hold a number that is no element type; every function here refuses it.
#pragma once

#include <troupe/device/base/float16.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace troupe {

/// Element type of a tensor. The numbers are part of the wire format and never change.
enum class dtype : std::uint8_t {
  float32 = 0,
  float64 = 1,
  float16 = 2,
  bfloat16 = 3,
  int8 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  uint8 = 8,
  boolean = 9,
};

/// Bytes of one element. Throws invalid_argument_error for a number that is no dtype.
std::size_t size_bytes(dtype type);

/// "float32", ..., "boolean"; "dtype(77)" for a number that is no dtype.
std::string to_string(dtype type);

/// The reverse of to_string; "bool" is accepted too. Throws invalid_argument_error that lists the names.
dtype dtype_from_string(std::string_view name);

/// True for float16, bfloat16, float32 and float64.
constexpr bool is_floating(dtype type) noexcept { return type <= dtype::bfloat16; }

[[noreturn]] void throw_unknown_dtype(dtype type);

namespace detail {

template <class T>
struct dtype_traits;  // left undefined for types that no tensor holds

template <dtype Type>
using dtype_constant = std::integral_constant<dtype, Type>;

template <>
struct dtype_traits<float> : dtype_constant<dtype::float32> {};
template <>
struct dtype_traits<double> : dtype_constant<dtype::float64> {};
template <>
struct dtype_traits<float16> : dtype_constant<dtype::float16> {};
template <>
struct dtype_traits<bfloat16> : dtype_constant<dtype::bfloat16> {};
template <>
struct dtype_traits<std::int8_t> : dtype_constant<dtype::int8> {};
template <>
struct dtype_traits<std::int16_t> : dtype_constant<dtype::int16> {};
template <>
struct dtype_traits<std::int32_t> : dtype_constant<dtype::int32> {};
template <>
struct dtype_traits<std::int64_t> : dtype_constant<dtype::int64> {};
template <>
struct dtype_traits<std::uint8_t> : dtype_constant<dtype::uint8> {};
template <>
struct dtype_traits<bool> : dtype_constant<dtype::boolean> {};

}  // namespace detail

/// A C++ type that tensors can hold: float, double, float16, bfloat16, std::int8_t to std::int64_t, std::uint8_t, bool.
template <class T>
concept tensor_element = requires {
  detail::dtype_traits<T>::value;
};

/// The tag of an element type.
template <tensor_element T>
constexpr dtype dtype_of = detail::dtype_traits<T>::value;

/// Calls `f(std::type_identity<T>{})` with the C++ type behind the tag and returns what `f` returns.
/// Throws invalid_argument_error for a number that is no dtype.
template <class Function>
decltype(auto) visit_dtype(dtype type, Function&& f) {
  switch (type) {
    case dtype::float32:
      return std::forward<Function>(f)(std::type_identity<float>{});
    case dtype::float64:
      return std::forward<Function>(f)(std::type_identity<double>{});
    case dtype::float16:
      return std::forward<Function>(f)(std::type_identity<float16>{});
    case dtype::bfloat16:
      return std::forward<Function>(f)(std::type_identity<bfloat16>{});
    case dtype::int8:
      return std::forward<Function>(f)(std::type_identity<std::int8_t>{});
    case dtype::int16:
      return std::forward<Function>(f)(std::type_identity<std::int16_t>{});
    case dtype::int32:
      return std::forward<Function>(f)(std::type_identity<std::int32_t>{});
    case dtype::int64:
      return std::forward<Function>(f)(std::type_identity<std::int64_t>{});
    case dtype::uint8:
      return std::forward<Function>(f)(std::type_identity<std::uint8_t>{});
    case dtype::boolean:
      return std::forward<Function>(f)(std::type_identity<bool>{});
  }
  throw_unknown_dtype(type);
}

}  // namespace troupe
