#include "thread_ranks.hpp"

#include <troupe/device/kernels/elementwise.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(thread_communicator_suite)

namespace {

constexpr auto group_sizes = {1, 2, 3, 4, 8};
// Around the size that travels in slots (1 KiB), around shares and blocks, odd, and none.
constexpr auto counts = {0, 1, 7, 64, 255, 257, 1023, 5001};
constexpr auto operations = {reduce_op::sum, reduce_op::mean, reduce_op::min, reduce_op::max, reduce_op::product};
constexpr auto numbers = {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16, dtype::int8,
                          dtype::int16,   dtype::int32,   dtype::int64,   dtype::uint8};

// Any bits for integers; for floats ordinary values, with infinities, zeros and a NaN among them.
tensor values_of_rank(int rank, dtype type, std::int64_t count) {
  std::mt19937_64 random{static_cast<std::uint64_t>(rank) * 1000 + static_cast<std::uint64_t>(count)};
  auto result = tensor::zeros(type, {count});
  if (!is_floating(type)) {
    for (auto& byte : result.mutable_bytes()) byte = static_cast<std::byte>(random());
    return result;
  }
  auto wide = tensor::zeros(dtype::float64, {count});
  for (auto& each : wide.mutable_values<double>()) each = std::uniform_real_distribution{-3.0, 3.0}(random);
  const auto infinity = std::numeric_limits<double>::infinity();
  const auto special = {infinity, -infinity, 0.0, -0.0, std::nan("")};
  if (count > 100) {
    auto place = std::size_t{0};
    for (const auto x : special) wide.mutable_values<double>()[10 * ++place + static_cast<std::size_t>(rank)] = x;
  }
  return cast(wide, type);
}

template <class T>
double as_double(T x) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return static_cast<float>(x);
  } else {
    return static_cast<double>(x);
  }
}

template <class T>
T combine(reduce_op op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using bits = std::uint64_t;
    if (op == reduce_op::sum) return static_cast<T>(static_cast<bits>(a) + static_cast<bits>(b));
    if (op == reduce_op::product) return static_cast<T>(static_cast<bits>(a) * static_cast<bits>(b));
  } else {
    if (op == reduce_op::sum || op == reduce_op::mean) return a + b;
    if (op == reduce_op::product) return a * b;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  }
  return op == reduce_op::min ? std::min(a, b) : std::max(a, b);
}

// A plain loop over ranks, one element at a time.
tensor expected_reduction(reduce_op op, const std::vector<tensor>& inputs) {
  auto result = tensor::zeros(inputs[0].get_dtype(), inputs[0].get_shape());
  visit_dtype(result.get_dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, bool>) {
      constexpr auto is_half = sizeof(T) == 2 && !std::is_integral_v<T>;
      using computed = std::conditional_t<is_half, float, T>;
      const auto targets = result.mutable_values<T>();
      for (auto i = std::size_t{0}; i < targets.size(); ++i) {
        auto x = static_cast<computed>(inputs[0].values<T>()[i]);
        for (auto rank = std::size_t{1}; rank < inputs.size(); ++rank) {
          x = combine<computed>(op, x, static_cast<computed>(inputs[rank].values<T>()[i]));
        }
        if (op == reduce_op::mean) x = static_cast<computed>(x / static_cast<computed>(inputs.size()));
        targets[i] = T(x);
      }
    }
  });
  return result;
}

// Equal bits, except that NaNs have no meaning in their bits.
bool same(const tensor& a, const tensor& b) {
  if (!is_floating(a.get_dtype())) return a.bitwise_equal(b);
  const auto bits = [](const auto& x) { return std::bit_cast<std::array<std::byte, sizeof(x)>>(x); };
  auto equal = a.get_dtype() == b.get_dtype() && a.get_shape() == b.get_shape();
  visit_dtype(a.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for (auto i = std::size_t{0}; equal && i < a.values<T>().size(); ++i) {
      const auto& x = a.values<T>()[i];
      const auto& y = b.values<T>()[i];
      equal = bits(x) == bits(y) || (std::isnan(as_double(x)) && std::isnan(as_double(y)));
    }
  });
  return equal;
}

std::vector<tensor> inputs_of(int ranks, dtype type, std::int64_t count) {
  std::vector<tensor> inputs;
  inputs.reserve(static_cast<std::size_t>(ranks));
  for (auto rank = 0; rank < ranks; ++rank) inputs.push_back(values_of_rank(rank, type, count));
  return inputs;
}

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

