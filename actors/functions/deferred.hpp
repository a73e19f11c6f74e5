// Arguments that are known only when a function runs: the results of other functions.
//
// A remote value may be an argument of a later closure. What is sent then is its place among the results that the
// closure depends on; `resolve` puts the result in that place when the closure runs. This works inside the containers
// of actors/values/structure.hpp too, not inside structs.
#pragma once

#include <troupe/actors/values/structure.hpp>
#include <troupe/actors/values/value.hpp>
#include <troupe/device/base/error.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace troupe {

/// Stands for a T: the result number `index` of those that a function depends on.
template <class T>
struct deferred {
  std::uint32_t index = 0;
  bool operator==(const deferred&) const = default;
};

namespace detail {

[[noreturn]] void throw_no_dependency(std::uint32_t index, std::size_t count);

template <class T>
std::shared_ptr<const T> dependency(deferred<T> place, std::span<const value> dependencies) {
  if (place.index >= dependencies.size()) throw_no_dependency(place.index, dependencies.size());
  return dependencies[place.index].template get<T>();
}

struct resolve_leaf {
  std::span<const value> dependencies;

  template <class T>
  const T& operator()(const T& x) const {
    return x;
  }
  template <class T>
  T operator()(const deferred<T>& x) const {
    return *dependency(x, dependencies);
  }
};

}  // namespace detail

/// What T becomes when each deferred<U> in it becomes a U.
template <class T>
using resolved = detail::mapped_structure_t<detail::result_of_map<detail::resolve_leaf>, detail::whole_structs, T>;

/// True when T is, or contains, a deferred.
template <class T>
inline constexpr bool contains_deferred = !std::is_same_v<resolved<T>, T>;

/// `x` itself when there is nothing to resolve, else a copy with each deferred replaced by its result.
/// Throws invalid_argument_error when a result is missing or of another type.
template <class T>
requires(!contains_deferred<T>) const T& resolve(const T& x, std::span<const value>) { return x; }
template <class T>
requires contains_deferred<T> resolved<T> resolve(const T& x, std::span<const value> dependencies) {
  return map_leaves<detail::whole_structs>(x, detail::resolve_leaf{dependencies});
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
