// A handshake over a socket that does not block: what both sides of a door do with their bytes.
#pragma once

#include <troupe/runtime/door/handshake.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace troupe {

class conversation {
 public:
  enum class progress {
    /// The other side has the word.
    waits,
    /// The handshake is over, and what it had to say is said.
    over,
    /// The other side has hung up, or reads nothing.
    gone,
  };

  explicit conversation(std::unique_ptr<handshake> side) : side_(std::move(side)) {}

  /// Says and hears what can be said and heard now. Reads nothing that comes after the handshake.
  progress go_on(int socket);
  const handshake& side() const { return *side_; }

 private:
  bool say(int socket);

  const std::unique_ptr<handshake> side_;
  std::array<char, words_bytes_max> heard_{};
  std::size_t heard_bytes_ = 0;
};

}  // namespace troupe
