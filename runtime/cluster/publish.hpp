// Opens a port to an actor, and says why it can't: with a listener of ours (basp_listener.hpp), or, on a simulated
// host, as CAF does.
#pragma once

#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/actors/fibers/time.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/basp_listener.hpp>
#include <troupe/runtime/cluster/cluster_spec.hpp>
#include <troupe/runtime/cluster/links.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/middleman_actor.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <cstdint>
#include <set>
#include <string>

namespace troupe {

/// Where a task listens whose address has this host: only there, if it is an IP address or "localhost"; on all
/// addresses if it is a name, which may be a service's and not this machine's own.
/// @throws failed_precondition_error (replaced_functions.hpp)
std::string listen_address(const std::string& host);

/// Opens a port to an actor; returns it. Within a fiber it parks. `host`: as listen_address; empty: all addresses.
/// @throws unavailable_error, and as `ask`, to which `what` belongs.
std::uint16_t open_port(caf::actor_system& system, const caf::strong_actor_ptr& whom, std::set<std::string> interface,
                        const task_address& where, duration limit, const std::string& what, const door_role& as = {});

/// Lets other processes reach `actor` at this address, on its interface only if it is one; returns the port, a free one
/// for port 0. `who` names it in errors, `as` is whom its door answers as. @throws unavailable_error;
/// permission_denied_error when the port may not be opened there (credentials)
template <class Actor>
std::uint16_t publish(caf::actor_system& system, const Actor& actor, const task_address& address,
                      const std::string& who, const door_role& as = {}) {
  constexpr duration limit = std::chrono::seconds{10};
  try {
    return open_port(system, caf::actor_cast<caf::strong_actor_ptr>(actor), system.message_types(actor),
                     {listen_address(address.host), address.port}, limit, who + " listens", as);
  } catch (const unavailable_error& failed) {
    throw unavailable_error{fmt::format("{} can't listen on {}: {}", who, to_string(address), failed.message())};
  } catch (const permission_denied_error& failed) {
    throw permission_denied_error{fmt::format("{} can't listen on {}: {}", who, to_string(address), failed.message())};
  }
}

/// Closes the port; in a simulation, where nothing may wait in destructors, a little later.
template <class Actor>
void unpublish(caf::actor_system& system, const Actor& actor, std::uint16_t port) {
  if (!has_threads(system))
    return caf::anon_send(system.middleman().actor_handle(), caf::unpublish_atom_v, actor.address(), port);
  stop_listening_for_basp(system, port);
}

}  // namespace troupe
