#include "support/dataset_support.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/tensor.hpp>
#include <troupe/runtime/replicas/structure.hpp>
#include <troupe/runtime/replicas/structure_rows.hpp>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(structure_suite)

namespace {

struct sample {
  tensor image;
  std::vector<tensor> features;
};

struct tree {
  int content = 0;
  std::vector<tree> children;
};

using mixed = std::tuple<int, std::map<std::string, std::pair<int, int>>, std::array<int, 2>, std::vector<int>>;

const mixed example{1, {{"b", {4, 5}}, {"a", {2, 3}}}, {6, 7}, {8, 9}};

/// A pointer is no number, and cannot be made by default from one.
struct reference {
  explicit reference(const int& x) : to(&x) {}
  const int* to;
};

}  // namespace

BOOST_AUTO_TEST_CASE(leaves_are_visited_in_order_with_the_path_to_each) {
  std::vector<int> leaves;
  std::vector<std::string> paths;
  for_each_leaf(example, [&](const int& leaf, const structure_path& path) {
    leaves.push_back(leaf);
    paths.push_back(path.to_string());
  });
  BOOST_TEST(leaves == (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9}), boost::test_tools::per_element());
  const std::vector<std::string> expected{"[0]",    "[1][\"a\"][0]", "[1][\"a\"][1]", "[1][\"b\"][0]", "[1][\"b\"][1]",
                                          "[2][0]", "[2][1]",        "[3][0]",        "[3][1]"};
  BOOST_TEST(paths == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keys_that_are_numbers_appear_in_paths_and_other_keys_are_counted) {
  std::vector<std::string> paths;
  const auto note = [&](int, const structure_path& path) { paths.push_back(path.to_string()); };
  for_each_leaf(std::map<int, int>{{7, 0}}, note);
  for_each_leaf(std::map<std::pair<int, int>, int>{{{7, 8}, 0}}, note);
  for_each_leaf(5, note);
  BOOST_TEST(paths == (std::vector<std::string>{"[7]", "[key 0]", ""}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(leaves_can_be_changed_in_place) {
  auto changed = example;
  for_each_leaf(changed, [](int& leaf) { leaf *= 10; });
  BOOST_CHECK((changed == mixed{10, {{"a", {20, 30}}, {"b", {40, 50}}}, {60, 70}, {80, 90}}));
}

BOOST_AUTO_TEST_CASE(members_of_structs_are_leaves_and_nodes_too) {
  const sample x{tensor::of({1.0f}), {tensor::of({2.0f}), tensor::of({3.0f})}};
  std::vector<float> leaves;
  for_each_leaf(x, [&](const tensor& leaf) { leaves.push_back(leaf.item<float>()); });
  BOOST_TEST(leaves == (std::vector<float>{1, 2, 3}), boost::test_tools::per_element());
  const auto halves = map_leaves(x, [](const tensor& leaf) { return tensor::of({leaf.item<float>() / 2}); });
  BOOST_TEST(halves.image.item<float>() == 0.5f);
  BOOST_TEST(halves.features.at(1).item<float>() == 1.5f);
}

BOOST_AUTO_TEST_CASE(a_struct_may_contain_itself) {
  const tree x{1, {{2, {}}, {3, {{4, {}}}}}};
  const auto twice = map_leaves(x, [](int leaf) { return 2 * leaf; });
  std::vector<int> leaves;
  for_each_leaf(twice, [&](int leaf) { leaves.push_back(leaf); });
  BOOST_TEST(leaves == (std::vector<int>{2, 4, 6, 8}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_map_over_leaves_may_change_their_type_to_one_without_a_default) {
  const auto references = map_leaves(example, [](const int& leaf) { return reference{leaf}; });
  BOOST_TEST(std::get<0>(references).to == &std::get<0>(example));
  BOOST_TEST(std::get<1>(references).at("b").second.to == &std::get<1>(example).at("b").second);
  BOOST_TEST(std::get<2>(references)[1].to == &std::get<2>(example)[1]);
  BOOST_TEST(std::get<3>(references).size() == 2u);
}

BOOST_AUTO_TEST_CASE(strings_optionals_and_vectors_of_bool_are_leaves) {
  auto count = 0;
  const auto count_one = [&](const auto&) { ++count; };
  for_each_leaf(std::string{"abc"}, count_one);
  for_each_leaf(std::optional<int>{1}, count_one);
  for_each_leaf(std::vector<bool>{true, false}, count_one);
  BOOST_TEST(count == 3);
}

BOOST_AUTO_TEST_CASE(the_same_leaf_of_many_structures_becomes_one) {
  const auto second = map_leaves(example, [](int leaf) { return 100 * leaf; });
  const auto sums = merge_leaves(std::vector{example, second}, [](std::span<const int* const> leaves) {
    BOOST_TEST_REQUIRE(leaves.size() == 2u);
    return std::to_string(*leaves[0] + *leaves[1]);
  });
  BOOST_TEST(std::get<0>(sums) == "101");
  BOOST_TEST(std::get<1>(sums).at("a").second == "303");
  BOOST_TEST(std::get<2>(sums)[0] == "606");
  BOOST_TEST(std::get<3>(sums).at(1) == "909");
}

BOOST_AUTO_TEST_CASE(structures_of_different_form_are_not_merged) {
  const auto first = [](auto leaves) { return *leaves[0]; };
  using lists = std::tuple<int, std::vector<int>>;
  BOOST_CHECK_EXCEPTION(merge_leaves(std::vector<lists>{{1, {1, 2}}, {1, {1, 2, 3}}}, first), invalid_argument_error,
                        says("structure 1[1] has 3 elements", "structure 0[1] has 2"));
  using dictionaries = std::map<std::string, int>;
  BOOST_CHECK_EXCEPTION(merge_leaves(std::vector<dictionaries>{{{"x", 1}}, {{"y", 1}}}, first), invalid_argument_error,
                        says("the keys of structure 1"));
  BOOST_CHECK_EXCEPTION(merge_leaves(std::vector<int>{}, first), invalid_argument_error, says("at least one"));
}

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

BOOST_AUTO_TEST_SUITE_END()
