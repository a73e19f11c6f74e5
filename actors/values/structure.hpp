// The one walk over nested structures: whatever looks for tensors, remote values or variables in what users pass, or
// puts something else in their place, does it here.
//
// A structure is a tree whose nodes are std::tuple, std::pair, std::array, std::vector, std::map, std::unordered_map
// and plain structs (aggregates without base classes or C arrays, whose members Boost.PFR finds), in any nesting.
// Everything else is a leaf: tensors, sparse values (indexed_slices), numbers, strings, and what has no elements that
// one could refer to or replace, or whose form is a value itself: std::vector<bool>, sets, optionals, variants.
//
// Three walks are enough: visit the leaves, turn each leaf into something else, and turn the same leaf of many
// structures into one. All of them go depth first in order of declaration; maps, unordered ones too, in order of their
// keys, so that all processes meet the leaves in one order.
//
// Members of a plain struct have fixed types. Walks that give leaves another type for good (regroup, resolve) take
// structs whole (`whole_structs`); in others a struct whose members would change is refused at compile time.
#pragma once

#include <troupe/actors/values/internal/reflection.hpp>
#include <troupe/device/base/error.hpp>

#include <boost/pfr/core.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

struct indexed_slices;

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

// --- what a type is -------------------------------------------------------------------------------------------------

enum class structure_kind { leaf, product, array, vector, map, unordered_map, aggregate };

/// Containers of the standard library; structs are found out by structure_kind_of.
template <class T>
struct container_kind {
  static constexpr structure_kind value = structure_kind::leaf;
};
template <class... Ts>
struct container_kind<std::tuple<Ts...>> {
  static constexpr structure_kind value = structure_kind::product;
};
template <class A, class B>
struct container_kind<std::pair<A, B>> {
  static constexpr structure_kind value = structure_kind::product;
};
template <class T, std::size_t Size>
struct container_kind<std::array<T, Size>> {
  static constexpr structure_kind value = structure_kind::array;
};
template <class T, class Allocator>
struct container_kind<std::vector<T, Allocator>> {
  static constexpr structure_kind value = std::is_same_v<T, bool> ? structure_kind::leaf : structure_kind::vector;
};
template <class K, class V, class... Rest>
struct container_kind<std::map<K, V, Rest...>> {
  static constexpr structure_kind value = structure_kind::map;
};
template <class K, class V, class... Rest>
struct container_kind<std::unordered_map<K, V, Rest...>> {
  static constexpr structure_kind value = structure_kind::unordered_map;
};

// Where a walk stops although it could go on.

struct nowhere {
  template <class T>
  static constexpr bool stops_at = false;
};

/// Opens containers only: does not even ask what a class consists of.
struct whole_structs {
  template <class T>
  static constexpr bool stops_at = container_kind<T>::value == structure_kind::leaf;
};

struct whole_lists {
  template <class T>
  static constexpr bool stops_at = container_kind<T>::value == structure_kind::vector;
};

template <class T, class Stop>
constexpr structure_kind structure_kind_of() {
  if constexpr (Stop::template stops_at<T> || std::is_same_v<T, indexed_slices>) {
    return structure_kind::leaf;
  } else if constexpr (container_kind<T>::value != structure_kind::leaf) {
    return container_kind<T>::value;
  } else {
    return has_enumerable_members<T>() ? structure_kind::aggregate : structure_kind::leaf;
  }
}

template <class T, class Stop = nowhere>
inline constexpr structure_kind kind_of = structure_kind_of<std::remove_cv_t<T>, Stop>();

// --- what a type becomes --------------------------------------------------------------------------------------------

