#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(tensor_suite)

namespace {

tensor counting(const shape& extents) {
  auto result = tensor::zeros(dtype::int32, extents);
  auto next = 0;
  for (auto& each : result.mutable_values<std::int32_t>()) each = next++;
  return result;
}

template <class T>
std::vector<T> list(const tensor& x) {
  const auto values = x.values<T>();
  return {values.begin(), values.end()};
}

tensor on_gpu() {
  return tensor::from_buffer(dtype::float32, {2}, buffer::adopt(nullptr, "not real GPU memory", 8, "GPU:0"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_default_tensor_is_empty) {
  const tensor empty;
  BOOST_CHECK(empty.get_dtype() == dtype::float32);
  BOOST_CHECK((empty.get_shape() == shape{0}));
  BOOST_TEST(empty.values<float>().empty());
  BOOST_TEST(empty.bitwise_equal(tensor::zeros(dtype::float32, {0})));
}

BOOST_AUTO_TEST_CASE(tensors_are_made_from_values) {
  BOOST_CHECK((list<float>(tensor::of({1.0f, 2.0f})) == std::vector{1.0f, 2.0f}));
  BOOST_CHECK((tensor::of<float>({2, 1}, {1, 2}).get_shape() == shape{2, 1}));
  BOOST_TEST(tensor::scalar(2.5).item<double>() == 2.5);
  BOOST_CHECK((list<bool>(tensor::full({2}, true)) == std::vector{true, true}));
  const std::vector<std::int64_t> numbers{1, 2, 3};
  BOOST_CHECK(list<std::int64_t>(tensor::of<std::int64_t>({3}, numbers)) == numbers);
  BOOST_CHECK(tensor::of(numbers).bitwise_equal(tensor::of<std::int64_t>({3}, numbers)));
  BOOST_CHECK((list<bool>(tensor::of(std::vector{true, false})) == std::vector{true, false}));
  BOOST_CHECK((tensor::of(std::vector<float>{}).get_shape() == shape{0}));
  BOOST_TEST(tensor::zeros(dtype::bfloat16, {3, 4}).size_bytes() == 24);
  BOOST_CHECK_THROW(tensor::of<float>({2, 2}, {1, 2, 3}), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(elements_are_read_as_their_own_type_only) {
  auto x = tensor::scalar(1.0f);
  BOOST_CHECK_EXCEPTION(x.values<double>(), invalid_argument_error, [](const error& e) {
    return e.message().find("float32") != std::string::npos && e.message().find("float64") != std::string::npos;
  });
  BOOST_CHECK_THROW(x.mutable_values<std::int32_t>(), invalid_argument_error);
  BOOST_CHECK_THROW(x.item<double>(), invalid_argument_error);
  BOOST_CHECK_THROW(tensor::of({1, 2}).item<int>(), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(a_write_is_seen_by_no_other_holder) {
  auto original = counting({2, 2});
  const auto copy = original;
  BOOST_TEST(copy.bytes().data() == original.bytes().data());
  original.mutable_values<std::int32_t>()[0] = 100;
  BOOST_CHECK((list<std::int32_t>(copy) == std::vector{0, 1, 2, 3}));
  BOOST_CHECK((list<std::int32_t>(original) == std::vector{100, 1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(a_write_without_other_holders_copies_nothing) {
  auto x = counting({4});
  const auto* before = x.bytes().data();
  x.mutable_values<std::int32_t>()[3] = 7;
  BOOST_TEST(x.bytes().data() == before);
}

BOOST_AUTO_TEST_CASE(a_write_to_a_part_copies_the_part_only) {
  const auto whole = counting({100, 10});
  auto part = whole.slice(3, 5);
  part.mutable_values<std::int32_t>()[0] = -1;
  BOOST_TEST(part.get_buffer().size_bytes() == part.size_bytes());
  BOOST_TEST(part.offset_bytes() == 0);
  BOOST_TEST(part.values<std::int32_t>()[19] == 49);
  BOOST_TEST(whole.values<std::int32_t>()[30] == 30);
}

BOOST_AUTO_TEST_CASE(rows_are_cut_out_without_copying) {
  const auto x = counting({3, 2});
  const auto part = x.slice(1, 3);
  BOOST_CHECK((part.get_shape() == shape{2, 2}));
  BOOST_CHECK((list<std::int32_t>(part) == std::vector{2, 3, 4, 5}));
  BOOST_TEST(part.bytes().data() == x.bytes().data() + 8);
  BOOST_CHECK((list<std::int32_t>(part.slice(1, 2)) == std::vector{4, 5}));
  BOOST_CHECK((list<std::int32_t>(x.row(2)) == std::vector{4, 5}));
  BOOST_CHECK((x.row(0).row(1).get_shape() == shape{}));
  BOOST_CHECK((x.slice(3, 3).get_shape() == shape{0, 2}));
}

BOOST_AUTO_TEST_CASE(rows_that_do_not_exist_are_refused) {
  const auto x = counting({3, 2});
  BOOST_CHECK_THROW(x.slice(-1, 2), out_of_range_error);
  BOOST_CHECK_THROW(x.slice(2, 1), out_of_range_error);
  BOOST_CHECK_THROW(x.slice(0, 4), out_of_range_error);
  BOOST_CHECK_THROW(x.row(3), out_of_range_error);
  BOOST_CHECK_THROW(x.row(-1), out_of_range_error);
  BOOST_CHECK_THROW(x.row(std::numeric_limits<std::int64_t>::max()), out_of_range_error);
  BOOST_CHECK_THROW(tensor::scalar(1).slice(0, 1), out_of_range_error);
  BOOST_CHECK_THROW(tensor::scalar(1).row(0), out_of_range_error);
}

BOOST_AUTO_TEST_CASE(a_reshape_shares_the_elements) {
  const auto x = counting({2, 3});
  const auto y = x.reshape({3, 2});
  BOOST_TEST(y.bytes().data() == x.bytes().data());
  BOOST_CHECK_THROW(x.reshape({4}), invalid_argument_error);
  BOOST_CHECK((tensor::scalar(5).reshape({1, 1}).get_shape() == shape{1, 1}));
}

BOOST_AUTO_TEST_CASE(bitwise_equality_looks_at_bits) {
  BOOST_TEST(tensor::scalar(std::nanf("")).bitwise_equal(tensor::scalar(std::nanf(""))));
  BOOST_TEST(!tensor::scalar(0.0f).bitwise_equal(tensor::scalar(-0.0f)));
  BOOST_TEST(!tensor::scalar(0.0f).bitwise_equal(tensor::scalar(0)));
  BOOST_TEST(!counting({2, 3}).bitwise_equal(counting({3, 2})));
  BOOST_TEST(counting({2, 3}).bitwise_equal(counting({2, 3})));
}

BOOST_AUTO_TEST_CASE(a_tensor_over_a_buffer_is_checked) {
  auto bytes = buffer::allocate(16);
  std::memset(bytes.mutable_data(), 0, 16);
  BOOST_TEST(tensor::from_buffer(dtype::int32, {2}, bytes, 8).bytes().data() == bytes.data() + 8);
  BOOST_CHECK_THROW(tensor::from_buffer(dtype::int32, {3}, bytes, 8), invalid_argument_error);
  BOOST_CHECK_THROW(tensor::from_buffer(dtype::int8, {0}, bytes, 17), invalid_argument_error);
  BOOST_CHECK_THROW(tensor::from_buffer(static_cast<dtype>(99), {1}, bytes), invalid_argument_error);
  BOOST_CHECK_THROW(tensor::from_buffer(dtype::int64, {shape::element_count_max}, bytes), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(a_misaligned_buffer_is_copied_into_place) {
  auto bytes = buffer::allocate(16);
  const auto number = 0x01020304;
  std::memcpy(bytes.mutable_data() + 3, &number, sizeof number);
  const auto x = tensor::from_buffer(dtype::int32, {}, bytes, 3);
  BOOST_TEST(x.item<std::int32_t>() == number);
}

BOOST_AUTO_TEST_CASE(booleans_from_outside_are_checked) {
  auto bytes = buffer::allocate(3);
  std::memcpy(bytes.mutable_data(), "\0\1\2", 3);
  BOOST_CHECK((list<bool>(tensor::from_buffer(dtype::boolean, {2}, bytes)) == std::vector{false, true}));
  BOOST_CHECK_THROW(tensor::from_buffer(dtype::boolean, {3}, bytes), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(host_code_does_not_touch_elements_on_a_device) {
  auto x = on_gpu();
  BOOST_TEST(x.device() == "GPU:0");
  BOOST_CHECK_THROW(x.values<float>(), failed_precondition_error);
  BOOST_CHECK_THROW(x.mutable_bytes(), failed_precondition_error);
  BOOST_CHECK_THROW(add_in_place(x, tensor::scalar(1.0f)), failed_precondition_error);
  BOOST_TEST(x.to_string() == "tensor float32 (2,) on GPU:0");
  BOOST_TEST(x.row(1).device() == "GPU:0");
}

BOOST_AUTO_TEST_CASE(a_tensor_can_be_shown) {
  BOOST_TEST(tensor::of<float>({1, 2}, {1.5f, -2}).to_string() == "tensor float32 (1, 2) on CPU:0: 1.5, -2");
  BOOST_TEST(counting({9}).to_string() == "tensor int32 (9,) on CPU:0: 0, 1, 2, 3, 4, 5, 6, 7, ...");
  BOOST_TEST(tensor::scalar(bfloat16{0.5f}).to_string() == "tensor bfloat16 () on CPU:0: 0.5");
  BOOST_TEST(tensor::scalar(true).to_string() == "tensor boolean () on CPU:0: true");
}

BOOST_AUTO_TEST_CASE(threads_that_share_a_tensor_write_their_own_copies) {
  const auto shared = counting({1000});
  std::vector<tensor> copies(4, shared);
  std::vector<std::jthread> threads;
  for (auto& copy : copies) {
    threads.emplace_back(
        [&copy, &copies] { add_in_place(copy, tensor::scalar(static_cast<int>(&copy - &copies[0]))); });
  }
  threads.clear();
  for (auto i = 0; i < 4; ++i) BOOST_TEST(copies[static_cast<std::size_t>(i)].values<std::int32_t>()[999] == 999 + i);
  BOOST_TEST(shared.bitwise_equal(counting({1000})));
}

BOOST_AUTO_TEST_SUITE_END()
