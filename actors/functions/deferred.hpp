// Arguments that are known only when a function runs: the results of other functions.
//
// A remote value may be an argument of a later closure. What is sent then is its place among the results that the
// closure depends on; `resolve` puts the result in that place when the closure runs. This works inside vectors, arrays,
// maps, pairs and tuples too.
#pragma once

#include <troupe/actors/values/value.hpp>
#include <troupe/device/base/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// Stands for a T: the result number `index` of those that a function depends on.
template <class T>
struct deferred {
  std::uint32_t index = 0;
  bool operator==(const deferred&) const = default;
};

namespace detail {

/// What a type becomes when each deferred<U> in it becomes a U.
template <class T>
struct resolution : std::type_identity<T> {};
template <class T>
struct resolution<deferred<T>> : std::type_identity<T> {};
template <class T, class Allocator>
struct resolution<std::vector<T, Allocator>> {
  using element = typename resolution<T>::type;
  using type = std::conditional_t<std::is_same_v<element, T>, std::vector<T, Allocator>, std::vector<element>>;
};
template <class T, std::size_t Size>
struct resolution<std::array<T, Size>> : std::type_identity<std::array<typename resolution<T>::type, Size>> {};
template <class K, class V, class Compare, class Allocator>
struct resolution<std::map<K, V, Compare, Allocator>> {
  using mapped = typename resolution<V>::type;
  using type =
      std::conditional_t<std::is_same_v<mapped, V>, std::map<K, V, Compare, Allocator>, std::map<K, mapped, Compare>>;
};
template <class A, class B>
struct resolution<std::pair<A, B>>
    : std::type_identity<std::pair<typename resolution<A>::type, typename resolution<B>::type>> {};
template <class... Ts>
struct resolution<std::tuple<Ts...>> : std::type_identity<std::tuple<typename resolution<Ts>::type...>> {};

[[noreturn]] void throw_no_dependency(std::uint32_t index, std::size_t count);

template <class T>
std::shared_ptr<const T> dependency(deferred<T> place, std::span<const value> dependencies) {
  if (place.index >= dependencies.size()) throw_no_dependency(place.index, dependencies.size());
  return dependencies[place.index].template get<T>();
}

}  // namespace detail

/// The type of `resolve(x, ...)` for an x of type T, which is T unless there is a deferred in it.
template <class T>
using resolved = typename detail::resolution<T>::type;

/// True when T is, or contains, a deferred.
template <class T>
inline constexpr bool contains_deferred = !std::is_same_v<resolved<T>, T>;

/// `x` itself when there is nothing to resolve, else a copy with each deferred replaced by its result.
/// Throws invalid_argument_error when a result is missing or of another type.
template <class T>
requires(!contains_deferred<T>) const T& resolve(const T& x, std::span<const value>) { return x; }

template <class T>
T resolve(const deferred<T>& x, std::span<const value> dependencies) {
  return *detail::dependency(x, dependencies);
}

// Declared before any is defined: they call each other.
template <class T, class Allocator>
requires contains_deferred<T> std::vector<resolved<T>> resolve(const std::vector<T, Allocator>& elements,
                                                               std::span<const value> dependencies);
template <class T, std::size_t Size>
requires contains_deferred<T> std::array<resolved<T>, Size> resolve(const std::array<T, Size>& elements,
                                                                    std::span<const value> dependencies);
template <class K, class V, class Compare, class Allocator>
requires contains_deferred<V> std::map<K, resolved<V>, Compare> resolve(
    const std::map<K, V, Compare, Allocator>& entries, std::span<const value> dependencies);
template <class A, class B>
requires contains_deferred<std::pair<A, B>> resolved<std::pair<A, B>> resolve(const std::pair<A, B>& x,
                                                                              std::span<const value> dependencies);
template <class... Ts>
requires contains_deferred<std::tuple<Ts...>> resolved<std::tuple<Ts...>> resolve(const std::tuple<Ts...>& x,
                                                                                  std::span<const value> dependencies);

template <class T, class Allocator>
requires contains_deferred<T> std::vector<resolved<T>> resolve(const std::vector<T, Allocator>& elements,
                                                               std::span<const value> dependencies) {
  std::vector<resolved<T>> result;
  result.reserve(elements.size());
  for (const auto& element : elements) result.push_back(resolve(element, dependencies));
  return result;
}

template <class T, std::size_t Size>
requires contains_deferred<T> std::array<resolved<T>, Size> resolve(const std::array<T, Size>& elements,
                                                                    std::span<const value> dependencies) {
  return std::apply([&](const auto&... xs) { return std::array<resolved<T>, Size>{resolve(xs, dependencies)...}; },
                    elements);
}

template <class K, class V, class Compare, class Allocator>
requires contains_deferred<V> std::map<K, resolved<V>, Compare> resolve(
    const std::map<K, V, Compare, Allocator>& entries, std::span<const value> dependencies) {
  std::map<K, resolved<V>, Compare> result(entries.key_comp());
  for (const auto& [key, mapped] : entries) result.emplace_hint(result.end(), key, resolve(mapped, dependencies));
  return result;
}

template <class A, class B>
requires contains_deferred<std::pair<A, B>> resolved<std::pair<A, B>> resolve(const std::pair<A, B>& x,
                                                                              std::span<const value> dependencies) {
  return {resolve(x.first, dependencies), resolve(x.second, dependencies)};
}

template <class... Ts>
requires contains_deferred<std::tuple<Ts...>> resolved<std::tuple<Ts...>> resolve(const std::tuple<Ts...>& x,
                                                                                  std::span<const value> dependencies) {
  return std::apply([&](const auto&... xs) { return resolved<std::tuple<Ts...>>{resolve(xs, dependencies)...}; }, x);
}

/// A pointer to the resolved argument, for the time of one call: to `x` itself or to the result, without a copy, or to
/// a resolved copy of a container.
template <class T>
auto resolve_for_call(const T& x, std::span<const value> dependencies) {
  if constexpr (contains_deferred<T>) {
    return std::make_shared<const resolved<T>>(resolve(x, dependencies));
  } else {
    return std::addressof(x);
  }
}

template <class T>
std::shared_ptr<const T> resolve_for_call(const deferred<T>& x, std::span<const value> dependencies) {
  return detail::dependency(x, dependencies);
}

}  // namespace troupe
