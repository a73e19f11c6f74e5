// How actors reach other processes: over CAF's middleman, or through a map inside one process.
//
// Both answer `dial_atom, host, port` with the member actor at that address, so the rest of troupe does not know which
// of the two it has. The middleman's own `remote_actor` waits without limit on a frozen listener; its actor can be
// asked with a limit instead, which is what the requester does.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <memory>

namespace troupe {

/// Dials over the network. The system must have loaded the middleman.
dialer_actor::behavior_type network_dialer(dialer_actor::pointer self);

/// The members of one process by the addresses that stand for them.
using local_members = std::map<task_address, member_actor>;
/// The members may be added until the first dial: they need the dialer, and it needs them.
dialer_actor::behavior_type local_dialer(dialer_actor::pointer self, std::shared_ptr<const local_members> members);

}  // namespace troupe
