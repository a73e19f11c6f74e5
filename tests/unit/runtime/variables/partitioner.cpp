// Partitioners and placement (examples/reference/semantics.md 1.6).
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/partitioner.hpp>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(partitioner_suite)

BOOST_AUTO_TEST_CASE(rows_are_split_with_the_larger_shards_first) {
  BOOST_TEST(split_rows(10, 3) == (std::vector<std::int64_t>{4, 3, 3}), boost::test_tools::per_element());
  BOOST_TEST(split_rows(2, 2) == (std::vector<std::int64_t>{1, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_fixed_number_of_shards_is_bounded_by_the_rows) {
  const auto shards = fixed_shards_partitioner(4);
  BOOST_TEST(shards({10, 3}, dtype::float32) == 4);
  BOOST_TEST(shards({3, 100}, dtype::float32) == 3);
  BOOST_TEST(shards({}, dtype::float32) == 1);
  BOOST_CHECK_THROW(fixed_shards_partitioner(0), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(min_size_makes_as_many_shards_as_are_large_enough) {
  const auto shards = min_size_partitioner(1000, 8);
  BOOST_TEST(shards({10, 10}, dtype::float32) == 1);
  BOOST_TEST(shards({100, 10}, dtype::float32) == 4);
  BOOST_TEST(shards({1000, 10}, dtype::float32) == 8);
  BOOST_TEST(min_size_partitioner()({1'000'000}, dtype::float32) == 1);
  BOOST_CHECK_THROW(min_size_partitioner(0, 1), invalid_argument_error);
  BOOST_CHECK_THROW(min_size_partitioner(1, 0), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(max_size_makes_as_few_shards_as_are_small_enough) {
  const auto shards = max_size_partitioner(400);
  BOOST_TEST(shards({10, 10}, dtype::float32) == 1);
  BOOST_TEST(shards({11, 10}, dtype::float32) == 2);
  BOOST_TEST(shards({100, 1000}, dtype::float32) == 100);
  BOOST_TEST(max_size_partitioner(400, 3)({100, 10}, dtype::float32) == 3);
  BOOST_CHECK_THROW(max_size_partitioner(0), invalid_argument_error);
  BOOST_CHECK_THROW(max_size_partitioner(1, -1), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(round_robin_takes_turns_and_balanced_bytes_takes_the_emptiest) {
  server_allocator turns{server_placement::round_robin, 2};
  BOOST_TEST(turns.next(1000) == 0);
  BOOST_TEST(turns.next(1) == 1);
  BOOST_TEST(turns.next(1) == 0);
  server_allocator bytes{server_placement::balanced_bytes, 2};
  BOOST_TEST(bytes.next(1000) == 0);
  BOOST_TEST(bytes.next(1) == 1);
  BOOST_TEST(bytes.next(1) == 1);
  // The large one is removed.
  bytes.give_back(0, 1000);
  BOOST_TEST(bytes.next(1) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
