// One outgoing connection of the bulk transport, on which the receiving end fetches.
//
//   new -> connecting (each address of the peer in turn) -> at its door -> requesting -> receiving -> idle -> ...
//
// and from each state to broken. Deadlines are the owner's: it destroys the connection, after which no byte is written.
// Everything belongs to the thread of the loop.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/bulk/bulk_protocol.hpp>
#include <troupe/runtime/door/visit.hpp>
#include <troupe/runtime/door/watched_channel.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class bulk_connection {
 public:
  /// How an exchange, or an idle connection, ended.
  struct ending {
    status ended;
    /// Ready for the next exchange; otherwise it is broken and has to go.
    bool reusable = false;
    /// The peer closed before it said anything, as it does with connections that were idle for long.
    bool unanswered = false;
  };

  /// `name` of the peer for messages, `offerer` whom it must be, `words` for its door. `on_end` may destroy the
  /// connection; it never runs inside of start().
  bulk_connection(event_loop& loop, std::string name, bulk_offerer offerer, std::vector<socket_address> addresses,
                  visitor_words words, std::function<void(ending)> on_end);
  bulk_connection(const bulk_connection&) = delete;
  bulk_connection& operator=(const bulk_connection&) = delete;
  ~bulk_connection();

  /// Begins an exchange: connects first where needed and fills `destination`, whose size is in the request. A peer of
  /// several addresses gets each tried for its share of the time until `deadline`.
  void start(const bulk_request& request, std::span<std::byte> destination, loop_clock::time_point deadline);

  /// Bytes of this exchange that have arrived.
  std::size_t received_bytes() const noexcept { return received_; }
  /// Exchanges that were begun.
  std::size_t exchanges() const noexcept { return exchanges_; }

 private:
  enum class state { connecting, visiting, requesting, awaiting_reply, receiving, idle };

  void connect_next();
  void connected();
  status check_peer(const peer_identity& peer) const;
  void entered(channel connection, const status& why);
  void ready();
  void send_request();
  void receive_reply();
  void receive_content();
  status judge_reply() const;
  void arrived();
  void broke(int reason);
  void end(ending how);

  event_loop& loop_;
  const std::string name_;
  const bulk_offerer offerer_;
  const std::vector<socket_address> addresses_;
  const visitor_words words_;
  const std::function<void(ending)> on_end_;
  std::unique_ptr<watched_socket> connecting_;
  std::unique_ptr<visit> visit_;
  std::unique_ptr<watched_channel> peer_;
  event_loop::timer connect_timer_{};
  std::size_t next_address_ = 0;
  int last_connect_error_ = 0;
  state state_ = state::connecting;
  std::size_t exchanges_ = 0;

  bulk_request request_;
  std::size_t sent_ = 0;
  bulk_reply reply_;
  std::size_t reply_received_ = 0;
  std::span<std::byte> destination_;
  std::size_t received_ = 0;
  loop_clock::time_point deadline_;
};

}  // namespace troupe
