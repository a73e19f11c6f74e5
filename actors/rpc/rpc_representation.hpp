// How C++ types become data and back, and the text that names a type the same way in every program.
//
//   bool, integers, enums        a number                        "bool", "int32", "uint64"
//   float, double                a number                        "float32", "float64"
//   std::string                  a text                          "string"
//   tensor                       a tensor                        "tensor"
//   vector, array of numbers     a tensor of rank 1              "int32[]", "float32[3]"
//   vector, array, set of others a list                          "list<string>"
//   map with texts as keys       a record                        "map<string, float32>"
//   other maps                   a list of pairs                 "map<int32, string>"
//   pair, tuple                  a list                          "tuple<int32, string>"
//   optional                     the object or nothing           "optional<int32>"
//   struct without functions     a list of its members           "{int32, string}"
//   rpc::datum                   itself                          "any"
//
// A struct is known by its members, not by its name, since another program may call it otherwise. One whose meaning
// changes while its members stay gets a version: `static constexpr int rpc_version = 2;` makes it "{int32, string}@2".
// A class of another kind may specialise `representation` itself.
//
// Texts are compared whole: a client that expects another signature learns so before its first call.
#pragma once

#include <troupe/actors/rpc/rpc_datum.hpp>
#include <troupe/actors/values/codec.hpp>

#include <boost/pfr/core.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace troupe::rpc {

/// Writes the text of a type. Types that contain themselves are written once; inside they are "^1" for the type around
/// them, "^2" for the one around that.
class type_writer {
 public:
  template <class T>
  void write();
  void write_text(std::string_view text) { text_ += text; }
  template <class... Parts>
  void write_parts(std::string_view before, std::string_view after);
  std::string take() { return std::move(text_); }

 private:
  bool write_if_open(std::type_index type);

  std::string text_;
  std::vector<std::type_index> open_;
};

/// "int32", "list<string>", ...; "nothing" for void.
template <class T>
std::string type_text() {
  type_writer writer;
  writer.write<T>();
  return writer.take();
}

namespace detail {

/// Numbers as data hold them.
template <class T>
concept integer = std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8;
template <class T>
concept floating = std::same_as<T, float> || std::same_as<T, double>;

/// The number, whatever kind it has in the datum. @throws invalid_argument_error when T can't hold it
template <integer T>
T integer_of(const datum& data);
template <floating T>
T floating_of(const datum& data);

bool boolean_of(const datum& data);
/// A list with exactly this many elements. @throws invalid_argument_error
const datum::list& list_of(const datum& data, std::string_view expected, std::size_t count);
const datum::list& list_of(const datum& data, std::string_view expected);
[[noreturn]] void throw_out_of_range(std::string_view type, const datum& data);
/// A tensor of rank 1 and this type. @throws invalid_argument_error
const tensor& row_of(const datum& data, dtype type);
[[noreturn]] void throw_wrong_count(std::string_view expected, std::size_t count, std::size_t found);

template <class T>
std::string number_name() {
  return std::string{std::unsigned_integral<T> ? "uint" : "int"} + std::to_string(8 * sizeof(T));
}

/// What a tensor of rank 1 holds without conversion.
template <class T>
concept packed_element = tensor_element<T> &&(integer<T> || floating<T> || std::same_as<T, bool>);

template <class T>
concept class_of_parts = (!std::is_void_v<typename troupe::detail::parts_of<T>::type>);

/// A plain struct whose members Boost.PFR can enumerate.
template <class T>
constexpr bool is_plain_struct() {
  if constexpr (!std::is_class_v<T> || class_of_parts<T> || std::same_as<T, std::string> || std::same_as<T, tensor> ||
                std::same_as<T, datum>) {
    return false;
  } else {
    return troupe::detail::has_enumerable_members<T>();
  }
}

template <class T>
datum pack(const T& object) {
  return representation<T>::pack(object);
}

template <class T>
constexpr int version_of = [] {
  if constexpr (requires {
                  { T::rpc_version } -> std::convertible_to<int>;
                })
    return T::rpc_version;
  else
    return 0;
}();

}  // namespace detail

// --- numbers, texts, tensors -----------------------------------------------------------------------------------------

template <>
struct representation<datum> {
  static void write_type(type_writer& writer) { writer.write_text("any"); }
  static datum pack(const datum& object) { return object; }
  static datum unpack(const datum& data) { return data; }
};

