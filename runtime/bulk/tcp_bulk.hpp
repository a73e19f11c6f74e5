// The bulk transport between processes: tensors over TCP connections of their own, straight from the sender's buffer
// into the receiver's.
//
// A ticket's endpoint holds host, port and a secret that only this process's tickets carry, so that a stranger who
// connects reads nothing. The bytes are encrypted if the process has a certificate. Each direction has one thread, or a
// few, among which a large tensor is divided; they start when they are first needed, so an idle node has neither a
// thread nor an open port. See bulk_server.hpp for the sending end, bulk_client.hpp for the receiving end and
// bulk_protocol.hpp for what they say to each other.
#pragma once

#include <troupe/actors/values/bulk.hpp>
#include <troupe/runtime/bulk/bulk_client.hpp>
#include <troupe/runtime/bulk/bulk_options.hpp>
#include <troupe/runtime/bulk/bulk_server.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// See `bulk_transport`. Besides:
///  - `offer` does not throw when it cannot keep the bytes (a limit, a port in use, memory of a GPU): whoever fetches
///    such a ticket gets the reason.
///  - `fetch` ends with: `unavailable` when the peer is gone, cannot be reached or breaks the connection; `not_found`
///    when the offer was fetched before or is over its time; `deadline_exceeded` after `limit`; `data_loss` when the
///    peer does not speak the protocol or holds another number of bytes; `failed_precondition` for a peer of another
///    protocol version; `invalid_argument` for a ticket or destination that cannot be right; `cancelled` by the
///    destructor. Fetching begins to use an offer up: after a broken transfer it is gone, or what is left of it is when
///    its time is up.
///  - `done` runs in a receiving thread, or in the caller's when nothing was begun. It must not throw, should be
///    short, because other transfers wait meanwhile, and may fetch and offer, but not destroy the transport.
class tcp_bulk : public bulk_transport {
 public:
  /// Opens nothing yet. Throws invalid_argument_error for options that cannot work.
  explicit tcp_bulk(tcp_bulk_options options = {});
  /// Closes the port and all connections, and ends what is open with `cancelled`. Takes no longer than a `done`.
  ~tcp_bulk() override;

  bulk_ticket offer(buffer content, duration lifetime) override;
  /// Serves whoever came in by a door of somebody else and wants tensors. Any thread, as those below.
  void adopt(channel connection) { server_.adopt(std::move(connection)); }
  /// What is offered from now on is fetched by a door of somebody else, at this address. Without one, by a door of its
  /// own.
  void served_at(const task_address& door) { server_.served_at(door); }
  /// That door is closed.
  void not_served_at(const task_address& door) { server_.not_served_at(door); }
  /// What is offered from now on is fetched by a door of its own at another address of this machine, by which others
  /// reach it under the second name. Both are none that need checking.
  void move_to(const std::string& listen_host, const std::string& advertised_host) {
    server_.move_to(listen_host, advertised_host);
  }
  void fetch(const bulk_ticket& ticket, std::span<std::byte> destination, duration limit,
             std::function<void(status)> done) override;

 private:
  const tcp_bulk_options options_;
  bulk_server server_;
  /// One for each thread that receives.
  std::vector<std::unique_ptr<bulk_client>> clients_;
};

}  // namespace troupe
