// Walks over nested structures, so that batching, slicing and regrouping are written once for all of them.
//
// A structure is a tree whose nodes are std::tuple, std::pair, std::array, std::vector, std::map and plain structs
// (aggregates without base classes or C arrays, whose members Boost.PFR finds), in any nesting. Everything else is a
// leaf: tensors, numbers, strings, and std::vector<bool>, which has no elements that one could refer to.
//
// Three walks are enough: visit the leaves, turn each leaf into something else, and turn the same leaf of many
// structures into one. All of them go depth first in order of declaration; maps in order of their keys.
//
// Members of a plain struct have fixed types: a walk that changes the type of leaves refuses structs at compile time.
#pragma once

#include <troupe/actors/values/internal/reflection.hpp>
#include <troupe/device/base/error.hpp>

#include <boost/pfr/core.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// Where a leaf lies in its structure, for error messages. Lives only as long as the visit.
class structure_path {
 public:
  /// The structure itself.
  structure_path() = default;
  structure_path(const structure_path& parent, std::size_t position) : parent_(&parent), position_(position) {}
  structure_path(const structure_path& parent, std::string key) : parent_(&parent), key_(std::move(key)) {}

  /// Such as `[1]["images"]`; empty for a structure that is a leaf itself. Members of structs count from 0.
  std::string to_string() const {
    if (parent_ == nullptr) return {};
    return parent_->to_string() + "[" + (key_.empty() ? std::to_string(position_) : key_) + "]";
  }

 private:
  const structure_path* parent_ = nullptr;
  std::size_t position_ = 0;
  std::string key_;
};

