// A connection as whoever moves bytes over it sees it: what can be moved now is moved, and nothing waits.
#pragma once

#include <cstddef>
#include <span>

namespace troupe {

/// What one call moved.
struct stream_progress {
  std::size_t bytes = 0;
  /// Nothing can be moved now.
  bool blocked = false;
  /// The connection is of no use any more: 0 bytes and `reason` is an errno, or 0 when the peer closed it.
  bool broken = false;
  int reason = 0;
};

/// Closed with this object. One thread at a time.
class byte_stream {
 public:
  virtual ~byte_stream() = default;
  byte_stream(const byte_stream&) = delete;
  byte_stream& operator=(const byte_stream&) = delete;

  /// For poll(). Bytes that have come may lie here already, of which no socket tells: read until it blocks before.
  virtual int socket() const = 0;
  virtual stream_progress receive_some(std::span<std::byte> into) = 0;
  virtual stream_progress send_some(std::span<const std::byte> from) = 0;

 protected:
  byte_stream() = default;
};

}  // namespace troupe
