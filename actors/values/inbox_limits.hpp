// How much may wait in an inbox, and how long.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe {

struct inbox_limits {
  /// How long the bulk data of one message may take to arrive, beyond `bulk_transport::transfer_time` of their size.
  duration bulk_limit = std::chrono::seconds{60};
  /// What may wait in one lane: messages, and bytes of their bulk data.
  std::size_t messages_max = std::size_t{1} << 16;
  std::uint64_t bytes_max = std::uint64_t{64} << 30;
  /// Lanes in which something waits at the same time. What would open one more is handed over as an error.
  std::size_t lanes_max = std::size_t{1} << 16;
};

}  // namespace troupe