namespace detail {

enum class structure_kind { leaf, tuple, array, vector, map, aggregate };

template <class T>
struct structure_node {
  static constexpr structure_kind kind = has_enumerable_members<T>() ? structure_kind::aggregate : structure_kind::leaf;
};
template <class... Ts>
struct structure_node<std::tuple<Ts...>> {
  static constexpr structure_kind kind = structure_kind::tuple;
};
template <class A, class B>
struct structure_node<std::pair<A, B>> {
  static constexpr structure_kind kind = structure_kind::tuple;
};
template <class T, std::size_t Size>
struct structure_node<std::array<T, Size>> {
  static constexpr structure_kind kind = structure_kind::array;
};
template <class T>
struct structure_node<std::vector<T>> {
  static constexpr structure_kind kind = std::is_same_v<T, bool> ? structure_kind::leaf : structure_kind::vector;
};
template <class K, class V, class Less>
struct structure_node<std::map<K, V, Less>> {
  static constexpr structure_kind kind = structure_kind::map;
};

template <class T>
inline constexpr structure_kind kind_of = structure_node<std::remove_cv_t<T>>::kind;

/// What a structure becomes when `Leaf::type<L>` takes the place of each leaf L. A struct stays what it is.
template <class Leaf, class T, structure_kind Kind = kind_of<T>>
struct mapped_structure {
  using type = T;
};
template <class Leaf, class T>
using mapped_structure_t = typename mapped_structure<Leaf, T>::type;
template <class Leaf, class T>
struct mapped_structure<Leaf, T, structure_kind::leaf> {
  using type = typename Leaf::template type<T>;
};
template <class Leaf, class... Ts>
struct mapped_structure<Leaf, std::tuple<Ts...>, structure_kind::tuple> {
  using type = std::tuple<mapped_structure_t<Leaf, Ts>...>;
};
template <class Leaf, class A, class B>
struct mapped_structure<Leaf, std::pair<A, B>, structure_kind::tuple> {
  using type = std::pair<mapped_structure_t<Leaf, A>, mapped_structure_t<Leaf, B>>;
};
template <class Leaf, class T, std::size_t Size>
struct mapped_structure<Leaf, std::array<T, Size>, structure_kind::array> {
  using type = std::array<mapped_structure_t<Leaf, T>, Size>;
};
template <class Leaf, class T>
struct mapped_structure<Leaf, std::vector<T>, structure_kind::vector> {
  using type = std::vector<mapped_structure_t<Leaf, T>>;
};
template <class Leaf, class K, class V, class Less>
struct mapped_structure<Leaf, std::map<K, V, Less>, structure_kind::map> {
  using type = std::map<K, mapped_structure_t<Leaf, V>, Less>;
};

/// Calls with the path for those who want it.
template <class Function, class Leaf>
decltype(auto) call_with_path(Function& f, Leaf&& leaf, const structure_path& path) {
  if constexpr (std::is_invocable_v<Function&, Leaf, const structure_path&>) {
    return f(std::forward<Leaf>(leaf), path);
  } else {
    return f(std::forward<Leaf>(leaf));
  }
}

template <class Function, class Leaf>
using leaf_result_t = std::remove_cvref_t<decltype(call_with_path(std::declval<Function&>(), std::declval<Leaf>(),
                                                                  std::declval<const structure_path&>()))>;

template <class Function>
struct result_of_map {
  template <class Leaf>
  using type = leaf_result_t<Function, const Leaf&>;
};

template <class Function>
struct result_of_merge {
  template <class Leaf>
  using type = leaf_result_t<Function, std::span<const Leaf* const>>;
};

template <class Key>
structure_path path_of_key(const structure_path& parent, const Key& key, std::size_t position) {
  if constexpr (std::is_convertible_v<const Key&, std::string_view>) {
    return {parent, '"' + std::string{std::string_view{key}} + '"'};
  } else if constexpr (std::is_arithmetic_v<Key>) {
    return {parent, std::to_string(key)};
  } else {
    return {parent, "key " + std::to_string(position)};
  }
}

template <class T>
constexpr std::size_t part_count() {
  if constexpr (kind_of<T> == structure_kind::aggregate) {
    return boost::pfr::tuple_size_v<std::remove_cv_t<T>>;
  } else {
    return std::tuple_size_v<std::remove_cv_t<T>>;
  }
}

/// Part `Index` of a tuple, pair, array or struct.
template <std::size_t Index, class T>
auto& part_of(T& x) {
  if constexpr (kind_of<T> == structure_kind::aggregate) {
    return boost::pfr::get<Index>(x);
  } else {
    return std::get<Index>(x);
  }
}

/// Makes a Result from `make_part(std::integral_constant<std::size_t, I>{})` for each of its parts, in order.
template <class Result, class MakePart>
Result make_from_parts(MakePart make_part) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (kind_of<Result> == structure_kind::aggregate) {
      auto result = Result{};
      const auto set = [](auto& member, auto&& part) {
        static_assert(std::is_same_v<std::remove_cvref_t<decltype(member)>, std::remove_cvref_t<decltype(part)>>,
                      "this operation changes the type of a leaf, which a member of a struct cannot follow; use a "
                      "tuple, or a struct whose members have that type already (tensors in place of numbers)");
        member = std::forward<decltype(part)>(part);
      };
      (set(boost::pfr::get<I>(result), make_part(std::integral_constant<std::size_t, I>{})), ...);
      return result;
    } else {
      return Result{make_part(std::integral_constant<std::size_t, I>{})...};
    }
  }
  (std::make_index_sequence<part_count<Result>()>{});
}

template <class T, class Visit>
void walk(T& x, const structure_path& path, Visit& visit) {
  constexpr auto kind = kind_of<T>;
  if constexpr (kind == structure_kind::leaf) {
    call_with_path(visit, x, path);
  } else if constexpr (kind == structure_kind::vector) {
    for (std::size_t i = 0; i < x.size(); ++i) walk(x[i], {path, i}, visit);
  } else if constexpr (kind == structure_kind::map) {
    std::size_t position = 0;
    for (auto& [key, each] : x) walk(each, path_of_key(path, key, position++), visit);
  } else {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (walk(part_of<I>(x), {path, I}, visit), ...); }
    (std::make_index_sequence<part_count<T>()>{});
  }
}

template <class T, class Function>
mapped_structure_t<result_of_map<Function>, T> map_tree(const T& x, const structure_path& path, Function& f) {
  using result_type = mapped_structure_t<result_of_map<Function>, T>;
  constexpr auto kind = kind_of<T>;
  if constexpr (kind == structure_kind::leaf) {
    return call_with_path(f, x, path);
  } else if constexpr (kind == structure_kind::vector) {
    result_type result;
    result.reserve(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) result.push_back(map_tree(x[i], {path, i}, f));
    return result;
  } else if constexpr (kind == structure_kind::map) {
    result_type result;
    for (const auto& [key, each] : x)
      result.emplace_hint(result.end(), key, map_tree(each, path_of_key(path, key, result.size()), f));
    return result;
  } else {
    return make_from_parts<result_type>([&](auto i) {
      return map_tree(part_of<decltype(i)::value>(x), {path, decltype(i)::value}, f);
    });
  }
}

