// Values travel by codec: `encode(x)` gives bytes and attachments, `decode<T>(...)` the object back, bit for bit.
//
// What can travel: numbers (not long double), enums, strings, vector, array, map, set and their unordered forms, pair,
// tuple, optional, variant, chrono durations and time points, tensors, shapes, statuses; aggregates of such members
// without any boilerplate; classes with `serialize`, or `save` and `load`, in the manner of cereal; classes without
// state. What cannot: pointers, references, handles of the operating system, classes that say nothing about their
// contents, C arrays (use std::array).
#pragma once

#include <troupe/actors/values/internal/archive.hpp>
#include <troupe/actors/values/internal/type_name.hpp>

#include <cereal/types/chrono.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <cereal/types/unordered_map.hpp>
#include <cereal/types/unordered_set.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace troupe {

namespace detail {

template <class...>
struct type_list {};

/// The types that a standard container or product consists of; for any other type, none.
template <class T>
struct parts_of : std::type_identity<void> {};
template <class T, class Allocator>
struct parts_of<std::vector<T, Allocator>> : std::type_identity<type_list<T>> {};
template <class T, std::size_t Size>
struct parts_of<std::array<T, Size>> : std::type_identity<type_list<T>> {};
template <class T>
struct parts_of<std::optional<T>> : std::type_identity<type_list<T>> {};
template <class K, class... Rest>
struct parts_of<std::set<K, Rest...>> : std::type_identity<type_list<K>> {};
template <class K, class... Rest>
struct parts_of<std::unordered_set<K, Rest...>> : std::type_identity<type_list<K>> {};
template <class K, class V, class... Rest>
struct parts_of<std::map<K, V, Rest...>> : std::type_identity<type_list<K, V>> {};
template <class K, class V, class... Rest>
struct parts_of<std::unordered_map<K, V, Rest...>> : std::type_identity<type_list<K, V>> {};
template <class A, class B>
struct parts_of<std::pair<A, B>> : std::type_identity<type_list<A, B>> {};
template <class... Ts>
struct parts_of<std::tuple<Ts...>> : std::type_identity<type_list<Ts...>> {};
template <class... Ts>
struct parts_of<std::variant<Ts...>> : std::type_identity<type_list<Ts...>> {};

template <class T, class... Open>
constexpr bool is_encodable();

template <class... Open, class... Parts>
constexpr bool are_encodable(type_list<Parts...>) {
  return (is_encodable<Parts, Open...>() && ...);
}

template <class T, class... Open, std::size_t... I>
constexpr bool are_members_encodable(std::index_sequence<I...>) {
  return (is_encodable<std::remove_reference_t<decltype(boost::pfr::get<I>(std::declval<T&>()))>, Open...>() && ...);
}

/// `Open` are the aggregates around T whose answer depends on this one: a recursive type is encodable if the rest is.
template <class T, class... Open>
constexpr bool is_encodable() {
  if constexpr (!std::is_object_v<T> || std::is_const_v<T> || std::is_pointer_v<T> || std::is_array_v<T>) {
    return false;
  } else if constexpr (plain<T> || (std::is_same_v<T, Open> || ...)) {
    return true;
  } else if constexpr (!std::is_class_v<T> || !std::default_initializable<T>) {
    return false;
  } else if constexpr (!std::is_void_v<typename parts_of<T>::type>) {
    return are_encodable<Open...>(typename parts_of<T>::type{});
  } else if constexpr (is_reflected<T>()) {
    return are_members_encodable<T, T, Open...>(std::make_index_sequence<boost::pfr::tuple_size_v<T>>{});
  } else {
    return has_serialize_functions<T> || std::is_empty_v<T>;
  }
}

template <class T>
constexpr void require_encodable() {
  static_assert(is_encodable<T>(),
                "this type cannot leave its process: make it an aggregate of members that can (numbers, strings, "
                "tensors, standard containers, other aggregates), or give it a member function `template <class "
                "Archive> void serialize(Archive& archive) { archive(first_, second_); }` and a default constructor");
}

/// Inside a catch block: throws data_loss_error for what an archive or a type's own checks threw while decoding.
[[noreturn]] void rethrow_decoding_error(std::string_view type);

}  // namespace detail

/// Types that can leave their process. For a class with functions of its own it holds without looking at what they do.
template <class T>
concept encodable = detail::is_encodable<T>();

/// Shares the buffers of large tensors and copies everything else. Throws resource_exhausted_error when the result
/// passes value_bytes_max, invalid_argument_error when it nests deeper than nesting_depth_max.
template <class T>
encoded encode(const T& object) {
  detail::require_encodable<T>();
  auto archive = output_archive{};
  archive(object);
  return archive.take();
}

/// What `encode(object).size_bytes()` would be, without encoding.
template <class T>
std::size_t encoded_size_bytes(const T& object) {
  detail::require_encodable<T>();
  auto archive = output_archive{output_archive::purpose::measure};
  archive(object);
  return archive.size_bytes();
}

/// Overwrites `object`. Throws data_loss_error that says what was expected, for bytes that are not exactly one T;
/// `object` is valid but unspecified then. Large tensors share the attachments.
template <class T>
void decode_into(T& object, std::span<const std::byte> bytes, std::span<const buffer> attachments = {}) {
  detail::require_encodable<T>();
  try {
    auto archive = input_archive{bytes, attachments};
    archive(object);
    archive.expect_end();
  } catch (...) {
    detail::rethrow_decoding_error(type_name<T>);
  }
}

template <class T>
T decode(std::span<const std::byte> bytes, std::span<const buffer> attachments = {}) {
  detail::require_encodable<T>();
  T object{};
  decode_into(object, bytes, attachments);
  return object;
}

template <class T>
T decode(const encoded& source) {
  return decode<T>(source.bytes, source.attachments);
}

}  // namespace troupe
