#include "thread_ranks.hpp"

#include <troupe/device/collectives/packing.hpp>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(packing_suite)

namespace {

using packs = std::vector<std::vector<std::size_t>>;

std::vector<tensor> floats(const std::vector<std::int64_t>& counts) {
  std::vector<tensor> result;
  result.reserve(counts.size());
  for (const auto count : counts) result.push_back(tensor::zeros(dtype::float32, {count}));
  return result;
}

constexpr auto mebibyte = std::int64_t{1} << 20;

}  // namespace

BOOST_AUTO_TEST_CASE(packs_are_filled_from_the_last_tensor_on_until_they_exceed_the_size) {
  BOOST_CHECK((plan_packs(floats({1, 2, 3, 4}), 1000) == packs{{3, 2, 1, 0}}));
  // 16 bytes are not more than 16, so the third one joins; then the pack exceeds them.
  BOOST_CHECK((plan_packs(floats({1, 2, 3, 4}), 16) == packs{{3, 2}, {1, 0}}));
  BOOST_CHECK((plan_packs(floats({1, 2, 3, 4}), 15) == packs{{3}, {2, 1}, {0}}));
  BOOST_CHECK((plan_packs(floats({1, 1, 1}), 1) == packs{{2}, {1}, {0}}));
  BOOST_CHECK(plan_packs({}, 16).empty());
}

BOOST_AUTO_TEST_CASE(a_pack_holds_one_dtype) {
  const std::vector<tensor> mixed{tensor::of({1.0f}), tensor::of({1}), tensor::of({2.0f}), tensor::of({2})};
  BOOST_CHECK((plan_packs(mixed, 1000) == packs{{3, 1}, {2, 0}}));
}

BOOST_AUTO_TEST_CASE(by_default_small_tensors_travel_together_and_large_ones_alone) {
  const auto large = mebibyte / 4;
  BOOST_CHECK((plan_packs(floats({10, large, 20, large + 1, 30}), 0) == packs{{4, 2, 0}, {3}, {1}}));
  BOOST_CHECK((plan_packs(floats({large - 1, large - 1, large - 1}), 0) == packs{{2, 1}, {0}}));
}

BOOST_AUTO_TEST_CASE(tensors_of_all_shapes_and_types_come_back_reduced) {
  for (const auto bytes_per_pack : {std::int64_t{0}, std::int64_t{1}, std::int64_t{64}, mebibyte}) {
    on_ranks(3, [=](communicator& ranks) {
      const auto x = static_cast<float>(ranks.rank() + 1);
      std::vector<tensor> tensors{tensor::full({2, 3}, x),      tensor::scalar(10 * x),
                                  tensor::full({0, 4}, x),      tensor::full({300, 1000}, x),
                                  tensor::full({7}, double{x}), tensor::full({3, 5}, bfloat16{x})};
      all_reduce_packed(ranks, tensors, reduce_op::mean, {.bytes_per_pack = bytes_per_pack}, ample_time);
      const auto right = tensors[0].bitwise_equal(tensor::full({2, 3}, 2.0f)) &&
                         tensors[1].bitwise_equal(tensor::scalar(20.0f)) && tensors[2].get_shape() == shape{0, 4} &&
                         tensors[3].bitwise_equal(tensor::full({300, 1000}, 2.0f)) &&
                         tensors[4].bitwise_equal(tensor::full({7}, 2.0)) &&
                         tensors[5].bitwise_equal(tensor::full({3, 5}, bfloat16{2.0f}));
      if (!right) throw internal_error{"a tensor is not the mean"};
    });
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_a_pack_by_itself_stays_where_it_is) {
  on_ranks(2, [](communicator& ranks) {
    std::vector<tensor> tensors{tensor::full({mebibyte / 4}, 1.0f)};
    const auto* before = tensors[0].data();
    all_reduce_packed(ranks, tensors, reduce_op::sum, {}, ample_time);
    if (tensors[0].data() != before) throw internal_error{"it was copied"};
  });
}

BOOST_AUTO_TEST_CASE(tensors_of_one_pack_can_be_written_one_by_one) {
  on_ranks(2, [](communicator& ranks) {
    auto tensors = floats({4, 4});
    all_reduce_packed(ranks, tensors, reduce_op::sum, {}, ample_time);
    tensors[0].mutable_values<float>()[0] = 1.0f;
    if (tensors[1].values<float>()[0] != 0.0f) throw internal_error{"the other one has changed"};
  });
}

BOOST_AUTO_TEST_CASE(options_are_checked_and_the_timeout_counts) {
  auto ends = make_thread_communicators(2);
  auto tensors = floats({1});
  BOOST_CHECK_THROW(all_reduce_packed(*ends[0], tensors, reduce_op::sum, {.bytes_per_pack = -1}, ample_time),
                    invalid_argument_error);
  std::vector<tensor> flags{tensor::of({1.0f}), tensor::of({true})};
  BOOST_CHECK_THROW(all_reduce_packed(*ends[0], flags, reduce_op::sum, {}, ample_time), invalid_argument_error);
  BOOST_CHECK(!ends[0]->broken());
  BOOST_CHECK_THROW(all_reduce_packed(*ends[0], tensors, reduce_op::sum, {.timeout = 10ms}, ample_time),
                    deadline_exceeded_error);
}

BOOST_AUTO_TEST_SUITE_END()
