// From what each replica has to what the strategy has, and back.
//
//   regroup   one T from each replica  ->  regrouped_t<T>      results of `run`, arguments of a merge function
//   slice     regrouped_t<T>           ->  replica i's T       arguments of `run`, results of a merge function
//
//   T                                         regrouped_t<T>
//   tuple, pair, vector, map of U             the same structure of regrouped_t<U>
//   a handle of a distributed variable        the handle (all replicas have the same variable)
//   anything else, user structs too           per_replica<T>
//
// A mirrored<T> is sliced like a per_replica<T>; what is not distributed passes through `slice` unchanged.
// Errors: invalid_argument when structures (lengths, keys, variables) differ between replicas; the message says how.
// Semantics: semantics.md 1.2 (regroup, select_replica), 3.5; seed 003 "Unwrapping and merging".
#pragma once

#include <troupe/runtime/replicas/distributed_values.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe {

/// Specialised for types that are regrouped otherwise than into a per_replica, such as handles of variables.
/// `regroup` makes one of the replicas' values, `slice` gives replica i its own.
template <class T>
struct regrouping {
  using type = per_replica<T>;
  static type regroup(std::vector<T> values) { return type{std::move(values)}; }
};

template <class T>
using regrouped_t = typename regrouping<T>::type;

/// How a distributed value becomes a replica's; specialised for distributed types and structures.
template <class T>
struct slicing {
  using type = T;
  static const T& slice(const T& whole, std::size_t) { return whole; }
};

template <class T>
using sliced_t = typename slicing<T>::type;

template <class T>
regrouped_t<T> regroup(std::vector<T> values) {
  return regrouping<T>::regroup(std::move(values));
}

template <class T>
sliced_t<T> slice(const T& whole, std::size_t replica) {
  return slicing<T>::slice(whole, replica);
}

[[noreturn]] void throw_structures_differ(std::size_t replica, const std::string& how);

// --- leaves ---------------------------------------------------------------------------------------------------------

template <class T>
struct slicing<per_replica<T>> {
  using type = T;
  static T slice(const per_replica<T>& whole, std::size_t replica) { return whole[replica]; }
};

template <class T>
struct slicing<mirrored<T>> {
  using type = T;
  /// Of a value that is on one device only every replica gets that one.
  static T slice(const mirrored<T>& whole, std::size_t replica) { return whole[whole.size() == 1 ? 0 : replica]; }
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

// --- structures -----------------------------------------------------------------------------------------------------

template <class... Ts>
struct regrouping<std::tuple<Ts...>> {
  using type = std::tuple<regrouped_t<Ts>...>;

  static type regroup(std::vector<std::tuple<Ts...>> values) {
    return regroup_members(values, std::index_sequence_for<Ts...>{});
  }

 private:
  template <std::size_t... I>
  static type regroup_members(std::vector<std::tuple<Ts...>>& values, std::index_sequence<I...>) {
    return type{regroup_member<I>(values)...};
  }

  template <std::size_t I>
  static auto regroup_member(std::vector<std::tuple<Ts...>>& values) {
    std::vector<std::tuple_element_t<I, std::tuple<Ts...>>> members;
    members.reserve(values.size());
    for (auto& each : values) members.push_back(std::move(std::get<I>(each)));
    return troupe::regroup(std::move(members));
  }
};

template <class... Ts>
struct slicing<std::tuple<Ts...>> {
  using type = std::tuple<sliced_t<Ts>...>;
  static type slice(const std::tuple<Ts...>& whole, std::size_t replica) {
    return std::apply([&](const auto&... members) { return type{troupe::slice(members, replica)...}; }, whole);
  }
};

template <class A, class B>
struct regrouping<std::pair<A, B>> {
  using type = std::pair<regrouped_t<A>, regrouped_t<B>>;
  static type regroup(std::vector<std::pair<A, B>> values) {
    std::vector<A> first;
    std::vector<B> second;
    for (auto& each : values) {
      first.push_back(std::move(each.first));
      second.push_back(std::move(each.second));
    }
    return {troupe::regroup(std::move(first)), troupe::regroup(std::move(second))};
  }
};

template <class A, class B>
struct slicing<std::pair<A, B>> {
  using type = std::pair<sliced_t<A>, sliced_t<B>>;
  static type slice(const std::pair<A, B>& whole, std::size_t replica) {
    return {troupe::slice(whole.first, replica), troupe::slice(whole.second, replica)};
  }
};

template <class T>
struct regrouping<std::vector<T>> {
  using type = std::vector<regrouped_t<T>>;

  static type regroup(std::vector<std::vector<T>> values) {
    const auto length = values.front().size();
    for (auto i = std::size_t{1}; i < values.size(); ++i)
      if (values[i].size() != length)
        throw_structures_differ(i, "a list of another length (" + std::to_string(values[i].size()) + " instead of " +
                                       std::to_string(length) + ")");
    type result;
    result.reserve(length);
    for (auto k = std::size_t{0}; k < length; ++k) {
      std::vector<T> elements;
      elements.reserve(values.size());
      for (auto& each : values) elements.push_back(std::move(each[k]));
      result.push_back(troupe::regroup(std::move(elements)));
    }
    return result;
  }
};

template <class T>
struct slicing<std::vector<T>> {
  using type = std::vector<sliced_t<T>>;
  static type slice(const std::vector<T>& whole, std::size_t replica) {
    type result;
    result.reserve(whole.size());
    for (const auto& each : whole) result.push_back(troupe::slice(each, replica));
    return result;
  }
};

template <class Key, class T>
struct regrouping<std::map<Key, T>> {
  using type = std::map<Key, regrouped_t<T>>;

  static type regroup(std::vector<std::map<Key, T>> values) {
    const auto& first = values.front();
    for (auto i = std::size_t{1}; i < values.size(); ++i)
      if (!std::equal(first.begin(), first.end(), values[i].begin(), values[i].end(),
                      [](const auto& a, const auto& b) { return a.first == b.first; }))
        throw_structures_differ(i, "a map with other keys");
    type result;
    for (const auto& entry : first) {
      std::vector<T> elements;
      elements.reserve(values.size());
      for (const auto& each : values) elements.push_back(each.at(entry.first));
      result.emplace(entry.first, troupe::regroup(std::move(elements)));
    }
    return result;
  }
};

template <class Key, class T>
struct slicing<std::map<Key, T>> {
  using type = std::map<Key, sliced_t<T>>;
  static type slice(const std::map<Key, T>& whole, std::size_t replica) {
    type result;
    for (const auto& [key, each] : whole) result.emplace(key, troupe::slice(each, replica));
    return result;
  }
};

}  // namespace troupe
