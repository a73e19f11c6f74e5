// An application's own types as elements of messages between actors.
//
//   struct reading { double degrees; std::string unit; };
//   TROUPE_MESSAGE(reading)                                // in the struct's namespace, beside it
//
// That is all: the type travels by the codec (codec.hpp), floats bit for bit, and every configuration to which
// `add_troupe_types` was applied knows it: that of `run`, of an application's own system, of a simulation. Processes
// agree on it when the same compiler built it from the same declaration.
//
// Tensors travel inside such a message; those of 64 KiB and more belong into a `wire<T>` (wire.hpp), which lets them
// travel beside it.
#pragma once

#include <troupe/actors/values/codec.hpp>

#include <caf/deserializer.hpp>
#include <caf/error.hpp>
#include <caf/fwd.hpp>
#include <caf/make_type_erased_value.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/sec.hpp>
#include <caf/serializer.hpp>

#include <string>
#include <type_traits>
#include <typeindex>

namespace troupe {

/// A type that was registered, without the type.
struct message_type {
  std::type_index type;
  std::string name;
  caf::type_erased_value_ptr (*make)();
};

/// Makes the type known to all configurations from now on. True.
bool register_message_type(message_type what);
/// Adds them to a configuration. @throws invalid_argument_error when two types have one name.
void add_registered_types(caf::actor_system_config& config);

namespace detail {

caf::error save_message(caf::serializer& sink, const encoded& content);
caf::error load_message(caf::deserializer& source, encoded& content);
/// Inside a catch block: what CAF is told.
caf::error message_problem();

template <class T>
caf::type_erased_value_ptr make_message_element() {
  return caf::make_type_erased_value<T>();
}

template <class T>
inline const bool registered_message_type = register_message_type({typeid(T), std::string{type_name<T>},
                                                                   &make_message_element<T>});

template <class Inspector, class T>
typename Inspector::result_type inspect_message(Inspector& f, T& x) {
  static_cast<void>(registered_message_type<T>);
  if constexpr (std::is_base_of_v<caf::serializer, Inspector>) {
    try {
      return save_message(f, encode(x));
    } catch (...) {
      return message_problem();
    }
  } else if constexpr (std::is_base_of_v<caf::deserializer, Inspector>) {
    encoded content;
    if (auto failed = load_message(f, content)) return failed;
    try {
      decode_into(x, content.bytes, content.attachments);
      return {};
    } catch (...) {
      return message_problem();
    }
  } else {
    return f(caf::meta::type_name("message"));
  }
}

}  // namespace detail

}  // namespace troupe

// NOLINTBEGIN(bugprone-macro-parentheses): a type can't have any.
/// See above. `type` is a name without a namespace, so the macro stands in the type's own.
#define TROUPE_MESSAGE(type)                                               \
  template <class Inspector>                                               \
  typename Inspector::result_type inspect(Inspector& inspector, type& x) { \
    return ::troupe::detail::inspect_message(inspector, x);                \
  }                                                                        \
  [[maybe_unused]] inline const bool troupe_message_type_##type = ::troupe::detail::registered_message_type<type>;
// NOLINTEND(bugprone-macro-parentheses)
