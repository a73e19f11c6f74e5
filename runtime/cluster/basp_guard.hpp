// Mends of faults of CAF 0.17.6 in what its middleman does between processes. Private.
//
// What peers send. CAF believes it (link_gate.hpp has the list), and so 32 bytes of anybody end a process, or take half
// a gigabyte of it. Here each frame passes the gate first, and a large one comes in pieces, so that it takes memory as
// it comes.
//
// What lists in them state. CAF makes room for a list of bytes before it looks whether so many have come: 132 bytes
// took four gigabytes. Here a list that states more elements than can be in what is left is the end of what is read,
// wherever a program reads CAF's binary format. So a list of objects that take no bytes can't be sent.
//
// Routes. A process that dials another one to which it has a link already makes a second connection, for as long as the
// handshake takes. When one of several connections to a process closes, CAF goes over to any other, though the one in
// use is still there. So what is sent next may leave over one that the other side closes unread, and is lost without
// anybody hearing of it. A route that is in use stays in use here. And a peer may name any number of processes that it
// claims to reach: there is a limit here.
//
// Node ids. CAF makes its id of a process from MAC addresses and the process number, which containers share, and a
// process states it itself. Here it is made of random bits (actors/messages/peer_identity.hpp), and a connection is in
// the name of the process that its handshake has shown (actors/messages/known_peers.hpp), or it is closed.
//
// Solution: CAF does all that in functions that its library calls as every program's symbols, so definitions in the
// program take their place, in real processes and in simulated ones.
#pragma once

#include <caf/fwd.hpp>

namespace caf::io {
class basp_broker;
}

namespace troupe {

/// Ends the connections whose peers have left a frame half said (link_limits::frame_pause), or have said nothing since
/// they were at the door (greeting_pause): CAF waits for ever. In the broker's turn.
void close_half_frames(caf::io::basp_broker& broker);

/// Does nothing; who calls it has the mends in the program.
void guard_basp() noexcept;

}  // namespace troupe
