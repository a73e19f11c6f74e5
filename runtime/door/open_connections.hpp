// Which of the connections that were passed on are still open, without a notice of their ends, and whose they are.
//
// Problem: who takes a connection (gRPC, CAF) closes it and tells nobody. And whoever may connect at all could take all
// places: then a restarted worker can't reach its server. Solution: a connection is its descriptor's number together
// with its socket's inode; when the number is closed, or stands for something else, it is over. That is asked only when
// the count matters: at a limit. Of the places, clients have a quarter and members the rest, so that neither takes
// those of the other, and one process has a limit of its own.
//
// OC-1 At most `most` are open at once. OC-2 Connections of clients never take a place of members', nor the reverse.
// OC-3 A process has at most `per_peer_max`, and at most half of its part. OC-4 Where the part of clients is full, the
// client's connection that has been idle for longest, and for `client_idle_max`, is closed for the new one.
#pragma once

#include <troupe/device/base/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

namespace troupe {

/// Who shares places.
enum class connection_part {
  /// All places are for everybody: the port does not know who connects.
  undivided,
  /// Processes of the job.
  members,
  /// All others.
  clients,
};

struct connection_owner {
  connection_part part = connection_part::undivided;
  /// Identifies the process; empty: not known, and without a limit of its own.
  std::string peer;
};

/// Not thread-safe.
class open_connections {
 public:
  struct limits {
    std::size_t most = 1;
    std::size_t per_peer_max = 1;
    std::chrono::milliseconds client_idle_max = std::chrono::milliseconds::max();
  };

  explicit open_connections(const limits& given) : limits_(given) {}

  /// Whether this owner may open one more; if not, the peer can be told why. Forgets those that are over if that helps.
  status check_room(const connection_owner& owner);
  /// Before `socket` is passed on.
  void add(int socket, connection_owner owner);
  /// How many have not been found to be over.
  std::size_t size() const { return open_.size(); }

 private:
  struct identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const identity&) const = default;
  };
  struct connection {
    identity socket;
    connection_owner owner;
  };
  using connections = std::unordered_map<int, connection>;

  static bool read(int socket, identity& into);
  static bool is_over(const connections::value_type& entry);
  static std::string key_of(const connection_owner& owner);

  std::size_t places_of(connection_part part) const;
  std::size_t& count_of(connection_part part) { return counts_.at(static_cast<std::size_t>(part)); }
  bool is_full(connection_part part);
  bool has_too_many(const connection_owner& owner);
  void look_for_room(connection_part part);
  void forget_closed();
  void close_idlest_client();
  connections::iterator erase(connections::iterator entry);

  const limits limits_;
  connections open_;
  std::array<std::size_t, 3> counts_{};
  std::unordered_map<std::string, std::vector<int>> by_peer_;
  std::chrono::steady_clock::time_point next_look_ = std::chrono::steady_clock::time_point::min();
};

}  // namespace troupe
