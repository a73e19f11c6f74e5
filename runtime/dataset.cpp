#include <troupe/runtime/dataset.hpp>

#include <fmt/format.h>

namespace troupe::detail {

void rethrow_from_map(std::int64_t index) {
  throw_status(status_of(std::current_exception()).wrap(fmt::format("map: element {}", index)));
}

}  // namespace troupe::detail
