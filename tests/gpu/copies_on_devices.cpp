#include "support/test_devices.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/tensor/dlpack.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <boost/test/unit_test.hpp>
#include <dlpack/dlpack.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(copies_on_devices_suite)

namespace {

tensor counting(std::int64_t count) {
  auto x = tensor::uninitialised(dtype::int32, {count});
  auto next = std::int32_t{0};
  for (auto& each : x.mutable_values<std::int32_t>()) each = next++;
  return x;
}

tensor to_host(const tensor& x) { return x.copy_to("CPU:0"); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_tensor_comes_back_from_a_device_as_it_was) {
  for (const auto& device : test_devices()) {
    for (const auto count : {0, 1, 1000, 1 << 20}) {
      const auto x = counting(count);
      const auto there = x.copy_to(device);
      BOOST_TEST(there.get_shape() == x.get_shape());
      BOOST_TEST(to_host(there).bitwise_equal(x));
    }
  }
}

// Large ones go in pieces, by several threads.
BOOST_AUTO_TEST_CASE(large_tensors_come_back_as_they_were_from_all_devices_at_once) {
  const auto x = counting(5'000'003);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (const auto& device : test_devices()) {
      threads.emplace_back([&wrong, &x, &device] {
        for (auto round = 1; round <= 4; ++round) {
          auto there = x.copy_to(device);
          add_in_place(there, x.copy_to(device));
          auto sum = to_host(there);
          subtract_in_place(sum, x);
          wrong += !sum.bitwise_equal(x);
        }
      });
    }
  }
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(a_copy_to_where_a_tensor_is_shares_it) {
  const auto there = counting(10).copy_to(test_device());
  BOOST_TEST(there.copy_to(test_device()).data() == there.data());
}

BOOST_AUTO_TEST_CASE(a_tensor_moves_between_devices) {
  const auto x = counting(100'000);
  auto travelling = x.copy_to(test_devices().front());
  for (const auto& device : test_devices()) travelling = travelling.copy_to(device);
  BOOST_TEST(to_host(travelling).bitwise_equal(x));
}

BOOST_AUTO_TEST_CASE(a_tensor_on_a_gpu_names_it) {
  if (!tests_gpus()) return;
  BOOST_TEST(counting(3).copy_to(test_devices().back()).device() == test_devices().back());
  BOOST_TEST(tensor::zeros(dtype::float32, {0}, test_devices().back()).device() == test_devices().back());
}

BOOST_AUTO_TEST_CASE(zeros_are_zero_on_a_device_also_in_memory_that_was_used) {
  for (auto round = 0; round < 3; ++round) {
    auto x = tensor::zeros(dtype::float64, {1000}, test_device());
    BOOST_TEST(to_host(x).bitwise_equal(tensor::zeros(dtype::float64, {1000})));
    fill(x, 7);
  }
}

BOOST_AUTO_TEST_CASE(writing_a_shared_tensor_on_a_device_leaves_the_other_holder_alone) {
  const auto original = counting(1000).copy_to(test_device());
  auto written = original;
  add_in_place(written, original);
  BOOST_TEST(to_host(original).bitwise_equal(counting(1000)));
  BOOST_TEST(to_host(written).values<std::int32_t>()[999] == 1998);

  auto row = original.slice(10, 20);
  fill(row, -1);
  BOOST_TEST(to_host(original).bitwise_equal(counting(1000)));
}

BOOST_AUTO_TEST_CASE(a_slice_on_a_device_is_copied_as_a_slice) {
  const auto there = counting(1000).copy_to(test_device());
  BOOST_TEST(to_host(there.slice(100, 200)).bitwise_equal(counting(1000).slice(100, 200)));
}

BOOST_AUTO_TEST_CASE(parts_on_a_device_are_joined_along_any_axis) {
  const auto left = counting(24).reshape({2, 3, 4});
  const auto right = counting(8).reshape({2, 1, 4});
  const std::vector host{left, right};
  const std::vector there{left.copy_to(test_device()), right.copy_to(test_device())};
  BOOST_TEST(to_host(concatenate(there, 1)).bitwise_equal(concatenate(host, 1)));
  const std::vector twice{there.front(), there.front()};
  const std::vector host_twice{left, left};
  for (const auto axis : {0, 1, 2}) {
    BOOST_TEST(to_host(concatenate(twice, axis)).bitwise_equal(concatenate(host_twice, axis)));
  }
}

BOOST_AUTO_TEST_CASE(pinned_memory_is_written_and_copied_like_any_other) {
  auto memory = allocate_pinned(4000);
  BOOST_TEST(memory.on_host());
  BOOST_TEST(memory.unique());
  std::memcpy(memory.mutable_data(), counting(1000).data(), 4000);
  const auto x = tensor::from_buffer(dtype::int32, {1000}, memory);
  BOOST_TEST(to_host(x.copy_to(test_device())).bitwise_equal(counting(1000)));

  const auto large = counting(5'000'003);
  auto much = allocate_pinned(large.size_bytes());
  std::memcpy(much.mutable_data(), large.data(), large.size_bytes());
  const auto y = tensor::from_buffer(dtype::int32, {5'000'003}, much);
  BOOST_TEST(to_host(y.copy_to(test_device())).bitwise_equal(large));
}

BOOST_AUTO_TEST_CASE(an_exported_tensor_says_on_which_device_it_is) {
  if (tests_emulated_gpus()) {
    BOOST_CHECK_THROW(to_dlpack(counting(3).copy_to(test_device())), unimplemented_error);
    return;
  }
  auto* exported = to_dlpack(counting(3).copy_to(test_devices().back()));
  BOOST_TEST((exported->dl_tensor.device.device_type == (tests_gpus() ? kDLCUDA : kDLCPU)));
  BOOST_TEST(exported->dl_tensor.device.device_id ==
             (tests_gpus() ? accelerator_of(test_devices().back()).physical_index() : 0));
  exported->deleter(exported);
}

BOOST_AUTO_TEST_CASE(memory_of_a_gpu_is_reused) {
  if (!tests_gpus()) return;
  for (auto round = 0; round < 10; ++round) tensor::zeros(dtype::float32, {12'345}, test_device());
  auto& gpu = accelerator_of(test_device());
  BOOST_TEST(gpu.statistics().reuse_count >= 9u);
  gpu.release_kept_memory();
  BOOST_TEST(gpu.statistics().kept_bytes == 0u);
}

BOOST_AUTO_TEST_CASE(more_memory_than_a_gpu_has_is_an_error_and_no_crash) {
  if (!tests_gpus()) return;
  BOOST_CHECK_THROW(tensor::zeros(dtype::float64, {std::int64_t{1} << 40}, test_device()), resource_exhausted_error);
  BOOST_TEST(to_host(counting(5).copy_to(test_device())).bitwise_equal(counting(5)));
}

BOOST_AUTO_TEST_CASE(threads_use_all_devices_at_once) {
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (const auto& device : test_devices()) {
      threads.emplace_back([&wrong, &device] {
        for (auto round = 1; round <= 50; ++round) {
          auto x = tensor::zeros(dtype::int32, {10'000}, device);
          for (auto i = 0; i < round; ++i) add_in_place(x, counting(10'000).copy_to(device));
          wrong += to_host(x).values<std::int32_t>()[9'999] != 9'999 * round;
        }
      });
    }
  }
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(a_gpu_that_does_not_exist_is_named) {
  const auto is_named = [](const error& e) { return e.message().find("\"GPU:9999\"") != std::string::npos; };
  BOOST_CHECK_EXCEPTION(counting(1).copy_to("GPU:9999"), error, is_named);
  BOOST_CHECK_THROW(counting(1).copy_to("TPU:0"), invalid_argument_error);
  BOOST_CHECK_THROW(counting(1).copy_to("/job:worker"), invalid_argument_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
