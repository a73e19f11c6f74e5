// Whether somebody is who his certificate says.
#pragma once

#include <troupe/runtime/door/certificate_authority.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/door/door_words.hpp>

#include <optional>

namespace troupe {

/// The job of a certificate for processes that are no members, such as clients of RPC.
inline constexpr auto client_job = "client";

/// As this process says who it is with these credentials: of their cluster, and, if it is no task of it at this door
/// (such as that of an RPC server in a chief), in the role of its certificate.
peer_identity introduced(peer_identity self, const credentials& with);

/// Compares what a peer has said with what its certificate shows: the cluster of `own`, this side's certificate, and
/// the same job. Adds the proof to the identity.
status prove_by_certificate(peer_identity& peer, const std::optional<certified_role>& shown, const certified_role& own);

/// Whether a host that has shown its certificate may be one whose actors others ask: a client may not pose as a server.
status check_serves(const peer_identity& host);

}  // namespace troupe
