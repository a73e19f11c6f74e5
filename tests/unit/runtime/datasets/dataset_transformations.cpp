// What each transformation makes of a dataset, when it makes it, and which errors come out where.
#include "support/dataset_support.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

using namespace troupe;
BOOST_AUTO_TEST_SUITE(dataset_transformations_suite)

using boost::test_tools::per_element;

namespace {

using batches = std::vector<std::vector<int>>;
using ints = std::vector<int>;

struct labelled {
  tensor image;
  tensor label;
};

/// A dataset of numbers that fails at some of them.
dataset<int> failing_at(std::set<int> bad, int count) {
  return numbers(count).map([bad](int x) {
    if (bad.contains(x)) throw data_loss_error{"number " + std::to_string(x) + " is torn"};
    return x;
  });
}

}  // namespace

// --- which elements, and in which order
// -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(take_gives_the_first_elements_and_skip_the_others) {
  BOOST_TEST(drain(numbers(5).take(2)) == (ints{0, 1}), per_element());
  BOOST_TEST(drain(numbers(5).skip(2)) == (ints{2, 3, 4}), per_element());
  BOOST_TEST(drain(numbers(5).take(9)).size() == 5u);
  BOOST_TEST(drain(numbers(5).skip(9)).empty());
  BOOST_TEST(drain(numbers(5).take(0)).empty());
  BOOST_TEST(drain(numbers(5).skip(0)).size() == 5u);
}

BOOST_AUTO_TEST_CASE(shards_divide_the_elements_in_turn_and_share_none) {
  BOOST_TEST(drain(numbers(7).shard(3, 0)) == (ints{0, 3, 6}), per_element());
  BOOST_TEST(drain(numbers(7).shard(3, 1)) == (ints{1, 4}), per_element());
  BOOST_TEST(drain(numbers(7).shard(3, 2)) == (ints{2, 5}), per_element());
  BOOST_TEST(drain(numbers(7).shard(1, 0)).size() == 7u);
  BOOST_TEST(drain(numbers(1).shard(3, 2)).empty());
}

BOOST_AUTO_TEST_CASE(repeat_gives_all_elements_again) {
  BOOST_TEST(drain(numbers(2).repeat(3)) == (ints{0, 1, 0, 1, 0, 1}), per_element());
  BOOST_TEST(drain(numbers(2).repeat(0)).empty());
  BOOST_TEST(drain(numbers(2).repeat().take(5)) == (ints{0, 1, 0, 1, 0}), per_element());
}

BOOST_AUTO_TEST_CASE(repeating_nothing_for_ever_ends) { BOOST_TEST(drain(numbers(0).repeat()).empty()); }

BOOST_AUTO_TEST_CASE(shuffle_gives_each_element_once_in_an_order_of_the_seed) {
  const auto order = drain(numbers(100).shuffle(100, 7));
  auto sorted = order;
  std::ranges::sort(sorted);
  BOOST_TEST(sorted == drain(numbers(100)), per_element());
  BOOST_TEST(order != sorted);
  BOOST_TEST(order == drain(numbers(100).shuffle(100, 7)), per_element());
  BOOST_TEST(order != drain(numbers(100).shuffle(100, 8)));
}

BOOST_AUTO_TEST_CASE(the_order_of_a_seed_is_the_same_on_every_machine) {
  BOOST_TEST(drain(numbers(8).shuffle(8, 2024)) == (ints{7, 0, 5, 4, 3, 2, 1, 6}), per_element());
}

BOOST_AUTO_TEST_CASE(a_shuffled_element_comes_at_most_a_buffer_early) {
  const auto order = drain(numbers(100).shuffle(10, 3));
  BOOST_TEST(order.size() == 100u);
  for (auto place = 0; place < 100; ++place) BOOST_TEST(order[static_cast<std::size_t>(place)] < place + 10);
  BOOST_TEST(drain(numbers(100).shuffle(1, 3)) == drain(numbers(100)), per_element());
}

BOOST_AUTO_TEST_CASE(each_iteration_and_each_repetition_is_shuffled_anew_if_wanted) {
  const auto anew = numbers(50).shuffle(50, 7);
  const auto first = drain(anew);
  const auto second = drain(anew);
  BOOST_TEST(first != second);
  const auto twice = drain(numbers(50).shuffle(50, 7).repeat(2));
  BOOST_TEST((ints{twice.begin(), twice.begin() + 50}) == first, per_element());
  BOOST_TEST((ints{twice.begin() + 50, twice.end()}) == second, per_element());

  const auto same = numbers(50).shuffle(50, 7, false);
  BOOST_TEST(drain(same) == first, per_element());
  BOOST_TEST(drain(same) == first, per_element());
}