/// What a structure becomes when `Leaf::type<L>` takes the place of each leaf L. A struct stays what it is.
template <class Leaf, class Stop, class T, structure_kind Kind = kind_of<T, Stop>>
struct mapped_structure {
  using type = T;
};
template <class Leaf, class Stop, class T>
using mapped_structure_t = typename mapped_structure<Leaf, Stop, T>::type;
template <class Leaf, class Stop, class T>
struct mapped_structure<Leaf, Stop, T, structure_kind::leaf> {
  using type = typename Leaf::template type<T>;
};
template <class Leaf, class Stop, class... Ts>
struct mapped_structure<Leaf, Stop, std::tuple<Ts...>, structure_kind::product> {
  using type = std::tuple<mapped_structure_t<Leaf, Stop, Ts>...>;
};
template <class Leaf, class Stop, class A, class B>
struct mapped_structure<Leaf, Stop, std::pair<A, B>, structure_kind::product> {
  using type = std::pair<mapped_structure_t<Leaf, Stop, A>, mapped_structure_t<Leaf, Stop, B>>;
};
template <class Leaf, class Stop, class T, std::size_t Size>
struct mapped_structure<Leaf, Stop, std::array<T, Size>, structure_kind::array> {
  using type = std::array<mapped_structure_t<Leaf, Stop, T>, Size>;
};
/// An allocator is of use for the old elements only.
template <class Leaf, class Stop, class T, class Allocator>
struct mapped_structure<Leaf, Stop, std::vector<T, Allocator>, structure_kind::vector> {
  using element = mapped_structure_t<Leaf, Stop, T>;
  using type = std::conditional_t<std::is_same_v<element, T>, std::vector<T, Allocator>, std::vector<element>>;
};
template <class Leaf, class Stop, class K, class V, class Less, class Allocator>
struct mapped_structure<Leaf, Stop, std::map<K, V, Less, Allocator>, structure_kind::map> {
  using mapped = mapped_structure_t<Leaf, Stop, V>;
  using type =
      std::conditional_t<std::is_same_v<mapped, V>, std::map<K, V, Less, Allocator>, std::map<K, mapped, Less>>;
};
template <class Leaf, class Stop, class K, class V, class Hash, class Equal, class Allocator>
struct mapped_structure<Leaf, Stop, std::unordered_map<K, V, Hash, Equal, Allocator>, structure_kind::unordered_map> {
  using mapped = mapped_structure_t<Leaf, Stop, V>;
  using type = std::conditional_t<std::is_same_v<mapped, V>, std::unordered_map<K, V, Hash, Equal, Allocator>,
                                  std::unordered_map<K, mapped, Hash, Equal>>;
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

/// What call_with_path returns, without a look at what the function does: leaves may be of types that it can't copy.
template <class Function, class Leaf>
struct leaf_result : std::invoke_result<Function&, Leaf> {};
template <class Function, class Leaf>
requires std::is_invocable_v<Function&, Leaf, const structure_path&>
struct leaf_result<Function, Leaf> : std::invoke_result<Function&, Leaf, const structure_path&> {
};

template <class Function, class Leaf>
using leaf_result_t = std::remove_cvref_t<typename leaf_result<Function, Leaf>::type>;

template <class Function>
struct result_of_map {
  template <class Leaf>
  using type = leaf_result_t<Function, const Leaf&>;
};

/// `Const` tells whether the merged structures may be changed.
template <class Function, bool Const>
struct result_of_merge {
  template <class Leaf>
  using type = leaf_result_t<Function, std::span<std::conditional_t<Const, const Leaf, Leaf>* const>>;
};

template <class Function, class Stop, class T>
using merged_structure_t =
    mapped_structure_t<result_of_merge<Function, std::is_const_v<T>>, Stop, std::remove_const_t<T>>;

// --- the parts of a node --------------------------------------------------------------------------------------------

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

/// The entries of a map in order of their keys, as pointers.
template <class T>
auto entries_in_order(T& map) {
  std::vector<decltype(&*map.begin())> entries;
  entries.reserve(map.size());
  for (auto& entry : map) entries.push_back(&entry);
  if constexpr (kind_of<T> == structure_kind::unordered_map) {
    static_assert(
        requires(const typename T::key_type& key) { key < key; },
        "the keys of an unordered map must be comparable with <, since all processes walk it in their order");
    std::sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  }
  return entries;
}

/// A map without entries that compares keys as `like` does.
template <class Result, class Map>
Result empty_map(const Map& like) {
  if constexpr (kind_of<Map> == structure_kind::map) {
    return Result(like.key_comp());
  } else {
    return Result(like.size(), like.hash_function(), like.key_eq());
  }
}

/// Makes a Result from `make_part(std::integral_constant<std::size_t, I>{})` for each of its parts, in order.
template <class Result, class MakePart>
Result make_from_parts(MakePart make_part) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (kind_of<Result> == structure_kind::aggregate) {
      auto result = Result{};
      const auto set = []<class Member, class Part>(Member& member, Part&& part) {
        if constexpr (std::is_same_v<Member, std::remove_cvref_t<Part>>) {
          member = std::forward<Part>(part);
        } else {
          static_assert(std::is_same_v<Member, std::remove_cvref_t<Part>>,
                        "this operation changes the type of a leaf, which a member of a struct cannot follow; use a "
                        "tuple, or a struct whose members have that type already (tensors in place of numbers)");
        }
      };
      (set(boost::pfr::get<I>(result), make_part(std::integral_constant<std::size_t, I>{})), ...);
      return result;
    } else {
      return Result{make_part(std::integral_constant<std::size_t, I>{})...};
    }
  }
  (std::make_index_sequence<part_count<Result>()>{});
}

