// Replicas whose values and variables are on their own devices.
#include "support/test_devices.hpp"

#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/optimizer_kernels.hpp>
#include <troupe/runtime/dataset_sources.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/strategy_extended.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(strategies_on_devices_suite)

namespace {

int replicas() { return static_cast<int>(test_devices().size()); }

float first_of(const tensor& x) { return x.copy_to("CPU:0").values<float>()[0]; }

/// 1, 2, ... on the replica's own device.
tensor own_number() {
  const auto context = replica_context::current();
  const auto number = static_cast<float>(context.replica_id_in_sync_group() + 1);
  return tensor::full({1000}, number).copy_to(context.devices()[0]);
}

float sum_of_all() { return static_cast<float>(replicas() * (replicas() + 1) / 2); }

}  // namespace

BOOST_AUTO_TEST_CASE(tensors_on_the_replicas_devices_are_reduced_there) {
  const mirrored_strategy strategy{test_devices()};
  const auto sums = strategy.run([] {
    const auto sum = replica_context::current().all_reduce(reduce_op::sum, own_number());
    return std::pair{sum.device(), first_of(sum)};
  });
  for (auto i = std::size_t{0}; i < test_devices().size(); ++i) {
    BOOST_TEST(sums.second[i] == sum_of_all());
    if (tests_gpus()) BOOST_TEST(sums.first[i] == test_devices()[i]);
  }
}

BOOST_AUTO_TEST_CASE(numbers_and_host_tensors_are_reduced_and_stay_on_the_host) {
  const mirrored_strategy strategy{test_devices()};
  const auto sums = strategy.run([] { return replica_context::current().all_reduce(reduce_op::sum, 2.0f); });
  BOOST_TEST(sums[0] == 2.0f * static_cast<float>(replicas()));
  BOOST_TEST(first_of(strategy.reduce(reduce_op::sum, strategy.run([] { return own_number(); }))) == sum_of_all());
}

BOOST_AUTO_TEST_CASE(a_mirrored_variable_has_a_copy_on_each_device_that_stays_equal) {
  const mirrored_strategy strategy{test_devices()};
  const auto v = strategy.variable("v", tensor::full({1000}, 1.0f), {.aggregation = variable_aggregation::sum});
  strategy.run([&] { v.assign_add(own_number()); });
  for (auto round = 0; round < 3; ++round)
    strategy.run([&] {
      const auto context = replica_context::current();
      const auto gradient = context.all_reduce(reduce_op::mean, own_number());
      context.update(v, [&](const variable_component& mine) {
        mine.modify([&](tensor& content) { sgd_update(content, gradient, 0.5); });
      });
    });
  const auto copies = v.components();
  BOOST_TEST(copies.size() == test_devices().size());
  const auto first = copies[0].read().copy_to("CPU:0");
  for (const auto& each : copies) {
    if (tests_gpus()) BOOST_TEST(each.read().device() == each.device());
    BOOST_TEST(each.read().copy_to("CPU:0").bitwise_equal(first));
  }
  BOOST_TEST(first_of(first) == 1.0f + sum_of_all() - 1.5f * sum_of_all() / static_cast<float>(replicas()));
}

BOOST_AUTO_TEST_CASE(a_strategy_says_how_emulated_gpus_communicate) {
  if (!tests_emulated_gpus()) return;
  using enum communication_implementation;
  const auto description = [](communication_implementation which) {
    const replica_strategy_options options{.communication = {.implementation = which}};
    return mirrored_strategy{{"GPU:0", "GPU:1"}, options}.extended().communicator_description();
  };
  for (const auto which : {automatic, nccl})
    BOOST_TEST(description(which) ==
               "NCCL as emulated, 2 replicas on GPU:0..1; reductions and gathers outside of replicas on CPU:0");
  BOOST_TEST(description(ring) ==
             "threads in shared memory, 2 replicas on GPU:0..1, GPUs through the host's memory (\"ring\" was asked "
             "for); reductions and gathers outside of replicas on CPU:0");
}

BOOST_AUTO_TEST_CASE(batches_arrive_on_the_replicas_devices) {
  const mirrored_strategy strategy{test_devices()};
  const auto rows = from_tensor_slices(tensor::full({4 * replicas(), 3}, 1.0f)).batch(4 * replicas());
  const auto batch = strategy.distribute_dataset(rows).iterate().next();
  for (auto i = std::size_t{0}; i < test_devices().size(); ++i) {
    BOOST_TEST(batch[i].get_shape()[0] == 4);
    if (tests_gpus()) BOOST_TEST(batch[i].device() == test_devices()[i]);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
