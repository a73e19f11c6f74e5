#include "thread_ranks.hpp"

#include <troupe/device/collectives/gather.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(gather_suite)

namespace {

tensor counting(const shape& extents, int from) {
  auto result = tensor::zeros(dtype::int32, extents);
  for (auto& each : result.mutable_values<std::int32_t>()) each = from++;
  return result;
}

// Gathers what the ranks have, and compares with a concatenation of all.
void check_gather(const std::vector<tensor>& parts, int axis) {
  const auto expected = concatenate(parts, axis);
  on_ranks(static_cast<int>(parts.size()), [&](communicator& ranks) {
    const auto all = gather_uneven(ranks, parts[static_cast<std::size_t>(ranks.rank())], axis, ample_time);
    if (!all.bitwise_equal(expected)) throw internal_error{"not the concatenation: " + all.to_string()};
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(uneven_tensors_are_gathered_along_any_axis) {
  check_gather({counting({2, 3}, 0), counting({1, 3}, 100), counting({4, 3}, 200)}, 0);
  check_gather({counting({2, 3}, 0), counting({2, 1}, 100), counting({2, 4}, 200)}, 1);
  check_gather({counting({2, 3, 2}, 0), counting({2, 1, 2}, 100)}, -2);
  check_gather({counting({2, 3}, 0), counting({0, 3}, 100)}, 0);
  check_gather({counting({0}, 0), counting({0}, 0)}, 0);
  check_gather({counting({5}, 0)}, -1);
}

BOOST_AUTO_TEST_CASE(equal_tensors_are_gathered_along_any_axis) {
  check_gather({counting({2, 3}, 0), counting({2, 3}, 100)}, 0);
  check_gather({counting({2, 3}, 0), counting({2, 3}, 100), counting({2, 3}, 200)}, 1);
}

BOOST_AUTO_TEST_CASE(large_uneven_tensors_of_any_type_are_gathered) {
  check_gather({tensor::full({1000, 3}, true), tensor::full({1, 3}, false)}, 0);
  check_gather({tensor::full({3, 1000}, 1.5), tensor::full({3, 999}, 2.5)}, 1);
}

BOOST_AUTO_TEST_CASE(tensors_that_do_not_fit_are_named_on_all_ranks_and_the_group_stays_usable) {
  const std::vector<std::vector<tensor>> misfits{{counting({2, 3}, 0), counting({2, 4}, 0)},
                                                 {counting({2, 3}, 0), counting({2, 3, 1}, 0)},
                                                 {tensor::of({1.0f}), tensor::of({1})}};
  for (const auto& parts : misfits) {
    auto ends = make_thread_communicators(2);
    const auto results = end_of_ranks(ends, [&](communicator& ranks) {
      gather_uneven(ranks, parts[static_cast<std::size_t>(ranks.rank())], 0, ample_time);
    });
    BOOST_CHECK(results[0].code() == status_code::invalid_argument);
    BOOST_TEST(results[0].message().find(parts[0].get_shape().to_string()) != std::string::npos);
    BOOST_TEST(results[0].message().find(parts[1].get_shape().to_string()) != std::string::npos);
    BOOST_CHECK(results[0] == results[1]);
    BOOST_CHECK(!ends[0]->broken());
  }
}

BOOST_AUTO_TEST_CASE(an_axis_that_is_not_there_is_refused_before_anything_is_sent) {
  auto ends = make_thread_communicators(2);
  BOOST_CHECK_THROW(gather_uneven(*ends[0], counting({2, 3}, 0), 2, ample_time), out_of_range_error);
  BOOST_CHECK_THROW(gather_uneven(*ends[0], tensor::scalar(1), 0, ample_time), out_of_range_error);
  BOOST_CHECK_THROW(gather_uneven(*ends[0], counting({2}, 0), 0, std::chrono::nanoseconds{-1}), invalid_argument_error);
  BOOST_CHECK(!ends[0]->broken());
}

BOOST_AUTO_TEST_SUITE_END()
