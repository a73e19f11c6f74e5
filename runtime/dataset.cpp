#include <troupe/runtime/dataset.hpp>

#include <fmt/format.h>

#include <random>

namespace troupe::detail {

void rethrow_from_map(std::int64_t index) {
  throw_status(status_of(std::current_exception()).wrap(fmt::format("map: element {}", index)));
}

std::uint64_t random_seed() {
  std::random_device source;
  return (std::uint64_t{source()} << 32) | source();
}

}  // namespace troupe::detail