// --- the walks ------------------------------------------------------------------------------------------------------

template <class Stop, class T, class Visit>
void walk(T& x, const structure_path& path, Visit& visit) {
  constexpr auto kind = kind_of<T, Stop>;
  if constexpr (kind == structure_kind::leaf) {
    call_with_path(visit, x, path);
  } else if constexpr (kind == structure_kind::vector) {
    for (std::size_t i = 0; i < x.size(); ++i) walk<Stop>(x[i], {path, i}, visit);
  } else if constexpr (kind == structure_kind::map || kind == structure_kind::unordered_map) {
    std::size_t position = 0;
    for (auto* entry : entries_in_order(x))
      walk<Stop>(entry->second, path_of_key(path, entry->first, position++), visit);
  } else {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (walk<Stop>(part_of<I>(x), {path, I}, visit), ...); }
    (std::make_index_sequence<part_count<T>()>{});
  }
}

template <class Stop, class T, class Function>
mapped_structure_t<result_of_map<Function>, Stop, T> map_tree(const T& x, const structure_path& path, Function& f) {
  using result_type = mapped_structure_t<result_of_map<Function>, Stop, T>;
  constexpr auto kind = kind_of<T, Stop>;
  if constexpr (kind == structure_kind::leaf) {
    return call_with_path(f, x, path);
  } else if constexpr (kind == structure_kind::vector) {
    result_type result;
    result.reserve(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) result.push_back(map_tree<Stop>(x[i], {path, i}, f));
    return result;
  } else if constexpr (kind == structure_kind::map || kind == structure_kind::unordered_map) {
    auto result = empty_map<result_type>(x);
    for (const auto* entry : entries_in_order(x)) {
      const auto& key = entry->first;
      result.emplace_hint(result.end(), key, map_tree<Stop>(entry->second, path_of_key(path, key, result.size()), f));
    }
    return result;
  } else {
    return make_from_parts<result_type>([&](auto i) {
      return map_tree<Stop>(part_of<decltype(i)::value>(x), {path, decltype(i)::value}, f);
    });
  }
}

/// How many structures are merged, and what they are called in messages.
struct merge_place {
  const structure_path& path;
  std::string_view whose;
};

[[noreturn]] void throw_other_length(const merge_place& place, std::size_t index, std::size_t length,
                                     std::size_t expected);
[[noreturn]] void throw_other_keys(const merge_place& place, std::size_t index);

