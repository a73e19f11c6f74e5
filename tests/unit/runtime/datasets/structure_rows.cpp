// Batches of structures: stacked from elements, and taken apart into rows.
#include "support/dataset_support.hpp"

#include <troupe/runtime/datasets/structure_rows.hpp>

#include <array>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(structure_rows_suite)

namespace {

struct labelled {
  tensor image;
  std::vector<tensor> labels;
};

/// All that a batch may be made of, nested.
template <class Leaf>
using every_container = std::tuple<std::pair<Leaf, Leaf>, std::array<Leaf, 2>, std::vector<Leaf>,
                                   std::map<std::string, Leaf>, std::unordered_map<int, std::vector<Leaf>>>;

every_container<int> element(int i) {
  return {{i, i + 1}, {i + 2, i + 3}, {i + 4}, {{"x", i + 5}}, {{7, {i + 6, i + 7}}}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(stacked_elements_can_be_taken_apart_into_the_same_rows) {
  const std::vector<std::tuple<tensor, float>> elements{
      {tensor::of({1, 2}), 0.5f}, {tensor::of({3, 4}), 1.5f}, {tensor::of({5, 6}), 2.5f}};
  const auto batch = stack_structures(elements);
  static_assert(std::is_same_v<decltype(batch), const std::tuple<tensor, tensor>>);
  BOOST_TEST(row_count(batch) == 3);
  BOOST_CHECK(std::get<0>(batch).bitwise_equal(tensor::of<int>({3, 2}, {1, 2, 3, 4, 5, 6})));
  BOOST_CHECK(std::get<1>(batch).bitwise_equal(tensor::of({0.5f, 1.5f, 2.5f})));
  BOOST_CHECK(std::get<0>(row_at(batch, 1)).bitwise_equal(tensor::of({3, 4})));
  const auto part = slice_rows(batch, 1, 3);
  BOOST_CHECK(std::get<0>(part).bitwise_equal(tensor::of<int>({2, 2}, {3, 4, 5, 6})));
  BOOST_CHECK(std::get<1>(part).bitwise_equal(tensor::of({1.5f, 2.5f})));
}

BOOST_AUTO_TEST_CASE(an_empty_slice_keeps_the_dtype_and_the_other_extents) {
  const auto nothing = slice_rows(tensor::zeros(dtype::float64, {4, 2, 3}), 0, 0);
  BOOST_CHECK(nothing.get_shape() == (shape{0, 2, 3}));
  BOOST_CHECK(nothing.get_dtype() == dtype::float64);
}

BOOST_AUTO_TEST_CASE(tensors_without_common_rows_are_no_batch) {
  BOOST_CHECK_EXCEPTION(row_count(std::tuple{tensor::of({1, 2}), tensor::of({1, 2, 3})}), invalid_argument_error,
                        says("tensor[0] has shape (2,)", "tensor[1] has shape (3,)"));
  BOOST_CHECK_EXCEPTION(row_count(std::vector{tensor::scalar(1)}), invalid_argument_error,
                        says("tensor[0] is a scalar of shape ()", "batch the elements first"));
  BOOST_CHECK_EXCEPTION(row_count(std::vector<tensor>{}), invalid_argument_error, says("holds no tensor"));
}

BOOST_AUTO_TEST_CASE(every_container_is_batched_and_unbatched_leaf_by_leaf) {
  const auto batch = stack_structures(std::vector{element(0), element(100), element(200)});
  static_assert(std::is_same_v<decltype(batch), const every_container<tensor>>);
  BOOST_TEST(row_count(batch) == 3);
  auto leaf = 0;
  for_each_leaf(batch, [&](const tensor& x) {
    BOOST_TEST(values_of<int>(x) == (std::vector{leaf, leaf + 100, leaf + 200}));
    ++leaf;
  });
  BOOST_TEST(leaf == 8);
  leaf = 0;
  for_each_leaf(row_at(batch, 1), [&](const tensor& x) { BOOST_TEST(x.item<int>() == 100 + leaf++); });
  leaf = 0;
  for_each_leaf(slice_rows(batch, 2, 3),
                [&](const tensor& x) { BOOST_TEST(values_of<int>(x) == std::vector{200 + leaf++}); });
}

BOOST_AUTO_TEST_CASE(structs_of_tensors_are_batched_and_unbatched) {
  const std::vector<labelled> elements{{tensor::of({1, 2}), {tensor::scalar(3)}},
                                       {tensor::of({4, 5}), {tensor::scalar(6)}}};
  const auto batch = stack_structures(elements);
  BOOST_CHECK(batch.image.get_shape() == (shape{2, 2}));
  BOOST_TEST(values_of<int>(row_at(batch, 1).image) == (std::vector{4, 5}));
  BOOST_TEST(values_of<int>(slice_rows(batch, 0, 1).labels.at(0)) == std::vector{3});
}

BOOST_AUTO_TEST_CASE(elements_of_different_form_are_no_batch) {
  BOOST_CHECK_EXCEPTION(stack_structures(std::vector<std::vector<int>>{{1}, {1, 2}}), invalid_argument_error,
                        says("element 1 has a list of another length (2 instead of 1) than element 0"));
  BOOST_CHECK_EXCEPTION(stack_structures(std::vector<tensor>{}), invalid_argument_error,
                        says("an empty list has no rows"));
}

BOOST_AUTO_TEST_SUITE_END()