// --- what the elements are
// --------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(map_calls_the_function_for_what_is_taken_only) {
  auto calls = std::make_shared<int>(0);
  const auto texts = numbers(9).map([calls](int x) {
    ++*calls;
    return std::to_string(x);
  });
  const auto iterator = texts.iterate();
  BOOST_TEST(*calls == 0);
  BOOST_TEST(iterator.next() == "0");
  BOOST_TEST(iterator.next() == "1");
  BOOST_TEST(*calls == 2);
}

BOOST_AUTO_TEST_CASE(an_error_in_map_names_the_element_and_keeps_its_cause_and_the_iterator_goes_on) {
  const auto iterator = failing_at({1}, 3).iterate();
  BOOST_TEST(iterator.next() == 0);
  BOOST_CHECK_EXCEPTION(iterator.next(), data_loss_error, says("map: element 1", "number 1 is torn"));
  BOOST_TEST(iterator.next() == 2);
  BOOST_CHECK(!iterator.next_or_end());
  const auto foreign = numbers(1).map([](int) -> int { throw std::runtime_error{"no space"}; });
  try {
    foreign.iterate().next();
    BOOST_ERROR("nothing was thrown");
  } catch (const std::runtime_error& thrown) {
    BOOST_TEST(thrown.what() == "no space");
    BOOST_TEST(status_of(std::current_exception()).message() == "map: element 0");
  }
}

BOOST_AUTO_TEST_CASE(elements_that_fail_count_as_taken_skipped_or_left_out) {
  const auto next_after_errors = [](const dataset<int>& source) {
    ints all;
    const auto iterator = source.iterate();
    for (auto ended = false; !ended;) {
      try {
        const auto element = iterator.next_or_end();
        ended = !element;
        if (element) all.push_back(*element);
      } catch (const data_loss_error&) {
        all.push_back(-1);
      }
    }
    return all;
  };
  BOOST_TEST(next_after_errors(failing_at({1}, 5).take(3)) == (ints{0, -1, 2}), per_element());
  BOOST_TEST(next_after_errors(failing_at({1}, 5).skip(3)) == (ints{-1, 3, 4}), per_element());
  BOOST_TEST(next_after_errors(failing_at({1}, 6).shard(3, 2)) == (ints{-1, 2, 5}), per_element());
  BOOST_TEST(next_after_errors(failing_at({1}, 3).prefetch(2)) == (ints{0, -1, 2}), per_element());
}

BOOST_AUTO_TEST_CASE(a_batch_stacks_elements_and_the_last_one_is_smaller_or_dropped) {
  BOOST_TEST((batches_of(numbers(5).batch(2)) == batches{{0, 1}, {2, 3}, {4}}));
  BOOST_TEST((batches_of(numbers(5).batch(2, true)) == batches{{0, 1}, {2, 3}}));
  BOOST_TEST((batches_of(numbers(4).batch(2, true)) == batches{{0, 1}, {2, 3}}));
  const auto of_tensors = drain(from_tensor_slices(tensor::of<int>({3, 2}, {1, 2, 3, 4, 5, 6})).batch(2));
  BOOST_CHECK(of_tensors.at(0).bitwise_equal(tensor::of<int>({2, 2}, {1, 2, 3, 4})));
  BOOST_CHECK(of_tensors.at(1).bitwise_equal(tensor::of<int>({1, 2}, {5, 6})));
}

BOOST_AUTO_TEST_CASE(batches_of_batches_have_one_more_axis) {
  const auto nested = drain(numbers(8).batch(2).batch(2));
  BOOST_CHECK(nested.at(1).bitwise_equal(tensor::of<int>({2, 2}, {4, 5, 6, 7})));
}

BOOST_AUTO_TEST_CASE(structures_are_batched_leaf_by_leaf) {
  const auto pairs = numbers(4).map([](int x) { return std::tuple{x, 0.5 * x, x > 1}; }).batch(3);
  const auto [whole, half, large] = pairs.iterate().next();
  BOOST_CHECK(whole.bitwise_equal(tensor::of({0, 1, 2})));
  BOOST_CHECK(half.bitwise_equal(tensor::of({0.0, 0.5, 1.0})));
  BOOST_CHECK(large.bitwise_equal(tensor::of({false, false, true})));

  const auto images = tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto structs = from_tensor_slices(labelled{images, tensor::of({7, 8, 9})}).batch(2).iterate().next();
  BOOST_CHECK(structs.image.bitwise_equal(images.slice(0, 2)));
  BOOST_CHECK(structs.label.bitwise_equal(tensor::of({7, 8})));
  const auto bits = numbers(3).map([](int x) { return x == 1; }).batch(3).iterate().next();
  BOOST_CHECK(bits.bitwise_equal(tensor::of({false, true, false})));
}

