// A process whose GPUs are emulated, as its program sees it.
#include "eight_small_gpus.hpp"
#include "support/refusal.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/reduction.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <thread>
#include <vector>

namespace troupe {

namespace {

constexpr auto memory_bytes = eight_small_gpus::memory_bytes;

tensor counting(std::int64_t count) {
  auto x = tensor::uninitialised(dtype::float32, {count});
  auto next = 0.0f;
  for (auto& each : x.mutable_values<float>()) each = next++;
  return x;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(emulated_gpus_suite, *boost::unit_test::fixture<eight_small_gpus>())

BOOST_AUTO_TEST_CASE(a_program_finds_as_many_gpus_as_it_asked_for) {
  BOOST_TEST(gpu_names().size() == 8u);
  BOOST_TEST(gpu_names()[7] == "GPU:7");
  const auto second = describe_device("GPU:1");
  BOOST_TEST(second.name == "GPU:1");
  BOOST_TEST(second.is_emulated);
  BOOST_TEST(second.physical_index == 1);
  BOOST_TEST(second.memory_bytes == memory_bytes);
  BOOST_TEST(refuses<invalid_argument_error>([] { counting(1).copy_to("GPU:8"); }, "this process has 8 emulated GPUs"));
}

BOOST_AUTO_TEST_CASE(host_code_that_reads_a_tensor_there_hears_which_device_it_is_on) {
  const auto there = counting(4).copy_to("GPU:1");
  BOOST_TEST(refuses<failed_precondition_error>([&] { there.values<float>(); }, "lie on GPU:1, where host code"));
  BOOST_TEST(refuses<failed_precondition_error>([&] { there.bytes(); }, "lie on GPU:1, where host code"));
  BOOST_TEST(there.row(3).item<float>() == 3);
}

BOOST_AUTO_TEST_CASE(its_memory_runs_out_as_that_of_a_gpu_does) {
  const auto half = tensor::zeros(dtype::uint8, {memory_bytes / 2}, "GPU:2");
  BOOST_TEST(describe_device("GPU:2").free_memory_bytes == memory_bytes / 2);
  const auto too_much = [] { tensor::zeros(dtype::uint8, {memory_bytes / 2 + 4096}, "GPU:2"); };
  BOOST_TEST(refuses<resource_exhausted_error>(too_much, "on GPU:2: 4194304 bytes are in use there"));
  // The others have their own, and what is given back is there again.
  tensor::zeros(dtype::uint8, {memory_bytes}, "GPU:1");
  { const auto other_half = tensor::zeros(dtype::uint8, {memory_bytes / 2}, "GPU:2"); }
  { const auto other_half = tensor::zeros(dtype::uint8, {memory_bytes / 2}, "GPU:2"); }
}

// The streams are late by random times: each value goes round all devices, and is changed on each.
BOOST_AUTO_TEST_CASE(values_that_wander_over_late_devices_are_never_old) {
  for (auto round = 0; round < 60; ++round) {
    auto x = tensor::full(shape{1000}, static_cast<float>(round)).copy_to("GPU:0");
    for (auto i = 0; i < 6; ++i) {
      x = x.copy_to(gpu_names()[static_cast<std::size_t>(i + 1) % 3]);
      add_in_place(x, x);
    }
    const auto back = x.copy_to("CPU:0");
    BOOST_TEST(back.values<float>().front() == static_cast<float>(64 * round));
    BOOST_TEST(back.values<float>().back() == static_cast<float>(64 * round));
  }
}

// The memory of a tensor that is gone may be handed out again while another device still reads it.
BOOST_AUTO_TEST_CASE(memory_that_is_used_again_waits_for_those_who_read_it) {
  for (auto round = 0; round < 60; ++round) {
    const auto moved = [&] { return tensor::full(shape{1000}, 1.0f).copy_to("GPU:0").copy_to("GPU:1"); }();
    const auto other = tensor::full(shape{1000}, 2.0f).copy_to("GPU:0");
    BOOST_TEST(moved.copy_to("CPU:0").values<float>().back() == 1.0f);
    BOOST_TEST(other.copy_to("CPU:0").values<float>().back() == 2.0f);
  }
}

BOOST_AUTO_TEST_CASE(an_error_in_the_work_is_thrown_by_who_waits) {
  auto wrong = tensor::uninitialised(dtype::boolean, {10}, "GPU:0");  // filled with what no boolean is
  const auto sum = cast(wrong, dtype::int32);
  BOOST_TEST(refuses<invalid_argument_error>([&] { sum.copy_to("CPU:0"); }, "a boolean tensor has bytes other"));
  BOOST_TEST(counting(3).copy_to("GPU:0").copy_to("CPU:0").bitwise_equal(counting(3)));
}

BOOST_AUTO_TEST_CASE(an_error_that_can_be_known_at_once_is_thrown_at_once) {
  auto yes = tensor::zeros(dtype::boolean, {3}, "GPU:0");
  const auto meaningless = "has no meaning for boolean tensors";
  BOOST_TEST(refuses<invalid_argument_error>([&] { scale_in_place(yes, 2); }, meaningless));
  BOOST_TEST(refuses<invalid_argument_error>([&] { add_in_place(yes, yes); }, meaningless));
  BOOST_TEST(refuses<invalid_argument_error>([&] { reduce_sum(yes); }, meaningless));
  BOOST_TEST(refuses<invalid_argument_error>([&] { reduce_mean(yes); }, meaningless));
}

BOOST_AUTO_TEST_CASE(kernels_of_cudas_need_a_real_gpu) {
  BOOST_TEST(refuses<unimplemented_error>([] { cuda::stream_of("GPU:0"); }, "\"GPU:0\" is emulated"));
}

BOOST_AUTO_TEST_CASE(threads_use_one_device_at_once) {
  std::vector<float> sums(4);
  {
    std::vector<std::jthread> threads;
    for (auto& sum : sums)
      threads.emplace_back([&sum] {
        for (auto i = 0; i < 20; ++i) sum += reduce_sum(counting(100).copy_to("GPU:0")).copy_to("CPU:0").item<float>();
      });
  }
  for (const auto sum : sums) BOOST_TEST(sum == 20 * 4950.0f);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
