// The processes that rpc_kills.cpp kills and freezes: a server of remote procedures, and clients that call it in every
// way without a pause. Each is a task of a process_cluster: the task of the job "ps" is the server, workers are
// clients.
//
// A client writes lines for the test:
//   "served"                   each kind of call has worked several times since the line before
//   "failed: KIND STATUS"      a call ended with `unavailable` or `deadline_exceeded`, as calls may when a server is
//   lost "WRONG: ..."               a call ended with anything else, or with a wrong result "HANGS: ..." a call is open
//   after its deadline: with all that are open; the process ends
//
// A process that was frozen, or did not get a processor, can't end calls meanwhile: such gaps are no time for it.
#pragma once

#include <troupe/actors/rpc/rpc_limits.hpp>

#include <chrono>
#include <string>

namespace troupe::rpc {

/// The name of the program; its argument is the layer.
inline constexpr const char* kill_program = "rpc";

/// How fast the sides notice that the other one is gone.
inline constexpr liveness watchful{.ping_interval = std::chrono::milliseconds{200},
                                   .silence_max = std::chrono::milliseconds{1500}};

/// The deadline of the calls that a client leaves open, in which the server waits.
inline constexpr std::chrono::seconds parked_limit{4};

inline std::string client_name(int index) { return "client " + std::to_string(index); }

}  // namespace troupe::rpc
