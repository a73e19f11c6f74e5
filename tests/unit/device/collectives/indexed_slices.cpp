#include "thread_ranks.hpp"

#include <troupe/device/collectives/indexed_slices.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <boost/test/unit_test.hpp>

#include <string_view>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(indexed_slices_suite)

namespace {

// `rows` rows of two elements, of a tensor of shape (10, 2).
indexed_slices slices(float value, std::initializer_list<std::int64_t> rows) {
  return {tensor::full({static_cast<std::int64_t>(rows.size()), 2}, value), tensor::of<std::int64_t>(rows), {10, 2}};
}

bool equal(const indexed_slices& a, const indexed_slices& b) {
  return a.values.bitwise_equal(b.values) && a.indices.bitwise_equal(b.indices) && a.dense_shape == b.dense_shape;
}

// Two ranks with different slices; every rank must learn why.
void check_refused(const indexed_slices& first, const indexed_slices& second, std::string_view words) {
  auto ends = make_thread_communicators(2);
  const auto results = end_of_ranks(ends, [&](communicator& ranks) {
    all_reduce(ranks, ranks.rank() == 0 ? first : second, reduce_op::sum, ample_time);
  });
  for (const auto& end : results) {
    BOOST_CHECK(end.code() == status_code::invalid_argument);
    BOOST_TEST(end.message().find(words) != std::string::npos, end.render());
  }
  BOOST_CHECK(!ends[0]->broken());
}

}  // namespace

BOOST_AUTO_TEST_CASE(equal_indices_accumulate_in_the_dense_form) {
  const auto dense = densify({tensor::of<float>({3, 1}, {1, 2, 4}), tensor::of<std::int64_t>({2, 0, 2}), {4, 1}});
  BOOST_TEST(dense.bitwise_equal(tensor::of<float>({4, 1}, {2, 0, 5, 0})));
  BOOST_CHECK_THROW(densify(slices(1, {10})), out_of_range_error);
}

