// The sending end of the bulk transport: keeps offers and serves them to whoever holds their tickets.
//
// Nothing listens and no thread runs before the first offer, so that a node which never sends large tensors stays
// small. Who comes for tensors is served by one of a few threads, by turns.
#pragma once

#include <troupe/actors/messages/task.hpp>
#include <troupe/device/tensor/buffer.hpp>
#include <troupe/runtime/bulk/bulk_offers.hpp>
#include <troupe/runtime/bulk/bulk_options.hpp>
#include <troupe/runtime/bulk/bulk_protocol.hpp>
#include <troupe/runtime/bulk/bulk_sender.hpp>
#include <troupe/runtime/door/door.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class bulk_server {
 public:
  /// `options` are valid.
  explicit bulk_server(tcp_bulk_options options);
  bulk_server(const bulk_server&) = delete;
  bulk_server& operator=(const bulk_server&) = delete;
  ~bulk_server();

  struct offer_place {
    std::string endpoint;
    std::uint64_t number = 0;
  };
  /// From any thread. Throws resource_exhausted_error over a limit, invalid_argument_error for memory of a GPU, and
  /// what `listen_on` throws at the first offer.
  offer_place offer(buffer content, loop_clock::duration lifetime);
  /// Serves a connection that came in by somebody else's door. Any thread, as those below. Closes it if nothing was
  /// ever offered.
  void adopt(channel entered);
  /// What is offered from now on is fetched by this door of somebody else; nothing: by one of its own.
  void served_at(std::optional<task_address> other);
  /// The same if it is this one.
  void not_served_at(const task_address& other);
  /// The door of its own is here from now on, and the one that is open stays for what was offered before.
  void move_to(const std::string& listen_host, const std::string& advertised_host);

 private:
  void start();
  task_address own_door();
  /// In the thread of the first sender, which has this loop.
  void expire_offers(event_loop& loop);

  tcp_bulk_options options_;
  bulk_offers offers_;

  std::mutex mutex_;  // of these, of the doors and of starting
  /// Of what is offered now; empty: to be made.
  std::string endpoint_;
  std::optional<task_address> other_door_;
  loop_clock::time_point next_expiry_ = loop_clock::time_point::max();

  bulk_secret secret_ = {};
  /// Its own; null: it has none.
  std::unique_ptr<door> door_;
  std::vector<std::unique_ptr<door>> earlier_doors_;
  event_loop::timer expiry_timer_{};
  /// All of them from `is_serving_` on.
  std::vector<std::unique_ptr<bulk_sender>> senders_;
  std::atomic<bool> is_serving_ = false;
  std::atomic<std::size_t> next_sender_ = 0;
};

}  // namespace troupe