/// The part that `select(*x)` refers to, of each structure.
template <class T, class Select>
auto matching_parts(std::span<T* const> xs, Select select) {
  std::vector<decltype(&select(*xs[0]))> parts;
  parts.reserve(xs.size());
  for (auto* x : xs) parts.push_back(&select(*x));
  return parts;
}

template <class T>
void check_same_length(std::span<T* const> xs, const merge_place& place) {
  for (std::size_t i = 1; i < xs.size(); ++i)
    if (xs[i]->size() != xs[0]->size()) throw_other_length(place, i, xs[i]->size(), xs[0]->size());
}

template <class T>
void check_same_keys(std::span<T* const> xs, const merge_place& place) {
  const auto& first = *xs[0];
  for (std::size_t i = 1; i < xs.size(); ++i) {
    const auto in_other = [&](const auto& entry) { return xs[i]->find(entry.first) != xs[i]->end(); };
    if (xs[i]->size() != first.size() || !std::all_of(first.begin(), first.end(), in_other)) throw_other_keys(place, i);
  }
}

template <class Stop, class T, class Function>
merged_structure_t<Function, Stop, T> merge_trees(std::span<T* const> xs, const merge_place& place, Function& f) {
  using result_type = merged_structure_t<Function, Stop, T>;
  constexpr auto kind = kind_of<T, Stop>;
  // Merges the part of each structure that `select` refers to.
  const auto merge_part = [&](auto select, const structure_path& part_path) {
    const auto parts = matching_parts<T>(xs, select);
    using part_type = std::remove_pointer_t<typename decltype(parts)::value_type>;
    return merge_trees<Stop, part_type>(parts, {part_path, place.whose}, f);
  };
  if constexpr (kind == structure_kind::leaf) {
    return call_with_path(f, xs, place.path);
  } else if constexpr (kind == structure_kind::vector) {
    check_same_length(xs, place);
    result_type result;
    result.reserve(xs[0]->size());
    for (std::size_t i = 0; i < xs[0]->size(); ++i)
      result.push_back(merge_part([i](T & x) -> auto& { return x[i]; }, {place.path, i}));
    return result;
  } else if constexpr (kind == structure_kind::map || kind == structure_kind::unordered_map) {
    check_same_keys(xs, place);
    auto result = empty_map<result_type>(*xs[0]);
    for (const auto* entry : entries_in_order(*xs[0])) {
      const auto& key = entry->first;
      auto merged = merge_part(
          [&key](T & x) -> auto& { return x.find(key)->second; }, path_of_key(place.path, key, result.size()));
      result.emplace_hint(result.end(), key, std::move(merged));
    }
    return result;
  } else {
    return make_from_parts<result_type>([&](auto i) {
      constexpr auto index = decltype(i)::value;
      return merge_part([](T & x) -> auto& { return part_of<index>(x); }, {place.path, index});
    });
  }
}

// --- questions about types ------------------------------------------------------------------------------------------

template <class... Ts>
struct types {};

template <class T, std::size_t... I>
types<std::remove_cv_t<boost::pfr::tuple_element_t<I, T>>...> member_types(std::index_sequence<I...>);

/// The types of the parts of a node. Keys of maps are none.
template <class T, structure_kind Kind>
struct part_types {
  using type = decltype(member_types<T>(std::make_index_sequence<boost::pfr::tuple_size_v<T>>{}));
};
template <class... Ts>
struct part_types<std::tuple<Ts...>, structure_kind::product> : std::type_identity<types<Ts...>> {};
template <class A, class B>
struct part_types<std::pair<A, B>, structure_kind::product> : std::type_identity<types<A, B>> {};
template <class T>
struct part_types<T, structure_kind::array> : std::type_identity<types<typename T::value_type>> {};
template <class T>
struct part_types<T, structure_kind::vector> : std::type_identity<types<typename T::value_type>> {};
template <class T>
struct part_types<T, structure_kind::map> : std::type_identity<types<typename T::mapped_type>> {};
template <class T>
struct part_types<T, structure_kind::unordered_map> : std::type_identity<types<typename T::mapped_type>> {};

