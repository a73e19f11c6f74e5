// What every communicator must do, whatever it is made of: each test of one runs these checks on all ranks at once.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace troupe {

struct collective_checks {
  std::vector<std::int64_t> counts{0, 1, 3, 64, 1000, 4099};
  std::chrono::nanoseconds limit = std::chrono::seconds{60};
};

/// Every collective, operation and dtype, against plain loops. Throws data_loss_error that says what differs.
void check_collectives(communicator& ranks, const collective_checks& options = {});

/// Throws data_loss_error unless the results of an all_reduce over large random floats have equal bits on all ranks.
void check_equal_bits(communicator& ranks, std::int64_t count, std::chrono::nanoseconds limit);

}  // namespace troupe
