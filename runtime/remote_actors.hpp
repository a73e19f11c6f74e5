// CAF's `publish` and `remote_actor` for code that must not block: a fiber parks, and each has a limit.
//
// Two processes that dial each other at the same moment may both lose their link: CAF takes each of the two connections
// for one too many, and each side closes another one. What was found then ends at once; find it again.
//
// The port is a door (door/door.hpp): programs that dial it with CAF's own functions hear nothing. Those block the
// thread besides, in a fiber the whole actor around it, and in a simulation for ever. Between members of a cluster
// `offer` and `find` (offers/member.hpp) are the better way: they follow restarts.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/fwd.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <set>
#include <string>

namespace troupe {

namespace detail {

std::uint16_t publish(caf::actor_system& system, const caf::strong_actor_ptr& whom, std::set<std::string> interface,
                      std::uint16_t port, duration limit);
caf::strong_actor_ptr find_published(caf::actor_system& system, const std::set<std::string>& interface,
                                     const std::string& host, std::uint16_t port, duration limit);

}  // namespace detail

/// Lets other processes find the actor at this port, 0: any that is free. Gives the port. On all addresses of the
/// machine if the process has a secret or is insecure (door/credentials.hpp), on loopback otherwise. Any thread or
/// fiber, but no handler of an actor.
/// @throws unavailable_error when the port is taken; deadline_exceeded_error.
template <class Handle>
std::uint16_t publish_actor(caf::actor_system& system, const Handle& whom, std::uint16_t port, duration limit) {
  return detail::publish(system, caf::actor_cast<caf::strong_actor_ptr>(whom), system.message_types<Handle>(), port,
                         limit);
}

/// The actor that is published there; one that is not there yet is waited for, within the limit. Any thread or fiber,
/// but no handler of an actor.
/// @throws unavailable_error when nobody listens there at the end of the limit, or no actor is published;
/// failed_precondition_error when its interface is another one; deadline_exceeded_error; unauthenticated_error when the
/// two processes have not the same secret.
template <class Handle>
Handle remote_actor(caf::actor_system& system, const std::string& host, std::uint16_t port, duration limit) {
  return caf::actor_cast<Handle>(detail::find_published(system, system.message_types<Handle>(), host, port, limit));
}

}  // namespace troupe
