// What the ranks of one thread_communicator group share: who calls what, with which memory, and what ended the group.
// Private to thread_communicator.cpp.
//
// A call goes like this on every rank:
//
//   meet      write the call and the addresses of input and output into this rank's slot; wait until all ranks have
//             done so; compare the calls
//   work      read and write this rank's share of everybody's memory
//   depart    wait until all ranks have finished working
//
// Small inputs are copied into the slot instead of announced by address. Then every rank does all of the work for its
// own output, nobody reads anybody's tensors, and nobody has to wait at the end: one meeting instead of two.
//
// T-1 A rank's tensors are touched by others only between a complete meeting and the departure that follows. A rank
//     that leaves a call before its departure does so because the meeting was ended, and then it is complete for nobody
//     (M-1), or because the calls differ, which all ranks see. So no rank ever touches memory whose owner may have
//     left.
// T-2 The departure needs no deadline and no end: all ranks are on their way to it, with bounded work.
// T-3 A slot has two announcements, used in turn. A rank overwrites one only two calls later; by then all others have
//     announced the call between, so they are done with reading it.
#pragma once

#include <troupe/device/collectives/communicator.hpp>
#include <troupe/device/collectives/internal/meeting_point.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

class thread_group {
 public:
  /// Inputs up to this size are copied into slots. With more, doing all the work on every rank costs more than a
  /// second meeting.
  static constexpr std::size_t small_bytes_max = 1024;

  struct announcement {
    collective call;
    const std::byte* input = nullptr;  // the caller's, or `small`
    std::byte* output = nullptr;
    alignas(64) std::array<std::byte, small_bytes_max> small;
  };

  explicit thread_group(int size) : slots_(static_cast<std::size_t>(size)), arrivals_(size), departures_(size) {}

  /// Announces this rank's n-th call (from 0) and waits for the n-th call of all others. Throws when the calls differ
  /// or the deadline passes, which ends the group, and what has ended the group before.
  void meet(int rank, std::uint64_t n, const collective& call, const std::byte* input, std::byte* output,
            communicator::clock::time_point deadline);
  /// What a rank has announced. Valid until this rank's next call, or departure if the input is not small.
  const announcement& announced(int rank, std::uint64_t n) const { return slot(rank).announcements[n % 2]; }
  /// Waits until all ranks have finished their work.
  void depart() noexcept;

  /// The first reason counts. Any thread.
  void end(status why) noexcept;
  std::optional<status> why_ended() const;

 private:
  struct alignas(64) rank_slot {
    std::atomic<std::uint64_t> calls{0};  // announced
    std::array<announcement, 2> announcements;
  };

  rank_slot& slot(int rank) { return slots_[static_cast<std::size_t>(rank)]; }
  const rank_slot& slot(int rank) const { return slots_[static_cast<std::size_t>(rank)]; }
  void announce(int rank, std::uint64_t n, const collective& call, const std::byte* input, std::byte* output);
  void give_up(int rank, std::uint64_t n, meeting_point::round round);
  void check_calls_equal(std::uint64_t n);
  std::vector<int> missing(std::uint64_t n) const;
  [[noreturn]] void throw_why_ended() const;

  std::vector<rank_slot> slots_;
  meeting_point arrivals_;
  meeting_point departures_;

  mutable std::mutex mutex_;
  status why_ended_;  // not ok as soon as arrivals_ has ended, for everybody who locks
};

}  // namespace troupe
