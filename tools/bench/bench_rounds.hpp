// How long one of many rounds takes, on threads and in replicas.
#pragma once

#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/strategy.hpp>

#include <chrono>
#include <functional>

namespace troupe::tools {

/// Microseconds for one of many rounds that take about `slice`; `rounds(n)` does n of them.
double microseconds_per_round(std::chrono::nanoseconds slice, const std::function<void(int)>& rounds);

/// `rounds` rounds of `each(thread)` on so many threads at once.
void on_threads(int threads, int rounds, const std::function<void(int)>& each);

/// The same for rounds of all replicas; each has a copy of `round`.
template <class Round>
double microseconds_in_replicas(std::chrono::nanoseconds slice, const strategy& strategy, const Round& round) {
  return microseconds_per_round(slice, [&](int rounds) {
    strategy.run([&] {
      auto each = round;
      for (auto i = 0; i < rounds; ++i) each();
    });
  });
}

}  // namespace troupe::tools
