// The memory that the ranks of a shared_memory_communicator group share. Private to it.
//
//   header      what this is, and how the group has ended
//   slots       one for each rank: how far it is, what it calls, whether it has left
//   windows     two for each rank, used in turn from round to round
//
// It is a memfd: memory without a name in any file system, gone with the last process that maps it. It needs no
// /dev/shm, which is often tiny in containers, and its size is sealed, so that nobody can cut it off under the others.
//
// Processes that crash may leave anything here. So nothing read from here is ever used as an address or a size: those
// come from what each rank knows by itself.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/device/collectives/collective.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace troupe {

class shared_segment {
 public:
  /// What others may know about a rank. Written by that rank only.
  struct alignas(64) rank_slot {
    std::atomic<std::uint32_t> rounds;    ///< in which it has given its part; wraps around
    std::atomic<std::uint32_t> sleepers;  ///< that wait for the next of them (this one is written by the others)
    std::atomic<bool> left;
    alignas(64) std::array<collective, 2> calls;  ///< its current and its previous call, in turn
  };

  /// Memory of a new group. Throws resource_exhausted_error with advice.
  static shared_segment create(int ranks);
  /// Memory that another process has created. Throws failed_precondition_error if it is not that of such a group.
  static shared_segment map(descriptor file, int ranks);

  shared_segment(shared_segment&& other) noexcept;
  shared_segment& operator=(shared_segment&&) = delete;
  ~shared_segment();

  const descriptor& file() const noexcept { return file_; }
  static std::size_t window_bytes(int ranks) noexcept;

  rank_slot& slot(int rank) const noexcept;
  /// Of a rank, for the rounds of this parity (0 or 1).
  std::byte* window(int rank, unsigned parity) const noexcept;

  /// Ends the group, unless it has ended already, and returns why it has ended: the first reason counts. Causes below
  /// the status become part of its message, which is cut where it would be too long.
  status end(const status& why) noexcept;
  std::optional<status> why_ended() const;

  static constexpr std::size_t message_bytes_max = 1000;

 private:
  struct header;

  shared_segment(descriptor file, int ranks);
  static std::size_t size_bytes(int ranks) noexcept;
  header& head() const noexcept;
  void check_header() const;

  descriptor file_;
  int ranks_ = 0;
  std::byte* memory_ = nullptr;
};

}  // namespace troupe
