#include "bench_rounds.hpp"

#include <algorithm>
#include <thread>
#include <vector>

namespace troupe::tools {

double microseconds_per_round(std::chrono::nanoseconds slice, const std::function<void(int)>& rounds) {
  using clock = std::chrono::steady_clock;
  constexpr auto largest_batch = 200;
  constexpr auto batches = 4;  // in a slice, so that it is not much longer
  auto batch = 1;
  auto done = 0;
  const auto start = clock::now();
  do {
    const auto before = clock::now();
    rounds(batch);
    done += batch;
    if (clock::now() - before < slice / (2 * batches)) batch = std::min(2 * batch, largest_batch);
  } while (clock::now() - start < slice);
  return std::chrono::duration<double, std::micro>(clock::now() - start).count() / done;
}

void on_threads(int threads, int rounds, const std::function<void(int)>& each) {
  std::vector<std::jthread> all;
  all.reserve(static_cast<std::size_t>(threads));
  for (auto i = 0; i < threads; ++i)
    all.emplace_back([&, i] {
      for (auto k = 0; k < rounds; ++k) each(i);
    });
}

}  // namespace troupe::tools
