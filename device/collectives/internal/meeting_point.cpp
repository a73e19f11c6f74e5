#include <troupe/device/collectives/internal/futex.hpp>
#include <troupe/device/collectives/internal/meeting_point.hpp>

namespace troupe {

meeting_point::round meeting_point::arrive() noexcept {
  const auto current = state_.load(std::memory_order_acquire) & ~ended_bit;
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < members_) return current;
  // Before the round is complete: members may arrive at the next one at once.
  arrived_.store(0, std::memory_order_relaxed);
  auto open = current;
  if (state_.compare_exchange_strong(open, current + 2)) wake();
  return current;
}

meeting_point::outcome meeting_point::wait(round which, clock::time_point deadline) noexcept {
  if (!spin_.until(deadline, [&] { return outcome_of(which) != outcome::late; })) {
    // Whoever changes the state looks for sleepers afterwards; here it is the other way round.
    sleepers_.fetch_add(1);
    while (outcome_of(which) == outcome::late && clock::now() < deadline) {
      futex_wait(state_, which, deadline, futex_scope::process);
    }
    sleepers_.fetch_sub(1);
  }
  return outcome_of(which);
}

bool meeting_point::end(round which) noexcept {
  auto open = which;
  if (state_.compare_exchange_strong(open, which | ended_bit)) wake();
  return outcome_of(which) == outcome::ended;
}

void meeting_point::end() noexcept {
  state_.fetch_or(ended_bit);
  wake();
}

meeting_point::outcome meeting_point::outcome_of(round which) const noexcept {
  const auto state = state_.load();
  if ((state & ~ended_bit) != which) return outcome::complete;
  return state == which ? outcome::late : outcome::ended;
}

void meeting_point::wake() noexcept {
  if (sleepers_.load() > 0) futex_wake_all(state_, futex_scope::process);
}

}  // namespace troupe
