// An application's own exceptions, which arrive as themselves.
//
//   class no_such_row : public std::exception { ... template <class Archive> void serialize(Archive& a) { a(row_); } };
//   TROUPE_EXCEPTION(no_such_row)                          // what the codec can encode (codec.hpp)
//
//   struct quota_used_up : std::runtime_error { using runtime_error::runtime_error; };
//   TROUPE_EXCEPTION(quota_used_up)                        // what is made from its text and is no more than that
//
//   class refused : public std::runtime_error { ... refused(const std::string& text, int code); int code() const; };
//   TROUPE_EXCEPTION(refused, &refused::what, &refused::code)  // what its constructor takes, and where it comes from
//
// That is all, beside the class and in its namespace, in a header or a source file that every process has: what a
// closure, a method of a server, a replica's function or an actor of the application's throws is thrown again by
// `fetch`, `get`, `join`, `ask` and the others, with its content, wherever it was thrown. `catch (const refused&)`
// finds it; what is caught is of a class that derives from it (unless it is final), so that
// `status_of(std::current_exception())` says where it was thrown. Exceptions that are not registered, or not in that
// process, arrive as `unknown_error`, whose message says the type's name and its text.
//
// Over gRPC, whose other end need not be troupe, and to Python, go the code and that message. Limits:
// `exception_bytes_max` (device/base/exception_types.hpp).
#pragma once

#include <troupe/actors/values/codec.hpp>
#include <troupe/device/base/exception_types.hpp>

#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace troupe {

namespace detail {

std::string exception_content(const encoded& content);
/// Of what failed inside a catch block.
status exception_problem();

/// A class that holds a text and nothing else.
template <class T>
constexpr bool is_its_text() {
  if constexpr (!std::is_base_of_v<std::exception, T> || !std::is_constructible_v<T, std::string>) {
    return false;
  } else if constexpr (std::is_base_of_v<error, T>) {
    return false;  // its causes
  } else if constexpr (std::is_base_of_v<std::runtime_error, T>) {
    return sizeof(T) == sizeof(std::runtime_error);
  } else if constexpr (std::is_base_of_v<std::logic_error, T>) {
    return sizeof(T) == sizeof(std::logic_error);
  } else {
    return sizeof(T) <= sizeof(std::exception) + sizeof(std::string);
  }
}

/// A class that holds nothing.
template <class T>
inline constexpr bool is_without_content = std::is_base_of_v<std::exception, T> &&
                                           sizeof(T) == sizeof(std::exception) && std::is_default_constructible_v<T>;

template <auto Part, class T>
using exception_part =
    std::conditional_t<std::is_same_v<std::decay_t<std::invoke_result_t<decltype(Part), const T&>>, const char*>,
                       std::string, std::decay_t<std::invoke_result_t<decltype(Part), const T&>>>;

/// What of an exception travels, and how it is made of that.
template <class T, auto... Parts>
struct exception_codec {
  using content = std::tuple<exception_part<Parts, T>...>;
  static_assert(is_encodable<content>(), "what the exception's constructor takes must be able to travel: codec.hpp");
  static_assert(std::is_constructible_v<T, exception_part<Parts, T>...>,
                "the exception's class needs a constructor that takes what TROUPE_EXCEPTION names, in that order");
  static encoded encode(const T& thrown) { return troupe::encode(content{std::invoke(Parts, thrown)...}); }
  static T decode(std::string_view bytes) {
    return std::make_from_tuple<T>(troupe::decode<content>(std::as_bytes(std::span{bytes})));
  }
};

template <class T>
struct exception_codec<T> {
  static constexpr bool travels = is_encodable<T>() || is_its_text<T>() || is_without_content<T>;
  static_assert(
      travels,
      "this exception can't travel by itself: say what its constructor takes and where that comes from, as in "
      "TROUPE_EXCEPTION(refused, &refused::what, &refused::code), or give it a default constructor and a "
      "member function `template <class Archive> void serialize(Archive& archive) { archive(code_); }`");
  static encoded encode(const T& thrown) {
    if constexpr (is_encodable<T>()) {
      return troupe::encode(thrown);
    } else if constexpr (is_without_content<T>) {
      return {};
    } else {
      return troupe::encode(std::string{thrown.what()});
    }
  }
  static T decode(std::string_view bytes) {
    if constexpr (is_encodable<T>()) {
      return troupe::decode<T>(std::as_bytes(std::span{bytes}));
    } else if constexpr (is_without_content<T>) {
      return T{};
    } else {
      return T(troupe::decode<std::string>(std::as_bytes(std::span{bytes})));
    }
  }
};

template <class T, auto... Parts>
std::string encode_exception(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const T& object) {
    return exception_content(exception_codec<T, Parts...>::encode(object));
  }
}

template <class T, auto... Parts>
status throw_exception_again(std::string_view content, const status& why) {
  std::optional<T> object;
  try {
    object.emplace(exception_codec<T, Parts...>::decode(content));
  } catch (...) {
    return exception_problem();
  }
  throw_arrived(std::move(*object), why);
}

}  // namespace detail

/// What TROUPE_EXCEPTION does, from now on. True.
template <class T, auto... Parts>
bool register_exception() {
  static_assert(std::is_class_v<T> && std::is_copy_constructible_v<T>, "an exception that travels is a class");
  if constexpr (sizeof(detail::exception_codec<T, Parts...>) != 0)
    return register_exception_type(
        {typeid(T), &detail::encode_exception<T, Parts...>, &detail::throw_exception_again<T, Parts...>});
}

}  // namespace troupe

/// See above. `type` is a name without a namespace, so the macro stands in the type's own.
#define TROUPE_EXCEPTION(type, ...)                                 \
  [[maybe_unused]] inline const bool troupe_exception_type_##type = \
      ::troupe::register_exception<type __VA_OPT__(, ) __VA_ARGS__>();
