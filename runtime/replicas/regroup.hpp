// From what each replica has to what the strategy has, and back.
//
//   regroup   one T from each replica  ->  regrouped_t<T>      results of `run`, arguments of a merge function
//   slice     regrouped_t<T>           ->  replica i's T       arguments of `run`, results of a merge function
//
//   T                                              regrouped_t<T>
//   tuple, pair, array, vector, map of U           the same structure of regrouped_t<U>
//   a handle of a distributed variable             the handle (all replicas have the same variable)
//   a struct, and anything else                    per_replica<T>
//
// A struct is taken whole here, since its members can't become per_replica; the values in it are reduced and gathered
// one by one all the same. A mirrored<T> is sliced like a per_replica<T>; what is not distributed passes through
// `slice` unchanged.
// Errors: invalid_argument when structures (lengths, keys, variables) differ between replicas; the message says how.
// Semantics: examples/reference/semantics.md 1.2 (regroup, select_replica), 3.5.
#pragma once

#include <troupe/actors/values/structure.hpp>
#include <troupe/runtime/replicas/distributed_values.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// What one leaf from each replica becomes. Specialised for types that are regrouped otherwise than into a per_replica,
/// such as handles of variables.
template <class T>
struct regrouping {
  using type = per_replica<T>;
  static type regroup(std::vector<T> values) { return type{std::move(values)}; }
};

/// Distributed already: all replicas have the same object.
template <class T>
struct regrouping<per_replica<T>> {
  using type = per_replica<T>;
  static type regroup(std::vector<type> values) { return values.front(); }
};

template <class T>
struct regrouping<mirrored<T>> {
  using type = mirrored<T>;
  static type regroup(std::vector<type> values) { return values.front(); }
};

namespace detail {

struct regroup_leaf {
  /// The leaves are moved from.
  template <class T>
  typename regrouping<T>::type operator()(std::span<T* const> leaves) const {
    std::vector<T> values;
    values.reserve(leaves.size());
    for (auto* each : leaves) values.push_back(std::move(*each));
    return regrouping<T>::regroup(std::move(values));
  }
};

struct slice_leaf {
  std::size_t replica;

  template <class T>
  T operator()(const T& whole) const {
    return whole;
  }
  template <class T>
  T operator()(const per_replica<T>& whole) const {
    return whole[replica];
  }
  /// Of a value that is on one device only every replica gets that one.
  template <class T>
  T operator()(const mirrored<T>& whole) const {
    return whole[whole.size() == 1 ? 0 : replica];
  }
};

}  // namespace detail

template <class T>
using regrouped_t = detail::merged_structure_t<detail::regroup_leaf, detail::whole_structs, T>;

template <class T>
using sliced_t = detail::mapped_structure_t<detail::result_of_map<detail::slice_leaf>, detail::whole_structs, T>;

/// Takes the replicas' values; they are moved from. @throws invalid_argument_error as described above
template <class T>
regrouped_t<T> regroup(std::span<T* const> values) {
  return merge_leaves<detail::whole_structs>(values, detail::regroup_leaf{}, "replica");
}

template <class T>
sliced_t<T> slice(const T& whole, std::size_t replica) {
  if constexpr (std::is_same_v<T, sliced_t<T>>) {
    return whole;
  } else {
    return map_leaves<detail::whole_structs>(whole, detail::slice_leaf{replica});
  }
}

/// "replica 1 has another variable than replica 0; ..."
[[noreturn]] void throw_structures_differ(std::size_t replica, const std::string& how);

}  // namespace troupe
