// Keeps gRPC's library started for as long as the process lives, and lets it and protobuf say their errors in the
// program's log, a line a minute each, unless GRPC_VERBOSITY is set.
//
// Problem: whoever ends the last server or channel of a process shuts the library down, and that joins threads of which
// one may be polling for 10 s (gRPC 1.51): ten times as long as a server's end may take.
#pragma once

namespace troupe::rpc {

/// Before the first server or channel; any thread, any number of times.
/// @throws failed_precondition_error in a simulation, whose network gRPC knows nothing of.
void keep_grpc_started();

}  // namespace troupe::rpc
