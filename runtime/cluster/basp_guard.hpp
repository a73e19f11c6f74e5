// Mends of two faults of CAF 0.17.6 in what its middleman does between processes. Private.
//
// Headers. CAF takes the header of a handshake that announces no payload for valid, and then reads the payload that is
// not there. So 32 bytes end a process, whoever sends them: a scanner at a port where it listens, or a server of
// another kind that it dials (the greeting of a gRPC server is such a header).
//
// Routes. A process that dials another one to which it has a link already makes a second connection, for as long as the
// handshake takes. When one of several connections to a process closes, CAF goes over to any other, though the one in
// use is still there. So what is sent next may leave over one that the other side closes unread, and is lost without
// anybody hearing of it. A route that is in use stays in use here.
//
// Solution: CAF does both in functions that its library calls as every program's symbols, so definitions in the program
// take their place.
//
// Limits: CAF makes room for what a header announces, before anything of it has come. Here that is at most 512 MiB
// instead of 4 GiB, so noise can't take all memory, but a hostile sender still can: the ports belong into a private
// network.
#pragma once

namespace troupe {

/// Does nothing; who calls it has the mends in the program.
void guard_basp() noexcept;

}  // namespace troupe
