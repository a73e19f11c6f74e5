#include <troupe/runtime/door/descriptor_limit.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace troupe {

namespace {

/// The soft limit from which it was raised, and to what; equal when nobody has done that.
std::atomic<rlim_t> soft_before{0};
std::atomic<rlim_t> soft_raised{0};

rlimit current() noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit;
}

}  // namespace

void raise_descriptor_limit() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    const auto before = current();
    auto raised = before;
    raised.rlim_cur = raised.rlim_max;
    // The limit is a help and no need: where a sandbox forbids it, the process works with what it has.
    if (before.rlim_cur >= raised.rlim_cur || ::setrlimit(RLIMIT_NOFILE, &raised) != 0) return;
    soft_before = before.rlim_cur;
    soft_raised = raised.rlim_cur;
  });
}

std::size_t descriptor_limit() noexcept {
  constexpr rlim_t enough = 1 << 20;  // "unlimited" as a number to reckon with
  return std::min(current().rlim_cur, enough);
}

rlimit descriptor_limit_for_children() noexcept {
  auto limit = current();
  // Another value is not ours: somebody has set it since.
  if (limit.rlim_cur == soft_raised) limit.rlim_cur = soft_before;
  return limit;
}

}  // namespace troupe
