// The random numbers of one simulation: each concern draws from a stream of its own, so that one draw more or less of
// one of them (another fault, another message) leaves the draws of the others as they were.
#pragma once

#include <cstdint>
#include <random>

namespace troupe {

class random_stream {
 public:
  random_stream(std::uint64_t seed, std::uint64_t number) {
    std::seed_seq mixed{seed & 0xffff'ffff, seed >> 32, number};
    engine_.seed(mixed);
  }

  std::uint64_t operator()() { return engine_(); }
  /// From 0 to `limit` - 1.
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

 private:
  std::mt19937_64 engine_;
};

struct random_streams {
  explicit random_streams(std::uint64_t seed)
      : order(seed, 1),
        network(seed, 2),
        identities(seed, 3),
        faults(seed, 4),
        application(seed, 5),
        disks(seed, 7),
        corruption(seed, 8) {}

  /// What happens next of all that could.
  random_stream order;
  /// Latencies, and what is lost when a process dies.
  random_stream network;
  /// Incarnations.
  random_stream identities;
  /// Failures that are drawn from rates.
  random_stream faults;
  /// What scenarios draw.
  random_stream application;
  /// What a loss of power leaves of what was not synced.
  random_stream disks;
  /// What a corrupted message says.
  random_stream corruption;
};

}  // namespace troupe
