// What the interface of a typed actor is called, so that processes can compare theirs.
//
// CAF compares interfaces by the names under which message types are registered, and takes types that are not for
// equal. These names are those of the types themselves.
#pragma once

#include <troupe/actors/messages/messages.hpp>
#include <troupe/actors/values/internal/type_name.hpp>

#include <caf/actor.hpp>
#include <caf/atom.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <algorithm>
#include <string>
#include <type_traits>

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

/// The messages that a `caf::typed_actor<...>` takes, sorted; none for `caf::actor`, which says nothing about itself.
template <class Actor>
const actor_interface& interface_of() {
  static const actor_interface names = [] {
    if constexpr (std::is_same_v<Actor, caf::actor>)
      return actor_interface{};
    else
      return detail::signatures_of(typename Actor::signatures{});
  }();
  return names;
}

}  // namespace troupe