BOOST_AUTO_TEST_CASE(elements_of_different_shapes_or_dtypes_are_no_batch_and_both_are_named) {
  const auto ragged = numbers(2).map([](int x) { return std::tuple{x, tensor::zeros(dtype::float32, {2 + x})}; });
  BOOST_CHECK_EXCEPTION(ragged.batch(2).iterate().next(), invalid_argument_error,
                        says("element 1[1] is float32 of shape (3,)", "element 0[1] is float32 of shape (2,)"));
  // Also dtypes of one size, whose bits could be taken for each other.
  for (const auto other : {dtype::int64, dtype::float32}) {
    const auto mixed = numbers(2).map([=](int x) { return tensor::zeros(x == 0 ? dtype::int32 : other, {1}); });
    BOOST_CHECK_EXCEPTION(mixed.batch(2).iterate().next(), invalid_argument_error,
                          says("element 1 is " + to_string(other), "element 0 is int32"));
  }
  const auto lists = numbers(2).map([](int x) { return std::vector<int>(static_cast<std::size_t>(x) + 1); });
  BOOST_CHECK_EXCEPTION(lists.batch(2).iterate().next(), invalid_argument_error,
                        says("another length (2 instead of 1)", "element 0"));
}

BOOST_AUTO_TEST_CASE(unbatch_gives_the_rows_and_rebatch_other_batches_of_them) {
  const auto source = numbers(7).batch(3);
  BOOST_TEST((batches_of(source.unbatch()) == batches{{0}, {1}, {2}, {3}, {4}, {5}, {6}}));
  BOOST_CHECK(drain(source.unbatch()).at(0).get_shape() == shape{});
  BOOST_TEST((batches_of(source.rebatch(2)) == batches{{0, 1}, {2, 3}, {4, 5}, {6}}));
  BOOST_TEST((batches_of(source.rebatch(4, true)) == batches{{0, 1, 2, 3}}));
  BOOST_CHECK_EXCEPTION(drain(from_tensor_slices(tensor::of({1, 2})).unbatch()), invalid_argument_error,
                        says("scalar of shape ()"));
}

BOOST_AUTO_TEST_CASE(batches_without_rows_give_no_elements) {
  const auto source = numbers(3).map([](int x) { return tensor::zeros(dtype::int32, {x == 1 ? 2 : 0}); });
  BOOST_TEST(drain(source.unbatch()).size() == 2u);
}

// --- when they are made
// -----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(prefetching_changes_neither_elements_nor_order_nor_end) {
  const auto source = numbers(100).prefetch(3);
  BOOST_TEST(drain(source) == drain(numbers(100)), per_element());
  BOOST_TEST(drain(source) == drain(numbers(100)), per_element());
  BOOST_TEST(drain(numbers(5).prefetch(0)) == (ints{0, 1, 2, 3, 4}), per_element());
  BOOST_TEST(drain(numbers(20).prefetch(1).map([](int x) { return x + 1; }).prefetch(2)).back() == 20);
}

BOOST_AUTO_TEST_CASE(elements_are_made_ahead_in_another_thread_up_to_the_size_of_the_buffer) {
  constexpr auto ahead_max = 4;
  struct record {
    std::atomic<int> asked_for = 0;
    std::atomic<bool> too_many = false;
    std::promise<void> full;
    std::thread::id maker;
  };
  const auto seen = std::make_shared<record>();
  const auto source = numbers(50).map([seen](int x) {
    const auto made = x + 1;
    seen->maker = std::this_thread::get_id();
    if (made > seen->asked_for + ahead_max) seen->too_many = true;
    if (made == 1 + ahead_max) seen->full.set_value();
    return x;
  });
  const auto iterator = source.prefetch(ahead_max).iterate();
  ++seen->asked_for;
  BOOST_TEST(iterator.next() == 0);
  // Nobody asks for the next elements, and yet they are made.
  BOOST_REQUIRE((seen->full.get_future().wait_for(std::chrono::seconds{60}) == std::future_status::ready));
  for (auto i = 1; i < 50; ++i) {
    ++seen->asked_for;
    BOOST_TEST(iterator.next() == i);
  }
  BOOST_CHECK(!iterator.next_or_end());
  BOOST_TEST(!seen->too_many);
  BOOST_CHECK(seen->maker != std::this_thread::get_id());
}

BOOST_AUTO_TEST_CASE(nothing_is_prefetched_before_the_first_element_is_asked_for) {
  auto asked = std::make_shared<std::atomic<int>>(0);
  const auto source = from_generator([asked] { return [asked]() -> std::optional<int> { return ++*asked; }; });
  { const auto iterator = source.prefetch(3).iterate(); }
  BOOST_TEST(*asked == 0);
}

