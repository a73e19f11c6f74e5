// How actors reach other processes: over the network, or through a map inside one process.
//
// Both answer `dial_atom, host, port` with the member actor at that address, so the rest of troupe does not know which
// of the two it has.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/basp_dialer.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <memory>
#include <optional>

namespace troupe {

struct network_dialer_state {
  static constexpr const char* name = "dialer";
  std::optional<basp_dialer> dials;
};

/// Dials over the network. The system must have loaded the middleman.
dialer_actor::behavior_type network_dialer(dialer_actor::stateful_pointer<network_dialer_state> self,
                                           std::shared_ptr<connector> connects);

/// The members of one process by the addresses that stand for them.
using local_members = std::map<task_address, member_actor>;
/// The members may be added until the first dial: they need the dialer, and it needs them.
dialer_actor::behavior_type local_dialer(dialer_actor::pointer self, std::shared_ptr<const local_members> members);

}  // namespace troupe