template <>
struct representation<bool> {
  static void write_type(type_writer& writer) { writer.write_text("bool"); }
  static datum pack(bool object);
  static bool unpack(const datum& data) { return detail::boolean_of(data); }
};

template <detail::integer T>
struct representation<T> {
  static void write_type(type_writer& writer) { writer.write_text(detail::number_name<T>()); }
  static datum pack(T object) {
    if constexpr (std::unsigned_integral<T>)
      return datum::of(static_cast<std::uint64_t>(object));
    else
      return datum::of(static_cast<std::int64_t>(object));
  }
  static T unpack(const datum& data) { return detail::integer_of<T>(data); }
};

template <detail::floating T>
struct representation<T> {
  static void write_type(type_writer& writer) { writer.write_text(std::same_as<T, float> ? "float32" : "float64"); }
  static datum pack(T object) { return datum::of(object); }
  static T unpack(const datum& data) { return detail::floating_of<T>(data); }
};

template <class T>
requires std::is_enum_v<T>
struct representation<T> {
  using number = std::underlying_type_t<T>;
  static void write_type(type_writer& writer) { writer.write<number>(); }
  static datum pack(T object) { return representation<number>::pack(static_cast<number>(object)); }
  static T unpack(const datum& data) { return static_cast<T>(representation<number>::unpack(data)); }
};

template <>
struct representation<std::string> {
  static void write_type(type_writer& writer) { writer.write_text("string"); }
  static datum pack(std::string object);
  static std::string unpack(const datum& data);
};

template <>
struct representation<tensor> {
  static void write_type(type_writer& writer) { writer.write_text("tensor"); }
  static datum pack(tensor object);
  /// A number stands for a tensor of rank 0, of its own type: int64 (uint64 if it is not to be held by that), float32,
  /// float64, boolean.
  static tensor unpack(const datum& data);
};

// --- containers ------------------------------------------------------------------------------------------------------

template <class T, class Allocator>
requires(detail::packed_element<T> || representable<T>) struct representation<std::vector<T, Allocator>> {
  static void write_type(type_writer& writer) {
    if constexpr (detail::packed_element<T>) {
      writer.write<T>();
      writer.write_text("[]");
    } else {
      writer.write_parts<T>("list<", ">");
    }
  }
  static datum pack(const std::vector<T, Allocator>& object) {
    if constexpr (detail::packed_element<T>) {
      auto row = tensor::uninitialised(dtype_of<T>, shape{static_cast<std::int64_t>(object.size())});
      std::copy(object.begin(), object.end(), row.template mutable_values<T>().begin());
      return datum::of(std::move(row));
    } else {
      datum::list parts;
      parts.reserve(object.size());
      for (const auto& part : object) parts.push_back(detail::pack<T>(part));
      return datum::of(std::move(parts));
    }
  }
  static std::vector<T, Allocator> unpack(const datum& data) {
    std::vector<T, Allocator> object;
    if constexpr (detail::packed_element<T>) {
      if (data.get_if<tensor>() != nullptr) {
        const auto values = detail::row_of(data, dtype_of<T>).template values<T>();
        object.assign(values.begin(), values.end());
        return object;
      }
    }
    const auto& parts = detail::list_of(data, type_text<std::vector<T, Allocator>>());
    object.reserve(parts.size());
    for (const auto& part : parts) object.push_back(part.template as<T>());
    return object;
  }
};

template <class T, std::size_t Size>
requires(detail::packed_element<T> || representable<T>) struct representation<std::array<T, Size>> {
  static void write_type(type_writer& writer) {
    if constexpr (detail::packed_element<T>) {
      writer.write<T>();
      writer.write_text("[" + std::to_string(Size) + "]");
    } else {
      writer.write_parts<T>("list<", ", " + std::to_string(Size) + ">");
    }
  }
  static datum pack(const std::array<T, Size>& object) {
    return representation<std::vector<T>>::pack({object.begin(), object.end()});
  }
  static std::array<T, Size> unpack(const datum& data) {
    auto parts = representation<std::vector<T>>::unpack(data);
    if (parts.size() != Size) detail::throw_wrong_count(type_text<std::array<T, Size>>(), Size, parts.size());
    std::array<T, Size> object{};
    std::move(parts.begin(), parts.end(), object.begin());
    return object;
  }
};

