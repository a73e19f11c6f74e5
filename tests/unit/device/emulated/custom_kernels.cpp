// Kernels of a program's own, on the host and on emulated GPUs. Those of CUDA run in examples/fashion_mnist.
#include "eight_small_gpus.hpp"
#include "support/refusal.hpp"

#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/emulated/emulated_faults.hpp>
#include <troupe/device/kernels/custom_kernel.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(custom_kernels_suite, *boost::unit_test::fixture<eight_small_gpus>())

namespace {

using namespace std::chrono_literals;

/// target = target * target + input.
custom_kernel square_and_add() {
  return {.name = "square_and_add", .on_host = [](std::span<tensor> targets, std::span<const tensor> inputs) {
            const auto x = inputs[0].values<float>();
            auto y = targets[0].mutable_values<float>();
            for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] * y[i] + x[i];
          }};
}

custom_kernel failing() {
  return {.name = "failing",
          .on_host = [](std::span<tensor>, std::span<const tensor>) { throw out_of_range_error{"a label of 11"}; }};
}

tensor full_on(const std::string& device, float value) { return tensor::full({1000}, value).copy_to(device); }
float last_of(const tensor& x) { return x.copy_to("CPU:0").values<float>().back(); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_kernel_computes_where_its_operands_are_in_order_with_all_other_work) {
  for (const auto* const device : {"CPU:0", "GPU:0"}) {
    auto y = full_on(device, 2);
    auto x = full_on(device, 3);
    add_in_place(y, x);
    launch(square_and_add(), {&y}, {x});
    fill(x, 100);
    add_in_place(y, y);
    BOOST_TEST(last_of(y) == 56.0f);
  }
}

BOOST_AUTO_TEST_CASE(a_target_that_is_shared_is_copied_and_may_be_an_input_too) {
  for (const auto* const device : {"CPU:0", "GPU:0"}) {
    auto y = full_on(device, 2);
    const auto before = y;
    launch(square_and_add(), {&y}, {y});
    BOOST_TEST(last_of(y) == 6.0f);
    BOOST_TEST(last_of(before) == 2.0f);
  }
}

// What is there before may be no booleans.
BOOST_AUTO_TEST_CASE(a_kernel_may_write_booleans_where_nothing_has_been_written) {
  const custom_kernel is_large{
      .name = "is_large", .on_host = [](std::span<tensor> targets, std::span<const tensor> inputs) {
        std::ranges::transform(inputs[0].values<float>(), targets[0].mutable_values<bool>().begin(),
                               [](float x) { return x > 1; });
      }};
  for (const auto* const device : {"CPU:0", "GPU:0"}) {
    auto mask = tensor::uninitialised(dtype::boolean, {3}, device);
    launch(is_large, {&mask}, {tensor::of({0.0f, 1.0f, 2.0f}).copy_to(device)});
    BOOST_TEST(cast(mask, dtype::int32).copy_to("CPU:0").bitwise_equal(tensor::of({0, 0, 1})));
  }
}

BOOST_AUTO_TEST_CASE(replicas_run_a_kernel_each_on_its_device) {
  const mirrored_strategy strategy{{"GPU:0", "GPU:1", "CPU:0"}};
  const auto sums = strategy.run([] {
    const auto context = replica_context::current();
    auto y = full_on(context.devices()[0], static_cast<float>(context.replica_id_in_sync_group()));
    launch(square_and_add(), {&y}, {y});
    return last_of(context.all_reduce(reduce_op::sum, y));
  });
  for (auto replica = 0; replica < 3; ++replica) BOOST_TEST(sums[replica] == 0.0f + 2.0f + 6.0f);
}

BOOST_AUTO_TEST_CASE(what_a_kernel_throws_reaches_who_waits_and_leaves_the_targets_there) {
  auto on_host = full_on("CPU:0", 1);
  BOOST_TEST(refuses<out_of_range_error>([&] { launch(failing(), {&on_host}); }, "a label of 11"));
  BOOST_TEST(last_of(on_host) == 1.0f);
  auto there = full_on("GPU:2", 1);
  BOOST_CHECK_NO_THROW(launch(failing(), {&there}));
  BOOST_TEST(refuses<out_of_range_error>([&] { last_of(there); }, "a label of 11"));
  BOOST_TEST(last_of(there) == 1.0f);
}

BOOST_AUTO_TEST_CASE(a_device_fails_and_hangs_in_a_kernel_by_its_name) {
  auto y = full_on("GPU:3", 1);
  const auto x = full_on("GPU:3", 1);
  hang_emulated_gpu("GPU:3");
  launch(square_and_add(), {&y}, {x});
  {
    const device_waits_until limit{std::chrono::steady_clock::now() + 50ms};
    BOOST_TEST(refuses<deadline_exceeded_error>([&] { last_of(y); }, "it is in square_and_add"));
  }
  repair_emulated_gpu("GPU:3");
  fail_emulated_gpu("GPU:3", "it is too hot");
  launch(square_and_add(), {&y}, {x});
  BOOST_TEST(refuses<internal_error>([&] { last_of(y); }, "GPU:3 has failed in square_and_add: it is too hot"));
  repair_emulated_gpu("GPU:3");
}

BOOST_AUTO_TEST_CASE(operands_that_no_kernel_can_have_are_refused_and_named) {
  auto here = full_on("CPU:0", 1);
  auto there = full_on("GPU:0", 1);
  const auto refused = [&]<class Error>(std::type_identity<Error>, const std::vector<tensor*>& targets,
                                        const std::vector<tensor>& inputs, const std::string& why) {
    return refuses<Error>([&] { launch(square_and_add(), targets, inputs); }, why);
  };
  using invalid = std::type_identity<invalid_argument_error>;
  BOOST_TEST(refused(invalid{}, {}, {here}, "kernel square_and_add: there is no target"));
  BOOST_TEST(refused(invalid{}, {&here, nullptr}, {}, "target 1 is null"));
  BOOST_TEST(refused(invalid{}, {&here, &there, &here}, {}, "target 2 is given twice"));
  BOOST_TEST(refused(std::type_identity<failed_precondition_error>{}, {&here}, {there},
                     "kernel square_and_add: the operands lie on CPU:0 and on GPU:0"));
  const auto nothing = custom_kernel{.name = "nothing", .on_host = {}};
  BOOST_TEST(refuses<unimplemented_error>([&] { launch(nothing, {&there}); },
                                          "nothing can't run on GPU:0, which is emulated: it has no on_host"));
  BOOST_TEST(refuses<unimplemented_error>([&] { launch(nothing, {&here}); }, "can't run on CPU:0: it has no on_host"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
