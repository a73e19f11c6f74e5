// What the interface of a typed actor is called, so that processes can compare theirs.
//
// CAF compares interfaces by the names under which message types are registered, and takes types that are not for
// equal. These names are those of the types themselves.
#pragma once

#include <troupe/actors/messages/messages.hpp>
#include <troupe/actors/values/codec.hpp>
#include <troupe/actors/values/internal/type_name.hpp>

#include <caf/actor.hpp>
#include <caf/atom.hpp>
#include <caf/fwd.hpp>
#include <caf/replies_to.hpp>
#include <caf/type_nr.hpp>
#include <caf/typed_actor.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

namespace troupe {

namespace detail {

template <class T>
struct message_element {
  static std::string name() { return std::string{type_name<T>}; }
};
template <caf::atom_value Value>
struct message_element<caf::atom_constant<Value>> {
  static std::string name() { return "'" + caf::to_string(Value) + "'"; }
};

/// For all elements of an actor's messages.
template <template <class> class Condition, class Actor>
inline constexpr bool all_elements = true;
template <template <class> class Condition, class Signature>
inline constexpr bool all_elements_of = true;
template <template <class> class Condition, class... In, class... Out>
inline constexpr bool
    all_elements_of<Condition, caf::typed_mpi<caf::detail::type_list<In...>, caf::output_tuple<Out...>>> =
        (Condition<In>::value && ...) && (Condition<Out>::value && ...);
template <template <class> class Condition, class... Signatures>
inline constexpr bool all_elements<Condition, caf::typed_actor<Signatures...>> =
    (all_elements_of<Condition, Signatures> && ...);

template <class T>
struct is_no_floating_point : std::bool_constant<!std::is_floating_point_v<T>> {};
template <class T>
struct is_no_container : std::bool_constant<caf::type_nr<T>::value != 0 || std::is_void_v<typename parts_of<T>::type>> {
};

/// @throws invalid_argument_error
void require_known_element(const caf::actor_system& system, const std::type_info& type, std::string_view name);

template <class T>
void require_known(const caf::actor_system& system) {
  if constexpr (!std::is_void_v<T> && caf::type_nr<T>::value == 0)
    require_known_element(system, typeid(T), type_name<T>);
}

template <class... In, class... Out>
void require_all_known(const caf::actor_system& system,
                       caf::typed_mpi<caf::detail::type_list<In...>, caf::output_tuple<Out...>>) {
  (require_known<In>(system), ...);
  (require_known<Out>(system), ...);
}

template <class... Elements>
std::string names_of(caf::detail::type_list<Elements...>) {
  std::string text;
  ((text += (text.empty() ? "" : ", ") + message_element<Elements>::name()), ...);
  return text;
}

template <class Signature>
struct message_signature;
template <class... In, class... Out>
struct message_signature<caf::typed_mpi<caf::detail::type_list<In...>, caf::output_tuple<Out...>>> {
  static std::string name() {
    return "(" + names_of(caf::detail::type_list<In...>{}) + ") -> (" + names_of(caf::detail::type_list<Out...>{}) +
           ")";
  }
};

template <class... Signatures>
actor_interface signatures_of(caf::detail::type_list<Signatures...>) {
  actor_interface names{message_signature<Signatures>::name()...};
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace detail

/// Whether the system knows all types of the actor's messages.
/// @throws invalid_argument_error that names one that it does not know.
template <class... Signatures>
void require_known_messages(const caf::actor_system& system, std::type_identity<caf::typed_actor<Signatures...>>) {
  (detail::require_all_known(system, Signatures{}), ...);
}
inline void require_known_messages(const caf::actor_system&, std::type_identity<caf::actor>) {}

/// The messages that a `caf::typed_actor<...>` takes, sorted; none for `caf::actor`, which says nothing about itself.
template <class Actor>
const actor_interface& interface_of() {
  // Otherwise it would be found out when a message is sent to another process, or not at all.
  static_assert(detail::all_elements<detail::is_no_floating_point, Actor>,
                "CAF 0.17 damages floating point numbers in messages between processes, and hangs on infinities: make "
                "them members of a struct, TROUPE_MESSAGE(struct)");
  static_assert(detail::all_elements<detail::is_no_container, Actor>,
                "a container can't be known to CAF by itself: make it a member of a struct, TROUPE_MESSAGE(struct)");
  static const actor_interface names = [] {
    if constexpr (std::is_same_v<Actor, caf::actor>)
      return actor_interface{};
    else
      return detail::signatures_of(typename Actor::signatures{});
  }();
  return names;
}

}  // namespace troupe
