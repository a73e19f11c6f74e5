// Replicas compute while a reduction that they have started goes on.
#include "eight_small_gpus.hpp"
#include "gate.hpp"
#include "support/refusal.hpp"
#include "unit/device/collectives/thread_ranks.hpp"

#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/emulated/emulated_faults.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(overlapping_collectives_suite, *boost::unit_test::fixture<eight_small_gpus>())

namespace {

using namespace std::chrono_literals;

tensor full_here(float value) { return tensor::full({1000}, value).copy_to(replica_context::current().devices()[0]); }
float last_of(const tensor& x) { return x.copy_to("CPU:0").values<float>().back(); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_replica_computes_on_while_its_reduction_waits_for_another_gpu) {
  const mirrored_strategy strategy{{"GPU:0", "GPU:1"}, {.step_limit = 1min}};
  std::promise<float> computed;
  const auto sums = strategy.run([&] {
    const auto context = replica_context::current();
    std::optional<gate> busy;
    if (context.replica_id_in_sync_group() == 1) busy.emplace("GPU:1");
    auto sum = context.start_all_reduce(reduce_op::sum, full_here(1));
    if (busy) {
      const auto other = computed.get_future();
      if (other.wait_for(20s) != std::future_status::ready) throw internal_error{"GPU:0 waits for GPU:1"};
      busy->open();
    } else {
      auto x = full_here(2);
      add_in_place(x, x);
      computed.set_value(last_of(x));
    }
    return last_of(sum.get());
  });
  BOOST_TEST(sums[0] == 2.0f);
  BOOST_TEST(sums[1] == 2.0f);
}

BOOST_AUTO_TEST_CASE(the_limit_of_a_reduction_counts_from_its_start) {
  const mirrored_strategy strategy{{"GPU:2", "GPU:3"}, {.step_limit = 1min}};
  const auto why = problem_of([&] {
    strategy.run([] {
      const auto context = replica_context::current();
      std::optional<gate> busy;
      if (context.replica_id_in_sync_group() == 1) busy.emplace("GPU:3");
      context.start_all_reduce(reduce_op::sum, full_here(1), {.timeout = 300ms}).get();
    });
  });
  BOOST_TEST((why.code() == status_code::deadline_exceeded), why.render());
  BOOST_TEST(contains(why.render(), "all_reduce(sum, 1000 x float32)"), why.render());
  // The gate is open by now.
  const auto sums = strategy.run(
      [] { return last_of(replica_context::current().start_all_reduce(reduce_op::sum, full_here(1)).get()); });
  BOOST_TEST(sums[1] == 2.0f);
}

// What the second one reads nobody else holds any more, and its device has not come to it.
BOOST_AUTO_TEST_CASE(memory_that_a_started_reduction_reads_is_not_used_again_before_its_end) {
  auto group = make_local_communicators(std::vector<std::string>{"GPU:6", "GPU:7"});
  std::promise<void> overwritten;
  const auto ends = end_of_ranks(group, [&](communicator& end) {
    const auto full = [&](double value) {
      auto x = tensor::uninitialised(dtype::float32, {1000}, end.device());
      fill(x, value);
      return x;
    };
    std::optional<gate> busy;
    if (end.rank() == 1) busy.emplace(end.device());
    std::vector<tensor> first{full(0)};
    auto held = full(1);
    std::vector<tensor> second{held};
    const auto going_first = end.start_all_reduce(first, reduce_op::sum, 1min);
    const auto going_second = end.start_all_reduce(second, reduce_op::sum, 1min);
    held = tensor{};
    if (busy) {
      overwritten.get_future().wait_for(20s);
      busy->open();
    } else {
      std::vector<tensor> others(8);
      for (auto& each : others) each = full(9);
      last_of(others.back());
      overwritten.set_value();
    }
    going_first->wait();
    going_second->wait();
    if (last_of(second.front()) != 2.0f) throw internal_error{"what was read was not what was given"};
  });
  for (const auto& end : ends) BOOST_TEST(end.ok(), end.render());
}

// The tensors of a reduction that nobody waits for any more are written by the device until it ends.
BOOST_AUTO_TEST_CASE(memory_of_a_reduction_that_was_left_is_used_again_only_behind_it) {
  const mirrored_strategy strategy{{"GPU:4", "GPU:5"}, {.step_limit = 1min}};
  const auto results = strategy.run([] {
    const auto context = replica_context::current();
    auto wrong = 0;
    for (auto round = 0; round < 50; ++round) {
      context.start_all_reduce(reduce_op::sum, full_here(1));
      auto x = tensor::zeros(dtype::float32, {1000}, context.devices()[0]);
      fill(x, 7);
      if (last_of(x) != 7.0f || last_of(full_here(3)) != 3.0f) ++wrong;
    }
    return wrong;
  });
  BOOST_TEST(results[0] == 0);
  BOOST_TEST(results[1] == 0);
}

BOOST_AUTO_TEST_CASE(a_gpu_that_fails_while_a_reduction_goes_on_is_heard_of_at_its_end) {
  const mirrored_strategy strategy{{"GPU:6", "GPU:7"}, {.step_limit = 1min}};
  const auto why = problem_of([&] {
    strategy.run([] {
      const auto context = replica_context::current();
      context.all_reduce(reduce_op::sum, 1);
      const auto x = full_here(1);
      if (context.replica_id_in_sync_group() == 1) fail_emulated_gpu("GPU:7", "a bus error");
      context.start_all_reduce(reduce_op::sum, x).get();
    });
  });
  BOOST_TEST(contains(why.render(), "a bus error"), why.render());
  repair_emulated_gpu("GPU:7");
  BOOST_TEST(strategy.run([] { return replica_context::current().all_reduce(reduce_op::sum, 1); })[0] == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
