// The walk over structures: what is a node and what a leaf, in which order, and what becomes of them.
#include <troupe/actors/values/structure.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
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

/// For BOOST_CHECK_EXCEPTION: whether the error's text has this part.
auto says(std::string_view part) {
  return [part](const error& thrown) {
    BOOST_TEST_INFO("the error says: " << thrown.what());
    return std::string_view{thrown.what()}.find(part) != std::string_view::npos;
  };
}

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
                        says("structure 1 has a list of another length at [1] (3 instead of 2) than structure 0"));
  using dictionaries = std::map<std::string, int>;
  BOOST_CHECK_EXCEPTION(merge_leaves(std::vector<dictionaries>{{{"x", 1}}, {{"y", 1}}}, first), invalid_argument_error,
                        says("structure 1 has a map with other keys than structure 0"));
  BOOST_CHECK_EXCEPTION(merge_leaves(std::vector<int>{}, first), invalid_argument_error, says("at least one"));
}

BOOST_AUTO_TEST_CASE(merged_leaves_of_structures_that_may_be_changed_can_be_moved_out) {
  using owner = std::unique_ptr<int>;
  using owners = std::tuple<owner, std::map<int, owner>, std::unordered_map<int, std::vector<owner>>>;
  owners first;
  std::get<0>(first) = std::make_unique<int>(1);
  std::get<1>(first)[5] = std::make_unique<int>(2);
  std::get<2>(first)[6].push_back(std::make_unique<int>(3));
  const std::vector<owners*> only{&first};
  const auto moved =
      merge_leaves(std::span{only}, [](std::span<owner* const> leaves) { return std::move(*leaves.front()); });
  BOOST_TEST(*std::get<0>(moved) == 1);
  BOOST_TEST(*std::get<1>(moved).at(5) == 2);
  BOOST_TEST(*std::get<2>(moved).at(6).at(0) == 3);
}

BOOST_AUTO_TEST_CASE(unordered_maps_are_walked_in_order_of_their_keys_and_merged_by_key) {
  std::unordered_map<std::string, int> first, second;
  for (auto i = 0; i < 26; ++i) first[std::string(1, static_cast<char>('a' + i))] = i;
  for (auto i = 26; i-- > 0;) second[std::string(1, static_cast<char>('a' + i))] = 100 * i;
  std::vector<int> leaves;
  for_each_leaf(second, [&](int leaf) { leaves.push_back(leaf); });
  BOOST_TEST(std::is_sorted(leaves.begin(), leaves.end()));
  const auto sums =
      merge_leaves(std::vector{first, second}, [](std::span<const int* const> x) { return *x[0] + *x[1]; });
  static_assert(std::is_same_v<decltype(sums), const std::unordered_map<std::string, int>>);
  BOOST_TEST(sums.at("c") == 202);
  const auto texts = map_leaves(first, [](int leaf) { return std::to_string(leaf); });
  BOOST_TEST(texts.at("z") == "25");
  second.erase("c");
  second["C"] = 0;
  BOOST_CHECK_EXCEPTION(merge_leaves(std::vector{first, second}, [](auto x) { return *x[0]; }), invalid_argument_error,
                        says("structure 1 has a map with other keys than structure 0"));
}

BOOST_AUTO_TEST_CASE(a_map_keeps_the_order_that_it_was_given) {
  const std::map<int, int, std::greater<>> falling{{1, 10}, {2, 20}};
  const auto texts = map_leaves(falling, [](int leaf) { return std::to_string(leaf); });
  static_assert(std::is_same_v<decltype(texts), const std::map<int, std::string, std::greater<>>>);
  BOOST_TEST(texts.begin()->second == "20");
}

BOOST_AUTO_TEST_CASE(empty_containers_have_no_leaves_and_stay_empty) {
  using empty =
      std::tuple<std::vector<int>, std::map<int, int>, std::unordered_map<int, int>, std::array<int, 0>, std::tuple<>>;
  auto count = 0;
  for_each_leaf(empty{}, [&](int) { ++count; });
  BOOST_TEST(count == 0);
  BOOST_CHECK((map_leaves(empty{}, [](int leaf) { return leaf; }) == empty{}));
  BOOST_CHECK((merge_leaves(std::vector<empty>(3), [](std::span<const int* const>) { return 1; }) == empty{}));
}

BOOST_AUTO_TEST_CASE(a_walk_that_takes_structs_whole_opens_containers_only) {
  const std::vector<sample> samples(2);
  const auto sizes = map_leaves<detail::whole_structs>(samples, [](const sample& x) { return x.features.size(); });
  static_assert(std::is_same_v<decltype(sizes), const std::vector<std::size_t>>);
  BOOST_TEST(sizes.size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_types_of_all_leaves_can_be_asked_for) {
  static_assert(all_leaves_are<mixed, std::is_integral>);
  static_assert(all_leaves_are<tree, std::is_integral>);
  static_assert(!all_leaves_are<std::map<int, std::tuple<int, std::string>>, std::is_integral>);
  static_assert(!all_leaves_are<sample, std::is_integral>);
  static_assert(all_leaves_are<std::vector<sample>, std::is_class, detail::whole_structs>);
  static_assert(all_leaves_are<std::tuple<>, std::is_integral>);
  // Sparse values are one leaf, not three.
  static_assert(detail::kind_of<indexed_slices> == detail::structure_kind::leaf);
}

BOOST_AUTO_TEST_SUITE_END()
