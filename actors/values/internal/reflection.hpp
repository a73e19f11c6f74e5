// What a type is made of, as far as the codec can find out by itself.
//
// Boost.PFR enumerates the members of an aggregate, but stops the compiler on those that it does not support (base
// classes, C arrays). Whether a type is encodable is a question here, never an error, because a value may hold any type
// as long as it stays in its process; so such aggregates are sorted out before Boost.PFR sees them.
#pragma once

#include <boost/pfr/core.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace troupe::detail {

/// Numbers whose memory image is their encoding. long double is left out: its image has padding and differs between
/// machines.
template <class T>
concept number = std::is_arithmetic_v<T> && !std::is_same_v<T, long double>;

template <class T>
concept plain = number<T> || std::is_enum_v<T>;

/// bool, or an enum over it: a byte that may only be 0 or 1.
template <class T>
constexpr bool is_boolean() {
  if constexpr (std::is_enum_v<T>) {
    return std::is_same_v<std::underlying_type_t<T>, bool>;
  } else {
    return std::is_same_v<T, bool>;
  }
}

/// What may be read as a block of memory, whatever the bytes.
template <class T>
concept block_element = plain<T> && !is_boolean<T>();

/// Converts to any base class of T.
template <class T>
struct any_base_of {
  template <class Base>
  requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>) operator Base() const;
};

struct any_value {
  template <class T>
  operator T() const;
};

/// True when the aggregate has no member that is a C array, which Boost.PFR would take for several members. Compilers
/// that cannot tell (no parenthesised aggregate initialisation) report such a member in Boost.PFR instead.
template <class T, std::size_t... I>
constexpr bool has_no_array_member(std::index_sequence<I...>) {
#if defined(__cpp_aggregate_paren_init)
  return requires { T(((void)I, any_value{})...); };
#else
  return true;
#endif
}

/// True when Boost.PFR can enumerate the members of T.
template <class T>
constexpr bool has_enumerable_members() {
  if constexpr (!std::is_class_v<T> || !std::is_aggregate_v<T> || std::is_empty_v<T>) {
    return false;
  } else if constexpr (!std::default_initializable<T> || !std::move_constructible<T>) {
    return false;
  } else if constexpr (requires { T{any_base_of<T>{}}; }) {
    return false;
  } else {
    return has_no_array_member<T>(std::make_index_sequence<boost::pfr::tuple_size_v<T>>{});
  }
}

}  // namespace troupe::detail
