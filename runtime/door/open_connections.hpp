// Which of the connections that were handed over are still open, without being told of their ends.
//
// Problem: who takes a connection (gRPC, CAF) closes it and tells nobody. Solution: a connection is its descriptor's
// number together with its socket's inode; when the number is closed, or stands for something else, it is over. That is
// asked only when the count matters: at the limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <unordered_map>

#include <sys/types.h>

namespace troupe {

/// Not thread-safe.
class open_connections {
 public:
  explicit open_connections(std::size_t most) : most_(most) {}

  /// Whether one more may be open. Forgets those that are over if that helps.
  bool has_room();
  /// Before `socket` is handed over.
  void add(int socket);
  /// How many have not been found to be over.
  std::size_t size() const { return identities_.size(); }

 private:
  struct identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const identity&) const = default;
  };

  static bool read(int socket, identity& into);
  void forget_closed();

  const std::size_t most_;
  std::unordered_map<int, identity> identities_;
  std::chrono::steady_clock::time_point next_look_ = std::chrono::steady_clock::time_point::min();
};

}  // namespace troupe
