// std::random_device for code that also runs in simulations, where its numbers come from the world's seed:
//
//   std::mt19937_64 numbers{troupe::random_device{}()};
#pragma once

#include <cstdint>
#include <limits>

namespace troupe {

/// Any thread; objects have no state of their own.
class random_device {
 public:
  using result_type = std::uint32_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() const;
};

/// 64 bits of it.
inline std::uint64_t random_number() {
  const random_device source;
  const auto high = std::uint64_t{source()} << 32;
  return high | source();
}

}  // namespace troupe