namespace detail {

/// Sets and maps: what they hold, one after the other.
template <class Container, class Element>
struct elements_representation {
  static datum pack(const Container& object) {
    datum::list parts;
    parts.reserve(object.size());
    for (const auto& part : object) parts.push_back(rpc::detail::pack<Element>(part));
    return datum::of(std::move(parts));
  }
  static Container unpack(const datum& data) {
    Container object;
    for (const auto& part : list_of(data, type_text<Container>())) object.insert(part.template as<Element>());
    return object;
  }
};

template <class Container, class T>
struct set_representation : elements_representation<Container, T> {
  static void write_type(type_writer& writer) { writer.write_parts<T>("set<", ">"); }
};

template <class Container, class K, class V>
struct map_representation {
  static void write_type(type_writer& writer) { writer.write_parts<K, V>("map<", ">"); }
  static datum pack(const Container& object) {
    if constexpr (std::same_as<K, std::string>) {
      datum::record fields;
      fields.reserve(object.size());
      for (const auto& [name, content] : object) fields.push_back({name, rpc::detail::pack<V>(content)});
      return datum::of(std::move(fields));
    } else {
      return elements_representation<Container, std::pair<K, V>>::pack(object);
    }
  }
  static Container unpack(const datum& data) {
    if constexpr (std::same_as<K, std::string>) {
      const auto* const fields = data.get_if<datum::record>();
      if (fields == nullptr) throw_not_representable(type_text<Container>(), data);
      Container object;
      for (const auto& part : *fields) object.emplace(part.name, part.content.template as<V>());
      return object;
    } else {
      return elements_representation<Container, std::pair<K, V>>::unpack(data);
    }
  }
};

template <class Object, class... Parts>
struct product_representation {
  static void write_type(type_writer& writer) { writer.write_parts<Parts...>("tuple<", ">"); }
  static datum pack(const Object& object) {
    return std::apply([](const Parts&... parts) { return datum::of(datum::list{rpc::detail::pack<Parts>(parts)...}); },
                      object);
  }
  static Object unpack(const datum& data) {
    const auto& parts = list_of(data, type_text<Object>(), sizeof...(Parts));
    return unpack(parts, std::index_sequence_for<Parts...>{});
  }

 private:
  template <std::size_t... I>
  static Object unpack(const datum::list& parts, std::index_sequence<I...>) {
    return Object{parts[I].template as<Parts>()...};
  }
};

}  // namespace detail

template <representable K, class... Rest>
struct representation<std::set<K, Rest...>> : detail::set_representation<std::set<K, Rest...>, K> {};
template <representable K, class... Rest>
struct representation<std::unordered_set<K, Rest...>> : detail::set_representation<std::unordered_set<K, Rest...>, K> {
};
template <representable K, representable V, class... Rest>
struct representation<std::map<K, V, Rest...>> : detail::map_representation<std::map<K, V, Rest...>, K, V> {};
template <representable K, representable V, class... Rest>
struct representation<std::unordered_map<K, V, Rest...>>
    : detail::map_representation<std::unordered_map<K, V, Rest...>, K, V> {};
template <representable A, representable B>
struct representation<std::pair<A, B>> : detail::product_representation<std::pair<A, B>, A, B> {};
template <representable... Ts>
struct representation<std::tuple<Ts...>> : detail::product_representation<std::tuple<Ts...>, Ts...> {};

/// An optional of an optional would lose the difference between its two kinds of nothing.
template <representable T>
struct representation<std::optional<T>> {
  static_assert(
      !requires {
        typename T::value_type;
        requires std::same_as<T, std::optional<typename T::value_type>>;
      },
      "an optional of an optional can't travel between programs");
  static void write_type(type_writer& writer) { writer.write_parts<T>("optional<", ">"); }
  static datum pack(const std::optional<T>& object) { return object ? detail::pack<T>(*object) : datum{}; }
  static std::optional<T> unpack(const datum& data) {
    if (data.empty()) return {};
    return data.template as<T>();
  }
};

// --- structs ---------------------------------------------------------------------------------------------------------

