// Opens a port to an actor, and says why it can't.
//
// CAF tells only that a port could not be opened. The same is tried again with a socket of our own then, for the
// system's reason and its cure.
#pragma once

#include <troupe/runtime/cluster/cluster_spec.hpp>

#include <caf/actor_system.hpp>
#include <caf/io/middleman.hpp>

#include <cstdint>
#include <string>

namespace troupe {

/// Where a task listens whose address has this host: only there, if it is an IP address or "localhost"; on all
/// addresses if it is a name, which may be a service's and not this machine's own.
std::string listen_address(const std::string& host);

/// Never returns. @throws unavailable_error
[[noreturn]] void throw_not_listening(const std::string& who, const task_address& address, const std::string& failure);

/// Lets other processes reach `actor` at this address, on its interface only if it is one; returns the port, a free one
/// for port 0. `who` names it in errors. @throws unavailable_error
template <class Actor>
std::uint16_t publish(caf::actor_system& system, const Actor& actor, const task_address& address,
                      const std::string& who) {
  const auto host = listen_address(address.host);
  const auto published = system.middleman().publish(actor, address.port, host.c_str(), true);
  if (!published) throw_not_listening(who, address, system.render(published.error()));
  return *published;
}

}  // namespace troupe
