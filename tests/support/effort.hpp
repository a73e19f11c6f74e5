// What work costs as there is more of it: a test can't tell how long something may take, but that ten times as much
// takes about ten times as long, and not a hundred times.
#pragma once

#include <algorithm>
#include <ctime>
#include <limits>

namespace troupe {

/// CPU time that the calling thread needs for it, the least of three times, in seconds.
template <class Work>
double effort_of(Work work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  auto least = std::numeric_limits<double>::max();
  for (int i = 0; i < 3; ++i) {
    const auto before = now();
    work();
    least = std::min(least, now() - before);
  }
  return least;
}

/// How many times as much it costs to do `work(10 * count)` as to do `work(count)`: about 10 if it is in proportion,
/// and up to 100 if each piece looks at all others.
template <class Work>
double cost_of_ten_times_as_much(int count, Work work) {
  const auto once = effort_of([&] { work(count); });
  return effort_of([&] { work(10 * count); }) / once;
}

}  // namespace troupe
