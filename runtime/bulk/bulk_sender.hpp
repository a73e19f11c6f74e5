// One thread that sends what is asked for on its connections.
//
//   accepted -> awaiting a request -> replying -> awaiting the next request -> ...
//
// and from each state to closed: when the peer closes, sends what is no request, or stalls. So a stranger, or a peer
// that is frozen, costs one entry of a bounded table for a bounded time.
#pragma once

#include <troupe/runtime/bulk/bulk_offers.hpp>
#include <troupe/runtime/bulk/bulk_protocol.hpp>
#include <troupe/runtime/door/channel.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

namespace troupe {

class bulk_sender {
 public:
  struct limits {
    std::size_t connections_max = 0;
    loop_clock::duration stall = {};
  };
  /// Starts the thread. `offers` and `secret` outlive it. @throws resource_exhausted_error
  bulk_sender(bulk_offers& offers, const bulk_secret& secret, const limits& bounds);
  bulk_sender(const bulk_sender&) = delete;
  bulk_sender& operator=(const bulk_sender&) = delete;
  /// Closes all connections.
  ~bulk_sender();

  /// Serves who has come in for tensors. Any thread, as the one below.
  void serve(channel entered);
  /// Runs `work` in the thread.
  void post(std::function<void()> work) { loop_.post(std::move(work)); }
  /// In the thread.
  event_loop& loop() { return loop_; }

 private:
  struct connection;

  // In the loop's thread:
  void serve_waiting();
  void add_connection(channel entered);
  /// Whether there is some.
  bool make_room();
  void close_stalled();
  bool advance(connection& peer);
  bool receive_request(connection& peer);
  bulk_reply answer(connection& peer);
  bool send_reply(connection& peer);

  bulk_offers& offers_;
  const bulk_secret& secret_;
  const limits limits_;
  event_loop loop_;  // outlives all that it watches
  /// For which there is no place yet. A door's limit is theirs.
  std::deque<channel> waiting_;
  std::map<std::uint64_t, std::unique_ptr<connection>> connections_;
  std::uint64_t last_connection_ = 0;
  event_loop::timer room_timer_{};
};

}  // namespace troupe
