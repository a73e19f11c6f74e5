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
door_party introduced(door_party self, const credentials& with);

/// What was said at a door against what the certificate shows: the same cluster, if one was said, and the same job.
status check_certified(const std::optional<certified_role>& shown, const door_party& said);

/// Whether a host that has shown its certificate may be one whose actors others ask: a client may not pose as a server.
status check_serves(const door_party& host);

}  // namespace troupe