template <class T>
requires(detail::is_plain_struct<T>()) struct representation<T> {
  static void write_type(type_writer& writer) {
    write_members(writer, members{});
    if constexpr (detail::version_of<T> != 0) writer.write_text("@" + std::to_string(detail::version_of<T>));
  }
  static datum pack(const T& object) {
    datum::list parts;
    parts.reserve(boost::pfr::tuple_size_v<T>);
    boost::pfr::for_each_field(object, [&](const auto& member) {
      parts.push_back(detail::pack<std::remove_cvref_t<decltype(member)>>(member));
    });
    return datum::of(std::move(parts));
  }
  static T unpack(const datum& data) {
    const auto& parts = detail::list_of(data, type_text<T>(), boost::pfr::tuple_size_v<T>);
    T object{};
    std::size_t position = 0;
    boost::pfr::for_each_field(
        object, [&](auto& member) { member = parts[position++].template as<std::remove_cvref_t<decltype(member)>>(); });
    return object;
  }

 private:
  using members = std::make_index_sequence<boost::pfr::tuple_size_v<T>>;
  template <std::size_t... I>
  static void write_members(type_writer& writer, std::index_sequence<I...>) {
    static_assert((representable<std::remove_cvref_t<decltype(boost::pfr::get<I>(std::declval<T&>()))>> && ...),
                  "a member of this struct can't travel between programs");
    writer.write_parts<std::remove_cvref_t<decltype(boost::pfr::get<I>(std::declval<T&>()))>...>("{", "}");
  }
};

// --- the text of a type ----------------------------------------------------------------------------------------------

template <class T>
void type_writer::write() {
  if constexpr (std::is_void_v<T>) {
    write_text("nothing");
  } else if constexpr (detail::is_plain_struct<T>()) {
    if (write_if_open(typeid(T))) return;
    open_.emplace_back(typeid(T));
    representation<T>::write_type(*this);
    open_.pop_back();
  } else {
    representation<T>::write_type(*this);
  }
}

template <class... Parts>
void type_writer::write_parts(std::string_view before, std::string_view after) {
  write_text(before);
  [[maybe_unused]] std::string_view comma;
  ((write_text(std::exchange(comma, ", ")), write<Parts>()), ...);
  write_text(after);
}

// --- numbers ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Calls `f` with the number that the datum holds, a tensor of rank 0 included; false if it holds none.
template <class F>
bool visit_number(const datum& data, F f) {
  if (const auto* const number = data.get_if<std::int64_t>()) return f(*number), true;
  if (const auto* const number = data.get_if<std::uint64_t>()) return f(*number), true;
  if (const auto* const number = data.get_if<float>()) return f(*number), true;
  if (const auto* const number = data.get_if<double>()) return f(*number), true;
  const auto* const scalar = data.get_if<tensor>();
  if (scalar == nullptr || scalar->rank() != 0) return false;
  return visit_dtype(scalar->get_dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (packed_element<T> && !std::same_as<T, bool>) {
      f(scalar->template item<T>());
      return true;
    } else {
      return false;
    }
  });
}

template <integer T>
T integer_of(const datum& data) {
  std::optional<T> found;
  const auto is_number = visit_number(data, [&](auto number) {
    if constexpr (std::integral<decltype(number)>)
      if (std::in_range<T>(number)) found = static_cast<T>(number);
  });
  if (!found && is_number) throw_out_of_range(number_name<T>(), data);
  if (!found) throw_not_representable(number_name<T>(), data);
  return *found;
}

template <floating T>
T floating_of(const datum& data) {
  std::optional<T> found;
  const auto is_number = visit_number(data, [&](auto number) {
    if constexpr (std::floating_point<decltype(number)>) {
      // A rounded double is meant; one beyond float's range is not.
      const auto rounded = static_cast<T>(number);
      if (std::isinf(rounded) == std::isinf(number)) found = rounded;
    } else {
      // An integer that the type holds exactly: no more bits than its mantissa.
      constexpr auto exact = std::int64_t{1} << std::numeric_limits<T>::digits;
      if (std::cmp_less_equal(number, exact) && std::cmp_greater_equal(number, -exact)) found = static_cast<T>(number);
    }
  });
  if (!found && is_number) throw_out_of_range(type_text<T>(), data);
  if (!found) throw_not_representable(type_text<T>(), data);
  return *found;
}

}  // namespace detail

}  // namespace troupe::rpc