[[noreturn]] void throw_other_length(const structure_path& path, std::size_t index, std::size_t length,
                                     std::size_t expected);
[[noreturn]] void throw_other_keys(const structure_path& path, std::size_t index);

/// The part that `select(*x)` refers to, of each structure.
template <class T, class Select>
auto matching_parts(std::span<const T* const> xs, Select select) {
  std::vector<decltype(&select(*xs[0]))> parts;
  parts.reserve(xs.size());
  for (const auto* x : xs) parts.push_back(&select(*x));
  return parts;
}

template <class T>
void check_same_form(std::span<const T* const> xs, const structure_path& path) {
  const auto& first = *xs[0];
  for (std::size_t i = 1; i < xs.size(); ++i) {
    if (xs[i]->size() != first.size()) throw_other_length(path, i, xs[i]->size(), first.size());
    if constexpr (kind_of<T> == structure_kind::map) {
      const auto same_key = [less = first.key_comp()](const auto& a, const auto& b) {
        return !less(a.first, b.first) && !less(b.first, a.first);
      };
      if (!std::equal(xs[i]->begin(), xs[i]->end(), first.begin(), same_key)) throw_other_keys(path, i);
    }
  }
}

template <class T, class Function>
mapped_structure_t<result_of_merge<Function>, T> merge_trees(std::span<const T* const> xs, const structure_path& path,
                                                             Function& f) {
  using result_type = mapped_structure_t<result_of_merge<Function>, T>;
  constexpr auto kind = kind_of<T>;
  // Merges the part of each structure that `select` refers to.
  const auto merge_part = [&](auto select, const structure_path& part_path) {
    const auto parts = matching_parts<T>(xs, select);
    using part_type = std::remove_cvref_t<decltype(*parts[0])>;
    return merge_trees<part_type>(parts, part_path, f);
  };
  if constexpr (kind == structure_kind::leaf) {
    return call_with_path(f, xs, path);
  } else if constexpr (kind == structure_kind::vector) {
    check_same_form(xs, path);
    result_type result;
    result.reserve(xs[0]->size());
    for (std::size_t i = 0; i < xs[0]->size(); ++i) {
      result.push_back(merge_part([i](const T& x) -> auto& { return x[i]; }, {path, i}));
    }
    return result;
  } else if constexpr (kind == structure_kind::map) {
    check_same_form(xs, path);
    result_type result;
    for (const auto& entry : *xs[0]) {
      const auto& key = entry.first;
      auto merged = merge_part(
          [&key](const T& x) -> auto& { return x.find(key)->second; }, path_of_key(path, key, result.size()));
      result.emplace_hint(result.end(), key, std::move(merged));
    }
    return result;
  } else {
    return make_from_parts<result_type>([&](auto i) {
      constexpr auto index = decltype(i)::value;
      return merge_part([](const T& x) -> auto& { return part_of<index>(x); }, {path, index});
    });
  }
}

}  // namespace detail

/// Calls `visit(leaf)` or `visit(leaf, structure_path)` for each leaf; a leaf of a structure that is not const may be
/// changed.
template <class T, class Visit>
void for_each_leaf(T&& structure, Visit visit) {
  detail::walk(structure, structure_path{}, visit);
}

/// The same structure with `f(leaf)` or `f(leaf, structure_path)` in place of each leaf.
template <class T, class Function>
auto map_leaves(const T& structure, Function f) {
  return detail::map_tree(structure, structure_path{}, f);
}

/// Many structures of one type become one: `f(leaves)` or `f(leaves, structure_path)` gets the same leaf of each, as
/// std::span<const Leaf* const>, and its result takes the leaf's place. Throws invalid_argument_error if there is no
/// structure, or if vectors or maps at the same place differ in length or keys.
template <std::ranges::sized_range Structures, class Function>
auto merge_leaves(const Structures& structures, Function f) {
  using structure = std::ranges::range_value_t<Structures>;
  std::vector<const structure*> pointers;
  pointers.reserve(std::ranges::size(structures));
  for (const auto& each : structures) pointers.push_back(&each);
  if (pointers.empty()) throw invalid_argument_error{"there is no structure to merge; expected at least one"};
  return detail::merge_trees<structure>(pointers, structure_path{}, f);
}

}  // namespace troupe