constexpr std::type_identity<void> first_of() { return {}; }

/// The first type that is not void.
template <class T, class... Rest>
constexpr auto first_of(std::type_identity<T> first, Rest... rest) {
  if constexpr (std::is_void_v<T>) {
    return first_of(rest...);
  } else {
    return first;
  }
}

template <template <class> class Predicate, class Stop, class T, class... Open>
constexpr auto failing_leaf();

template <template <class> class Predicate, class Stop, class... Open, class... Parts>
constexpr auto failing_leaf_of(types<Parts...>) {
  return first_of(failing_leaf<Predicate, Stop, Parts, Open...>()...);
}

/// `Open` are the nodes around T: a type that contains itself has the leaves that the rest of it has.
template <template <class> class Predicate, class Stop, class T, class... Open>
constexpr auto failing_leaf() {
  constexpr auto kind = kind_of<T, Stop>;
  if constexpr ((std::is_same_v<T, Open> || ...)) {
    return std::type_identity<void>{};
  } else if constexpr (kind == structure_kind::leaf) {
    return std::type_identity<std::conditional_t<Predicate<T>::value, void, T>>{};
  } else {
    return failing_leaf_of<Predicate, Stop, T, Open...>(typename part_types<T, kind>::type{});
  }
}

}  // namespace detail

/// The first type of leaf in T for which not `Predicate<Leaf>::value`; void if there is none.
template <class T, template <class> class Predicate, class Stop = detail::nowhere>
using failing_leaf_t = typename decltype(detail::failing_leaf<Predicate, Stop, T>())::type;

/// True when `Predicate<Leaf>::value` holds for each type of leaf of T.
template <class T, template <class> class Predicate, class Stop = detail::nowhere>
inline constexpr bool all_leaves_are = std::is_void_v<failing_leaf_t<T, Predicate, Stop>>;

/// Calls `visit(leaf)` or `visit(leaf, structure_path)` for each leaf; a leaf of a structure that is not const may be
/// changed.
template <class Stop = detail::nowhere, class T, class Visit>
void for_each_leaf(T&& structure, Visit visit) {
  detail::walk<Stop>(structure, structure_path{}, visit);
}

/// The same structure with `f(leaf)` or `f(leaf, structure_path)` in place of each leaf.
template <class Stop = detail::nowhere, class T, class Function>
auto map_leaves(const T& structure, Function f) {
  return detail::map_tree<Stop>(structure, structure_path{}, f);
}

/// Many structures of one type become one: `f(leaves)` or `f(leaves, structure_path)` gets the same leaf of each, as
/// std::span<Leaf* const>, of const leaves where T is const, and its result takes the leaf's place. `whose` says in
/// messages what the structures are. Throws invalid_argument_error if there is no structure, or if vectors or maps at
/// the same place differ in length or keys.
template <class Stop = detail::nowhere, class T, class Function>
auto merge_leaves(std::span<T* const> structures, Function f, std::string_view whose = "structure") {
  if (structures.empty()) throw invalid_argument_error{"there is no structure to merge; expected at least one"};
  return detail::merge_trees<Stop, T>(structures, {structure_path{}, whose}, f);
}

/// The same for a range of structures, whose leaves are const.
template <class Stop = detail::nowhere, class Structures, class Function>
requires requires { typename Structures::value_type; }
auto merge_leaves(const Structures& structures, Function f, std::string_view whose = "structure") {
  std::vector<const typename Structures::value_type*> pointers;
  pointers.reserve(structures.size());
  for (const auto& each : structures) pointers.push_back(&each);
  return merge_leaves<Stop>(std::span{std::as_const(pointers)}, std::move(f), whose);
}

}  // namespace troupe
