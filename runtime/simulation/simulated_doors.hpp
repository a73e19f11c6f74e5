// What two simulated processes say at a door, as real ones do (runtime/door/handshake.hpp), in no time. Certificates
// are looked at by OpenSSL, at the time of this machine's clock; what is said after that is not encrypted.
#pragma once

#include <troupe/runtime/simulation/simulated_process.hpp>

#include <optional>
#include <string_view>

namespace troupe {

/// Why the visitor gets no connection for messages to the host; ok if they agree.
status meet_at_door(const simulated_process& visitor, const simulated_process& host);
/// The same at a port where no process of troupe answers, but says this. Nothing: it would have to say more.
std::optional<status> meet_stranger_at_door(const simulated_process& visitor, std::string_view said);

/// As which the peer knows a simulated process that has met it at a door.
peer_identity shown_to(const simulated_process& peer, const simulated_process& whose);

}  // namespace troupe
