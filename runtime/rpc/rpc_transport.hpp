// How large tensors of remote procedure calls travel: over the process's bulk transport, which this provides in
// programs that are no member of a cluster and so have none.
//
// Both sides send tensors by offering them, and the receiver connects to the sender. So a client's machine must be
// reachable by the server, at the address from which it reaches the server. Where it is not (behind a router that
// translates addresses), calls with arguments of 64 KiB and more end with `unavailable`. A server's tensors come by the
// door of its messages, and its clients fetch them from where they have dialled it: it need not know any address of its
// own, and one port is all that a firewall lets through or a router translates.
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
/// Whether its tensors come by any door of this process.
bool comes_by_doors(const bulk_transport& transport);
/// Its bytes are fetched by the door there. A ticket that is none stays as it is, and fetching it says why.
void redirect(bulk_ticket& ticket, const task_address& door);

/// While it lives, others fetch what this process offers by the door that listens there, so that it needs no other. Not
/// if it is a member of a cluster, which has one, and not by a door that they do not reach.
class tensor_door {
 public:
  tensor_door(std::shared_ptr<bulk_transport> transport, const task_address& listening);
  tensor_door(const tensor_door&) = delete;
  tensor_door& operator=(const tensor_door&) = delete;
  ~tensor_door();

 private:
  const std::shared_ptr<bulk_transport> transport_;
  task_address reached_at_;
};

}  // namespace troupe::rpc
