#include <troupe/device/collectives/internal/futex.hpp>

#include <climits>

#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace troupe {

namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);

// Errors are not looked at: a changed value, a signal and a passed deadline all mean that the caller looks again.
void call_futex(const std::atomic<std::uint32_t>& word, int operation, futex_scope scope, std::uint32_t value,
                const std::timespec* deadline) noexcept {
  const auto flags = scope == futex_scope::process ? FUTEX_PRIVATE_FLAG : 0;
  syscall(SYS_futex, &word, operation | flags, value, deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::chrono::steady_clock::time_point deadline, futex_scope scope) noexcept {
  using namespace std::chrono;
  // The steady clock is CLOCK_MONOTONIC, to which this operation refers.
  const auto since_start = deadline.time_since_epoch();
  const auto whole = floor<seconds>(since_start);
  const std::timespec until{.tv_sec = whole.count(), .tv_nsec = nanoseconds{since_start - whole}.count()};
  call_futex(word, FUTEX_WAIT_BITSET, scope, value, &until);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word, futex_scope scope) noexcept {
  call_futex(word, FUTEX_WAKE, scope, INT_MAX, nullptr);
}

}  // namespace troupe
