// Sleeping until a number in memory changes, with a deadline: std::atomic::wait has none, and a condition variable
// needs a lock that every woken thread takes in turn. Private to the library.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace troupe {

/// `shared`: the word lies in memory that several processes map. Slower, because the kernel looks the page up.
enum class futex_scope { process, shared };

/// Sleeps while the word has this value: until woken, or the deadline, or for no reason at all. Look again afterwards.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::chrono::steady_clock::time_point deadline, futex_scope scope) noexcept;

/// Wakes all who sleep on the word.
void futex_wake_all(const std::atomic<std::uint32_t>& word, futex_scope scope) noexcept;

}  // namespace troupe
