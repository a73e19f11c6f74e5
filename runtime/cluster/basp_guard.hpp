// Keeps strangers' bytes at the middleman's ports from ending the process. Private.
//
// Problem: CAF 0.17.6 takes the header of a handshake that announces no payload for valid, and then reads the payload
// that is not there. So 32 bytes end a process, whoever sends them: a scanner at a port where it listens, or a server
// of another kind that it dials (the greeting of a gRPC server is such a header).
//
// Solution: CAF checks headers in a function that its library calls as every program's symbol, so a definition in the
// program takes its place. Ours asks CAF's and is stricter.
//
// Limits: CAF makes room for what a header announces, before anything of it has come. Here that is at most 512 MiB
// instead of 4 GiB, so noise can't take all memory, but a hostile sender still can: the ports belong into a private
// network.
#pragma once

namespace troupe {

/// Does nothing; who calls it has the check in the program.
void guard_basp_headers() noexcept;

}  // namespace troupe
