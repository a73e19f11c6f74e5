// Memory is the limit here: each input is read once and each output written once, from main memory or from another
// core's cache. So the work goes in blocks, whose accumulators stay in the first cache. Compiled for vectorisation (see
// CMakeLists.txt); the accumulators are of a fixed size and local, so there is nothing that they could overlap with.
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/collectives/internal/rank_reduction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace troupe {

namespace {

using numeric::convert;
using numeric::wide;
using numeric::widen;

constexpr std::size_t block_elements = 1024;

struct placed_block {
  std::size_t begin;
  std::size_t count;
};

template <class T>
const T* elements(const std::byte* address, std::size_t begin) {
  return reinterpret_cast<const T*>(address) + begin;
}

template <class T, class Operation>
void reduce_block(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, placed_block where,
                  Operation operation, auto finish) {
  alignas(64) std::array<wide<T>, block_elements> sums;
  alignas(64) std::array<T, block_elements> results;
  const auto* first = elements<T>(inputs[0], where.begin);
  const auto* second = elements<T>(inputs[1], where.begin);
  for (auto i = std::size_t{0}; i < where.count; ++i) sums[i] = operation(widen(first[i]), widen(second[i]));
  for (const auto* input : inputs.subspan(2)) {
    const auto* next = elements<T>(input, where.begin);
    for (auto i = std::size_t{0}; i < where.count; ++i) sums[i] = operation(sums[i], widen(next[i]));
  }
  for (auto i = std::size_t{0}; i < where.count; ++i) results[i] = convert<T>(finish(sums[i]));
  for (auto* output : outputs) {
    std::memcpy(output + where.begin * sizeof(T), results.data(), where.count * sizeof(T));
  }
}

template <class T, class Operation>
void reduce(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::size_t count,
            Operation operation, auto finish) {
  for (auto begin = std::size_t{0}; begin < count; begin += block_elements) {
    reduce_block<T>(inputs, outputs, {begin, std::min(block_elements, count - begin)}, operation, finish);
  }
}

template <class T>
void reduce_elements(reduce_op op, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                     std::size_t count) {
  const auto as_it_is = [](wide<T> x) { return x; };
  switch (op) {
    case reduce_op::sum:
      return reduce<T>(inputs, outputs, count, numeric::add{}, as_it_is);
    case reduce_op::mean: {
      if constexpr (std::integral<T>) {
        throw invalid_argument_error{fmt::format("the mean of {} has no place in {}: reduce the sum, or cast first",
                                                 to_string(dtype_of<T>), to_string(dtype_of<T>))};
      } else {
        const auto ranks = static_cast<wide<T>>(inputs.size());
        return reduce<T>(inputs, outputs, count, numeric::add{}, [ranks](wide<T> sum) { return sum / ranks; });
      }
    }
    case reduce_op::min:
      return reduce<T>(inputs, outputs, count, numeric::minimum{}, as_it_is);
    case reduce_op::max:
      return reduce<T>(inputs, outputs, count, numeric::maximum{}, as_it_is);
    case reduce_op::product:
      return reduce<T>(inputs, outputs, count, numeric::multiply{}, as_it_is);
  }
}

}  // namespace

void reduce_ranks(reduce_op op, dtype type, std::span<const std::byte* const> inputs,
                  std::span<std::byte* const> outputs, std::size_t count) {
  numeric::visit_arithmetic(to_string(op), type, [&]<class T>(std::type_identity<T>) {
    if (inputs.size() > 1) return reduce_elements<T>(op, inputs, outputs, count);
    for (auto* output : outputs) {
      if (count > 0 && output != inputs[0]) std::memcpy(output, inputs[0], count * sizeof(T));
    }
  });
}

}  // namespace troupe
