// The buffers that a process has offered and that nobody fetched yet.
//
// Invariants: an offer is taken at most once, in one or more parts, and never after its time; memory that several
// offers share counts once, because that is what it costs; nothing is freed under the lock, since unmapping takes long.
#pragma once

#include <troupe/device/tensor/buffer.hpp>
#include <troupe/runtime/bulk/bulk_protocol.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace troupe {

/// All members from any thread.
class bulk_offers {
 public:
  bulk_offers(std::size_t count_max, std::size_t bytes_max) : count_max_(count_max), bytes_max_(bytes_max) {}

  /// Keeps `content` and returns its number. Throws resource_exhausted_error over a limit.
  std::uint64_t add(buffer content, loop_clock::time_point expiry);

  struct taking {
    bulk_answer answer = bulk_answer::not_found;
    /// The part.
    buffer content;
    /// What the offer holds.
    std::size_t size_bytes = 0;
  };
  /// Hands a part of an offer of this size out, and forgets the offer once as many bytes were handed out as it has.
  taking take(std::uint64_t number, std::uint64_t size_bytes, const bulk_part& part);

  /// Drops what is over its time; returns when to do so again, or nothing when no offer is left.
  std::optional<loop_clock::time_point> expire();

 private:
  struct offered {
    buffer content;
    loop_clock::time_point expiry;
    std::size_t taken_bytes = 0;
  };
  /// Takes one out; the lock is held.
  buffer remove(std::uint64_t number);

  const std::size_t count_max_;
  const std::size_t bytes_max_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, offered> offers_;
  std::set<std::pair<loop_clock::time_point, std::uint64_t>> by_expiry_;
  /// Offers of each range of memory.
  std::map<std::pair<const std::byte*, std::size_t>, std::size_t> shared_by_;
  std::size_t bytes_ = 0;
  std::uint64_t last_number_ = 0;
};

}  // namespace troupe
