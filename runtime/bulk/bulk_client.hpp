// The receiving end of the bulk transport: fetches side by side from many peers.
//
// Each peer has a queue and a few connections, which are kept for a while and used again. A fetch waits in the queue,
// then runs on one connection, then ends; its deadline is a timer that takes it out of either place. A connection that
// was kept may have been closed by the peer in the meantime, which shows only on use: such a fetch is tried once more
// on a fresh one.
//
// F-1 `done` of each fetch is called exactly once: by the exchange, its deadline, or stop(). F-2 The
// connection of a fetch that ends early is closed before `done` is called, so nothing is written after it.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/bulk/bulk_connection.hpp>
#include <troupe/runtime/bulk/bulk_options.hpp>
#include <troupe/runtime/bulk/bulk_protocol.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace troupe {

/// What to fetch, where to put it and whom to tell.
struct bulk_fetch {
  bulk_endpoint from;
  std::uint64_t number = 0;
  /// Of the whole offer; fetched is what begins at `offset_bytes` and has the destination's size.
  std::uint64_t size_bytes = 0;
  std::uint64_t offset_bytes = 0;
  std::span<std::byte> destination;
  loop_clock::duration limit;
  std::function<void(status)> done;
};

class bulk_client {
 public:
  /// `options` are valid and outlive this object.
  explicit bulk_client(const tcp_bulk_options& options);
  bulk_client(const bulk_client&) = delete;
  bulk_client& operator=(const bulk_client&) = delete;
  ~bulk_client();

  /// From any thread. Throws resource_exhausted_error when no thread can be started; then `done` is not called.
  void fetch(bulk_fetch wanted);
  /// Ends what is open with cancelled, and what comes later, too. Not from within a `done`.
  void stop();

 private:
  struct job;
  struct line;
  struct peer;
  using line_place = std::list<line>::iterator;

  void ensure_started();
  // In the loop's thread:
  void enqueue(bulk_fetch wanted);
  void resolve_address(peer& from);
  void resolved(peer& from, std::vector<socket_address> addresses, const status& problem);
  void dispatch(peer& from);
  void run(line_place where, std::unique_ptr<job> next);
  void exchange_ended(peer& from, line_place where, bulk_connection::ending how);
  void keep(peer& from, line_place where);
  void close(peer& from, line_place where);
  void close_idle(peer& from);
  void expired(peer& from, const job* late);
  void forget_if_unused(peer& from);
  void finish(std::unique_ptr<job> ended, status how);
  static status cancelled(const bulk_fetch& open);

  const tcp_bulk_options& options_;
  const visitor_words words_;
  std::mutex mutex_;  // of starting
  // Shared with look-ups of names, which may outlive this object.
  std::shared_ptr<event_loop> loop_;
  std::map<std::string, std::unique_ptr<peer>> peers_;
};

}  // namespace troupe
