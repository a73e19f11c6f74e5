// Where the threads of a group wait for each other, again and again: a barrier with an end.
//
// A barrier that can only be completed hangs when one thread is missing. This one can be ended instead, and the two
// exclude each other: either all members have arrived at a round, and all of them learn that it is complete, or the
// round was ended first, and none of them ever sees it complete. That one fact, decided by one atomic word, is what
// lets a rank that gives up leave with its buffers while others are still busy.
//
// M-1 A round is complete, or ended, or open; complete and ended are final. Nothing after an ended round completes.
// M-2 What a member wrote before arriving is visible to all others after the round is complete.
//
// Waiting looks at the word for a while (spin_wait.hpp), then sleeps.
#pragma once

#include <troupe/device/collectives/internal/spin_wait.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace troupe {

class meeting_point {
 public:
  using clock = std::chrono::steady_clock;
  enum class outcome { complete, ended, late };
  /// Which meeting, as a number that is only compared.
  using round = std::uint32_t;

  explicit meeting_point(int members) : members_(members) {}

  /// Each member once in each round: it is here. Completes the round if all are. Never blocks.
  round arrive() noexcept;
  /// Waits until the round at which the caller has arrived is complete or ended, or the deadline has passed (late:
  /// then the round may still complete).
  outcome wait(round which, clock::time_point deadline) noexcept;

  /// Ends this round if it is not complete; says whether it is ended now.
  bool end(round which) noexcept;
  /// Ends whatever is not complete yet.
  void end() noexcept;

 private:
  static constexpr std::uint32_t ended_bit = 1;

  outcome outcome_of(round which) const noexcept;
  void wake() noexcept;

  const int members_;
  // One cache line: who completes a round needs all of it.
  alignas(64) std::atomic<std::uint32_t> state_{0};  // number of complete rounds, shifted; ended_bit
  std::atomic<int> arrived_{0};                      // at the open round
  std::atomic<int> sleepers_{0};
  spin_wait spin_;
};

}  // namespace troupe
