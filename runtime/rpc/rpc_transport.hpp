// How large tensors of remote procedure calls travel: over the process's bulk transport, which this provides in
// programs that are no member of a cluster and so have none.
//
// Both sides send tensors by offering them, and the receiver connects to the sender. So a client's machine must be
// reachable by the server, at the address from which it reaches the server. Where it is not (behind a router that
// translates addresses), calls with arguments of 64 KiB and more end with `unavailable`. A server that listens on
// "0.0.0.0" need not know any address of its own: its clients fetch results from where they have dialled it, which
// works through translated addresses if they translate all ports.
#pragma once

#include <troupe/actors/messages/task.hpp>
#include <troupe/actors/values/bulk.hpp>

#include <memory>
#include <string>

namespace troupe::rpc {

/// True for names and addresses of the loopback device and for this machine's wildcards.
bool is_local_host(const std::string& host);

/// The transport of a client of the server there: the process's own if it has one. One that is made here belongs to
/// those who asked for it together, and the process has it for as long as they do.
std::shared_ptr<bulk_transport> transport_towards(const task_address& server);
/// The transport of a server that listens there.
std::shared_ptr<bulk_transport> transport_at(const task_address& listening);
/// Whether it was made here and listens on all addresses of this machine.
bool listens_everywhere(const bulk_transport& transport);
/// Its bytes are fetched from this host. A ticket that is none stays as it is, and fetching it says why.
void redirect(bulk_ticket& ticket, const std::string& host);

}  // namespace troupe::rpc