BOOST_AUTO_TEST_CASE(a_prefetching_thread_ends_with_its_iterator) {
  auto token = std::make_shared<int>(0);
  const auto watch = std::weak_ptr{token};
  auto asked = std::make_shared<std::atomic<int>>(0);
  {
    const auto endless = from_generator(
        [token = std::move(token), asked] { return [token, asked]() -> std::optional<int> { return ++*asked; }; });
    const auto iterator = endless.prefetch(8).iterate();
    BOOST_TEST(iterator.next() == 1);
  }
  BOOST_CHECK(watch.expired());  // so the thread, which holds it, is gone
  BOOST_TEST(*asked <= 9);
}

// --- how many, and bad arguments
// --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(cardinality_is_known_where_reading_is_not_needed_for_it) {
  const auto ten = from_tensor_slices(tensor::zeros(dtype::int32, {10}));
  const auto of = [](const auto& source) { return source.get_cardinality().value(); };
  BOOST_TEST(of(ten) == 10);
  BOOST_TEST(of(ten.take(3)) == 3);
  BOOST_TEST(of(ten.take(30)) == 10);
  BOOST_TEST(of(ten.skip(3)) == 7);
  BOOST_TEST(of(ten.skip(30)) == 0);
  BOOST_TEST(of(ten.shard(3, 0)) == 4);
  BOOST_TEST(of(ten.shard(3, 2)) == 3);
  BOOST_TEST(of(ten.repeat(3)) == 30);
  BOOST_TEST(of(ten.repeat()) == infinite_cardinality);
  BOOST_TEST(of(ten.repeat().skip(5).shard(2, 0).batch(4)) == infinite_cardinality);
  BOOST_TEST(of(ten.repeat().take(7)) == 7);
  BOOST_TEST(of(ten.batch(4)) == 3);
  BOOST_TEST(of(ten.batch(4, true)) == 2);
  BOOST_TEST(of(ten.batch(5)) == 2);
  BOOST_TEST(of(ten.shuffle(5, 1).map([](const tensor& x) { return x; }).prefetch(2)) == 10);
  BOOST_CHECK(!ten.batch(2).unbatch().get_cardinality());
  BOOST_CHECK(!numbers(3).repeat().get_cardinality());
  BOOST_TEST(of(numbers(3).take(0)) == 0);
}

BOOST_AUTO_TEST_CASE(arguments_out_of_range_are_refused_at_once_with_what_is_expected) {
  const auto source = numbers(3);
  BOOST_CHECK_EXCEPTION(source.batch(0), invalid_argument_error,
                        says("batch: the batch size is 0; expected 1 or more"));
  BOOST_CHECK_EXCEPTION(source.batch(2).rebatch(-1), invalid_argument_error, says("rebatch: the batch size is -1"));
  BOOST_CHECK_EXCEPTION(source.shuffle(0, 1), invalid_argument_error, says("shuffle: the buffer size is 0"));
  BOOST_CHECK_EXCEPTION(source.take(-1), invalid_argument_error, says("take: the count is -1; expected 0 or more"));
  BOOST_CHECK_EXCEPTION(source.skip(-1), invalid_argument_error, says("skip: the count is -1"));
  BOOST_CHECK_EXCEPTION(source.repeat(-1), invalid_argument_error, says("repeat: the count is -1"));
  BOOST_CHECK_EXCEPTION(source.prefetch(-1), invalid_argument_error, says("prefetch: the buffer size is -1"));
  BOOST_CHECK_EXCEPTION(source.shard(0, 0), invalid_argument_error, says("number of shards is 0"));
  BOOST_CHECK_EXCEPTION(source.shard(3, 3), invalid_argument_error, says("the index is 3", "less than the 3 shards"));
  BOOST_CHECK_EXCEPTION(source.shard(3, -1), invalid_argument_error, says("the index is -1"));
}

BOOST_AUTO_TEST_CASE(a_shuffle_without_a_seed_has_another_order_each_time_and_loses_nothing) {
  auto sorted = ints(1000);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::set<ints> orders{sorted};
  const auto shuffled = numbers(1000).shuffle(1000);
  for (const auto& source : {shuffled, shuffled, numbers(1000).shuffle(1000)}) {
    auto order = drain(source);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    BOOST_TEST(order == sorted, per_element());
  }
  BOOST_TEST(orders.size() == 4u);
  const auto kept = numbers(1000).shuffle(1000, {}, false);
  BOOST_TEST(drain(kept) == drain(kept), per_element());
}

BOOST_AUTO_TEST_SUITE_END()
