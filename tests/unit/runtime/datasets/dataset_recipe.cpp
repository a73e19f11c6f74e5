// A dataset is made again elsewhere by the calls that made it, which travel.
#include "support/dataset_support.hpp"

#include <troupe/actors/values/codec.hpp>

#include <tuple>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(dataset_recipe_suite)

namespace {

using boost::test_tools::per_element;

/// The dataset that another process makes.
template <class T>
dataset<T> made_elsewhere(const dataset<T>& original) {
  return *decode<detail::dataset_recipe>(encode(original.recipe())).template make<dataset<T>>();
}

struct countdown {
  auto operator()() const {
    return [left = 3]() mutable -> std::optional<int> {
      if (left == 0) return {};
      return left--;
    };
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_transformation_is_repeated_in_order) {
  const auto original = range(100)
                            .skip(3)
                            .shard(2, 1)
                            .shuffle(10, 7)
                            .repeat(2)
                            .map([](std::int64_t x) { return static_cast<int>(x) * 10; })
                            .batch(4)
                            .rebatch(3, true)
                            .take(5)
                            .prefetch(2);
  const auto copy = made_elsewhere(original);
  BOOST_TEST((copy.get_cardinality() == original.get_cardinality()));
  const auto expected = batches_of(original);
  BOOST_TEST(expected.size() == 5u);
  BOOST_CHECK(batches_of(copy) == expected);
}

BOOST_AUTO_TEST_CASE(rows_travel_and_generators_without_captures_begin_again) {
  const auto rows = from_tensor_slices(std::tuple{tensor::of<int>({1, 2, 3}), tensor::of<float>({4, 5, 6})});
  std::vector<float> sums;
  for (const auto& [a, b] : drain(made_elsewhere(rows)))
    sums.push_back(static_cast<float>(a.item<int>()) + b.item<float>());
  BOOST_TEST(sums == (std::vector{5.0F, 7.0F, 9.0F}), per_element());
  BOOST_TEST(drain(made_elsewhere(from_generator(countdown{}))) == (std::vector{3, 2, 1}), per_element());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_repeated_is_named_once_and_stays_the_reason) {
  const auto reason = [](const auto& data) -> std::string {
    try {
      data.recipe().check();
      return {};
    } catch (const invalid_argument_error& e) {
      return e.what();
    }
  };
  BOOST_TEST(reason(numbers(3).take(2).batch(1)).find("from_generator() has a function with captures") !=
             std::string::npos);
  BOOST_TEST(reason(range(3).map([n = 1](std::int64_t x) { return x + n; }).map([](auto x) {
               return x;
             })).find("map() has a function with captures") != std::string::npos);
  BOOST_TEST(reason(dataset<int>{[] { return dataset_iterator<int>{}; }}).find("constructor of dataset") !=
             std::string::npos);
  BOOST_TEST(reason(range(3)).empty());
}

BOOST_AUTO_TEST_CASE(a_recipe_that_was_damaged_or_is_of_another_type_is_an_error) {
  const auto recipe = range(3).recipe();
  BOOST_CHECK_THROW(recipe.make<dataset<float>>(), invalid_argument_error);
  BOOST_CHECK_THROW(detail::dataset_recipe{}.make<dataset<int>>(), invalid_argument_error);
}

BOOST_AUTO_TEST_SUITE_END()
