// What the all_reduce cases among threads and among processes have in common.
#pragma once

#include "bench_harness.hpp"

#include <troupe/device/collectives/communicator.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::tools {

struct all_reduce_size {
  std::string_view name;
  std::int64_t bytes;
};

inline constexpr std::array<all_reduce_size, 7> all_reduce_sizes{{{"4B", 4},
                                                                  {"1KiB", 1 << 10},
                                                                  {"64KiB", 64 << 10},
                                                                  {"1MiB", 1 << 20},
                                                                  {"4MiB", 4 << 20},
                                                                  {"64MiB", 64 << 20},
                                                                  {"256MiB", 256 << 20}}};

/// Why a page of figures leaves the size out for so many ranks, or nothing: it has a small, a medium and a large one
/// for two ranks, and the medium one for more.
std::string reason_to_leave_out(int ranks, std::int64_t bytes);

/// How many elements of a sum over all ranks are wrong. Every rank calls it.
std::int64_t count_wrong_sums(communicator& ranks, std::int64_t bytes);

/// Adds the columns of nccl-tests to a figure whose value is a time in microseconds: size, count, type, redop, time,
/// algbw, busbw, #wrong. The bus bandwidth is what each rank would have to send and receive in a ring.
void add_collective_columns(figure& row, int ranks, std::int64_t bytes, std::int64_t wrong);

}  // namespace troupe::tools