// One all_reduce on all ranks: right, and the same bits everywhere.
void check_all_reduce(int size, reduce_op op, dtype type, std::int64_t count) {
  const auto inputs = inputs_of(size, type, count);
  auto results = inputs;
  on_ranks(size, [&](communicator& ranks) { ranks.all_reduce(results[at(ranks.rank())], op, ample_time); });
  const auto right = std::ranges::all_of(results, [&](const tensor& x) { return x.bitwise_equal(results[0]); });
  BOOST_TEST((right && same(results[0], expected_reduction(op, inputs))),
             fmt::format("{} of {} x {} over {} ranks", to_string(op), count, to_string(type), size));
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_reduce_equals_a_plain_loop_for_every_operation_and_type) {
  for (const auto size : group_sizes) {
    for (const auto type : numbers) {
      for (const auto op : operations) {
        if (op == reduce_op::mean && !is_floating(type)) continue;
        for (const auto count : counts) check_all_reduce(size, op, type, count);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(all_reduce_of_many_chunks_is_right) {
  for (const auto size : {2, 3}) {
    check_all_reduce(size, reduce_op::sum, dtype::float32, 500'003);
    check_all_reduce(size, reduce_op::mean, dtype::float16, 500'003);
  }
}

BOOST_AUTO_TEST_CASE(all_reduce_leaves_others_that_share_the_tensor_alone) {
  on_ranks(2, [](communicator& ranks) {
    const auto before = tensor::full({1000}, 1.0f);
    auto x = before;
    ranks.all_reduce(x, reduce_op::sum, ample_time);
    if (before.values<float>()[999] != 1.0f || x.values<float>()[999] != 2.0f) throw internal_error{"wrong"};
  });
}

BOOST_AUTO_TEST_CASE(parts_of_a_tensor_take_part_where_they_lie) {
  on_ranks(3, [](communicator& ranks) {
    const auto whole = tensor::full({4, 333}, 1.0f);
    auto x = whole.slice(1, 4);
    ranks.all_reduce(x, reduce_op::sum, ample_time);
    if (!x.bitwise_equal(tensor::full({3, 333}, 3.0f))) throw internal_error{"wrong"};
  });
}

BOOST_AUTO_TEST_CASE(reduce_scatter_gives_each_rank_its_rows) {
  for (const auto size : group_sizes) {
    for (const auto type : {dtype::float32, dtype::bfloat16, dtype::uint8}) {
      for (const auto rows : {0, 1, 5, 700}) {
        const auto inputs = inputs_of(size, type, size * rows * 3);
        const auto expected = expected_reduction(reduce_op::max, inputs).reshape({size * rows, 3});
        on_ranks(size, [&](communicator& ranks) {
          const auto rank = ranks.rank();
          const auto mine =
              ranks.reduce_scatter(inputs[at(rank)].reshape({size * rows, 3}), reduce_op::max, ample_time);
          if (!same(mine, expected.slice(rank * rows, (rank + 1) * rows))) throw internal_error{"wrong rows"};
        });
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(all_gather_concatenates_in_the_order_of_ranks) {
  for (const auto size : group_sizes) {
    for (const auto type : {dtype::float64, dtype::int16, dtype::boolean}) {
      for (const auto rows : {0, 1, 5, 700, 50'000}) {
        std::vector<tensor> inputs;
        inputs.reserve(at(size));
        for (auto rank = 0; rank < size; ++rank) {
          inputs.push_back(cast(values_of_rank(rank, dtype::int64, 2 * rows), type).reshape({rows, 2}));
        }
        const auto expected = concatenate(inputs, 0);
        on_ranks(size, [&](communicator& ranks) {
          if (!ranks.all_gather(inputs[at(ranks.rank())], ample_time).bitwise_equal(expected)) {
            throw internal_error{"wrong concatenation"};
          }
        });
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(broadcast_copies_the_roots_tensor_to_all) {
  for (const auto size : group_sizes) {
    for (auto root = 0; root < size; ++root) {
      for (const auto count : {0, 1, 300, 200'001}) {
        const auto inputs = inputs_of(size, dtype::int32, count);
        on_ranks(size, [&](communicator& ranks) {
          auto x = inputs[at(ranks.rank())];
          ranks.broadcast(x, root, ample_time);
          if (!x.bitwise_equal(inputs[at(root)])) throw internal_error{"not the root's tensor"};
        });
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(nobody_passes_a_barrier_before_all_have_come) {
  for (const auto size : group_sizes) {
    std::atomic<int> came{0};
    on_ranks(size, [&](communicator& ranks) {
      for (auto round = 1; round <= 200; ++round) {
        ++came;
        ranks.barrier(ample_time);
        if (came < round * size) throw internal_error{"a rank is missing"};
        ranks.barrier(ample_time);
      }
    });
  }
}

BOOST_AUTO_TEST_CASE(long_sequences_of_different_calls_stay_in_step) {
  for (const auto size : {2, 4}) {
    on_ranks(size, [&](communicator& ranks) {
      for (auto i = std::int64_t{0}; i < 1000; ++i) {
        auto x = tensor::full({1 + i % 400}, static_cast<float>(i + ranks.rank()));
        ranks.all_reduce(x, reduce_op::max, ample_time);
        if (x.values<float>().back() != static_cast<float>(i + size - 1)) throw internal_error{"wrong maximum"};
        auto y = tensor::scalar(i * ranks.rank());
        ranks.broadcast(y, static_cast<int>(i % size), ample_time);
        if (y.item<std::int64_t>() != i * (i % size)) throw internal_error{"wrong root"};
        const auto all = ranks.all_gather(tensor::of({std::int64_t{ranks.rank()}}), ample_time);
        if (all.values<std::int64_t>().back() != size - 1) throw internal_error{"wrong rank"};
      }
    });
  }
}

BOOST_AUTO_TEST_CASE(a_group_of_no_ranks_is_refused) {
  BOOST_CHECK_THROW(make_thread_communicators(0), invalid_argument_error);
  BOOST_CHECK_THROW(make_thread_communicators(-1), invalid_argument_error);
}

BOOST_AUTO_TEST_SUITE_END()