BOOST_AUTO_TEST_CASE(slices_that_do_not_fit_their_shape_are_refused) {
  const auto fits = slices(1, {3, 4});
  BOOST_CHECK_NO_THROW(fits.check());
  BOOST_CHECK_THROW((indexed_slices{fits.values, tensor::of<std::int64_t>({3}), {10, 2}}.check()),
                    invalid_argument_error);
  BOOST_CHECK_THROW((indexed_slices{fits.values, tensor::of<std::int32_t>({3, 4}), {10, 2}}.check()),
                    invalid_argument_error);
  BOOST_CHECK_THROW((indexed_slices{fits.values, fits.indices, {10, 3}}.check()), invalid_argument_error);
  BOOST_CHECK_THROW((indexed_slices{fits.values, fits.indices.reshape({2, 1}), {10, 2}}.check()),
                    invalid_argument_error);
  BOOST_CHECK_THROW((indexed_slices{tensor::scalar(1.0f), fits.indices, {}}.check()), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(a_local_reduction_concatenates_and_a_mean_divides_the_values) {
  const std::vector<indexed_slices> parts{slices(3, {1, 5}), slices(6, {5}), slices(9, {})};
  const auto sum = reduce(parts, reduce_op::sum);
  BOOST_TEST(sum.indices.bitwise_equal(tensor::of<std::int64_t>({1, 5, 5})));
  BOOST_TEST(sum.values.bitwise_equal(tensor::of<float>({3, 2}, {3, 3, 3, 3, 6, 6})));
  BOOST_CHECK((sum.dense_shape == shape{10, 2}));
  const auto mean = reduce(parts, reduce_op::mean);
  BOOST_TEST(mean.values.bitwise_equal(tensor::of<float>({3, 2}, {1, 1, 1, 1, 2, 2})));
  BOOST_TEST(mean.indices.bitwise_equal(sum.indices));
}

BOOST_AUTO_TEST_CASE(a_local_reduction_refuses_what_does_not_add_up) {
  const std::vector<indexed_slices> parts{slices(1, {1}),
                                          {tensor::full({1, 3}, 1.0f), tensor::of<std::int64_t>({1}), {10, 3}}};
  BOOST_CHECK_THROW(reduce(parts, reduce_op::sum), invalid_argument_error);
  BOOST_CHECK_THROW(reduce({}, reduce_op::sum), invalid_argument_error);
  BOOST_CHECK_THROW(reduce(std::span{parts}.first(1), reduce_op::max), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(ranks_reduce_slices_of_different_lengths) {
  const std::vector<indexed_slices> parts{slices(3, {1, 5, 9}), slices(6, {}), slices(9, {5})};
  for (const auto op : {reduce_op::sum, reduce_op::mean}) {
    const auto expected = reduce(parts, op);
    on_ranks(3, [&](communicator& ranks) {
      const auto mine = all_reduce(ranks, parts[static_cast<std::size_t>(ranks.rank())], op, ample_time);
      if (!equal(mine, expected)) throw internal_error{"not the concatenation"};
    });
  }
}

BOOST_AUTO_TEST_CASE(ranks_reduce_slices_of_equal_lengths) {
  on_ranks(2, [](communicator& ranks) {
    const auto sum = all_reduce(ranks, slices(1, {ranks.rank(), 4}), reduce_op::sum, ample_time);
    if (!sum.indices.bitwise_equal(tensor::of<std::int64_t>({0, 4, 1, 4}))) throw internal_error{"wrong indices"};
    if (densify(sum).values<float>()[8] != 2.0f) throw internal_error{"wrong sum"};
  });
}

BOOST_AUTO_TEST_CASE(ranks_whose_slices_belong_to_different_tensors_are_named) {
  auto larger = slices(1, {1});
  larger.dense_shape = {11, 2};
  check_refused(slices(1, {1}), larger, "rank 1 has float32 slices of a tensor of shape (11, 2)");
  auto wider = slices(1, {1});
  wider.values = tensor::full({1, 2}, 1.0);
  check_refused(slices(1, {1}), wider, "rank 1 has float64 slices");
}

BOOST_AUTO_TEST_CASE(gathered_slices_are_the_slices_of_the_gathered_dense_tensors) {
  const std::vector<indexed_slices> parts{
      slices(1, {0, 9}), slices(2, {}), {tensor::full({1, 2}, 3.0f), tensor::of<std::int64_t>({1}), {2, 2}}};
  std::vector<tensor> dense;
  for (const auto& each : parts) dense.push_back(densify(each));
  const auto expected = concatenate(dense, 0);
  const auto gathered = concatenate_rows(parts);
  BOOST_TEST(gathered.dense_shape == (shape{22, 2}));
  BOOST_TEST(densify(gathered).bitwise_equal(expected));
  // The parts are as they were.
  BOOST_TEST(parts[2].indices.item<std::int64_t>() == 1);
  on_ranks(3, [&](communicator& ranks) {
    const auto all = all_gather(ranks, parts[static_cast<std::size_t>(ranks.rank())], ample_time);
    if (!equal(all, gathered)) throw internal_error{"not what the parts are together"};
  });
}

BOOST_AUTO_TEST_CASE(slices_of_rows_that_differ_are_not_gathered) {
  const indexed_slices other{tensor::full({1, 3}, 1.0f), tensor::of<std::int64_t>({0}), {10, 3}};
  BOOST_CHECK_THROW(concatenate_rows(std::vector{slices(1, {0}), other}), invalid_argument_error);
  BOOST_CHECK_THROW(concatenate_rows({}), invalid_argument_error);
  auto ends = make_thread_communicators(2);
  for (const auto& end : end_of_ranks(ends, [&](communicator& ranks) {
         all_gather(ranks, ranks.rank() == 0 ? slices(1, {0}) : other, ample_time);
       }))
    BOOST_CHECK(end.code() == status_code::invalid_argument);
  BOOST_CHECK(!ends[0]->broken());
}

BOOST_AUTO_TEST_SUITE_END()
