// Emulated GPUs that are made to fail, and what becomes of replicas on them. Each case has devices of its own.
#include "eight_small_gpus.hpp"
#include "support/refusal.hpp"

#include <troupe/device/emulated/emulated_faults.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/tensor/tensor.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/strategy_extended.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(failing_gpus_suite, *boost::unit_test::fixture<eight_small_gpus>())

namespace {

using namespace std::chrono_literals;

tensor ones_on(const std::string& device) { return tensor::full(shape{1000}, 1.0f).copy_to(device); }

/// In a replica: one on its device.
tensor own_ones() { return ones_on(replica_context::current().devices()[0]).slice(0, 1); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_gpu_that_has_failed_stays_failed_and_says_in_what) {
  auto x = ones_on("GPU:3");
  fail_emulated_gpu("GPU:3", "the fan has stopped");
  BOOST_CHECK_NO_THROW(add_in_place(x, x));  // only queued
  const auto text = "GPU:3 has failed in add_in_place: the fan has stopped";
  BOOST_TEST(refuses<internal_error>([&] { x.copy_to("CPU:0"); }, text));
  BOOST_TEST(refuses<internal_error>([&] { add_in_place(x, x); }, text));
  BOOST_TEST(refuses<internal_error>([] { tensor::zeros(dtype::float32, {1}, "GPU:3"); }, text));
  BOOST_TEST(refuses<internal_error>([] { synchronize_device("GPU:3"); }, text));
  // Nor does it hold up another one that waits for it.
  BOOST_TEST(refuses<internal_error>([&] { ones_on("GPU:4").copy_to("GPU:3"); }, text));
  BOOST_TEST(ones_on("GPU:4").copy_to("CPU:0").values<float>()[999] == 1.0f);
}

BOOST_AUTO_TEST_CASE(a_copy_from_a_gpu_that_has_failed_is_an_error_too) {
  const auto x = ones_on("GPU:2");
  fail_emulated_gpu("GPU:2", "a bus error");
  BOOST_TEST(refuses<internal_error>([&] { x.copy_to("CPU:0"); }, "GPU:2 has failed in copy_to_host: a bus error"));
  BOOST_TEST(refuses<internal_error>([&] { x.copy_to("GPU:4"); }, "GPU:2 has failed in copy_to_host: a bus error"));
}

BOOST_AUTO_TEST_CASE(replicas_hear_whose_gpu_has_failed_and_others_go_on_without_it) {
  const mirrored_strategy strategy{{"GPU:5", "GPU:6", "GPU:7"}};
  const auto v = strategy.variable("v", tensor::full({1000}, 1.0f), {.aggregation = variable_aggregation::sum});
  const auto step = [](const mirrored_strategy& on) {
    return on.run([] {
      const auto context = replica_context::current();
      return context.all_reduce(reduce_op::sum, ones_on(context.devices()[0])).slice(0, 1).item<float>();
    });
  };
  BOOST_TEST(step(strategy)[2] == 3.0f);
  fail_emulated_gpu("GPU:6", "its memory is damaged");
  const auto started = std::chrono::steady_clock::now();
  const auto why = problem_of([&] { step(strategy); });
  BOOST_TEST(contains(why.render(), "replica 1 (GPU:6) failed"), why.render());
  BOOST_TEST(contains(why.render(), "GPU:6 has failed in copy_from_host: its memory is damaged"), why.render());
  BOOST_TEST((std::chrono::steady_clock::now() - started < 10s));
  const mirrored_strategy rest{{"GPU:5", "GPU:7"}};
  BOOST_TEST(step(rest)[1] == 2.0f);
}

BOOST_AUTO_TEST_CASE(a_gpu_that_hangs_is_waited_for_until_the_steps_deadline_and_the_others_go_on_without_it) {
  const mirrored_strategy strategy{{"GPU:5", "GPU:7"}, {.step_limit = 2s}};
  const auto v = strategy.variable("v", tensor::full({4}, 3.0f));
  const auto reads = [](const troupe::strategy& on) { return on.run([] { return own_ones().item<float>(); }); };
  BOOST_TEST(reads(strategy)[1] == 1.0f);
  hang_emulated_gpu("GPU:7");
  const auto started = std::chrono::steady_clock::now();
  const auto why = problem_of([&] { reads(strategy); });
  BOOST_TEST((why.code() == status_code::deadline_exceeded), why.render());
  BOOST_TEST(contains(why.render(), "replica 1 (GPU:7) failed"), why.render());
  BOOST_TEST(contains(why.render(), "GPU:7 has not come to the end of its work in time: it is in"), why.render());
  BOOST_TEST((std::chrono::steady_clock::now() - started < 10s));
  const auto rest = strategy.without("GPU:7");
  BOOST_TEST(rest.num_replicas_in_sync() == 1);
  BOOST_TEST(reads(rest)[0] == 1.0f);
  // What was learned is still there, on the device that is left.
  const auto again = rest.variable("v", strategy.local_results(v)[0].read());
  BOOST_TEST(again.read().slice(0, 1).item<float>() == 3.0f);
  repair_emulated_gpu("GPU:7");
  BOOST_TEST(reads(strategy)[1] == 1.0f);
}

BOOST_AUTO_TEST_CASE(a_merge_function_too_stops_waiting_for_a_gpu_that_hangs) {
  const mirrored_strategy strategy{{"GPU:5", "GPU:7"}, {.step_limit = 2s}};
  hang_emulated_gpu("GPU:7");
  const auto why = problem_of([&] {
    strategy.run([] {
      replica_context::current().merge_call([](troupe::strategy&) { ones_on("GPU:7").slice(0, 1).item<float>(); });
    });
  });
  BOOST_TEST((why.code() == status_code::deadline_exceeded), why.render());
  repair_emulated_gpu("GPU:7");
  // The barrier is there again at once.
  BOOST_CHECK_NO_THROW(strategy.run([] { replica_context::current().merge_call([](troupe::strategy&) {}); }));
}

BOOST_AUTO_TEST_CASE(a_strategy_goes_on_without_a_device_that_it_has_and_does_not_need) {
  const mirrored_strategy strategy{{"CPU:0", "CPU:1"}};
  BOOST_TEST(strategy.without("CPU:0").extended().worker_devices() == std::vector<std::string>{"CPU:1"});
  BOOST_TEST(refuses<invalid_argument_error>(
      [&] { strategy.without("CPU:2"); }, "CPU:2 is none of this mirrored_strategy's devices, which are CPU:0, CPU:1"));
  BOOST_TEST(
      refuses<failed_precondition_error>([&] { strategy.without("CPU:0").without("CPU:1"); }, "the only device"));
  const central_storage_strategy central{{"CPU:0", "CPU:1"}, "CPU:0"};
  BOOST_TEST(refuses<failed_precondition_error>([&] { central.without("CPU:0"); }, "keeps its variables"));
  BOOST_TEST(central.without("CPU:1").num_replicas_in_sync() == 1);
  BOOST_TEST(refuses<unimplemented_error>([] { get_strategy().without("CPU:0"); }, "can't go on without CPU:0"));
}

BOOST_AUTO_TEST_CASE(a_gpu_that_was_repaired_suffers_nothing_any_more_and_has_dropped_what_was_queued) {
  auto x = ones_on("GPU:5");
  hang_emulated_gpu("GPU:5");
  for (auto i = 0; i < 3; ++i) add_in_place(x, x);
  fail_emulated_gpu("GPU:5", "it is too hot");
  repair_emulated_gpu("GPU:5");
  BOOST_TEST(x.copy_to("CPU:0").values<float>()[7] == 1.0f);
}

BOOST_AUTO_TEST_CASE(memory_runs_out_at_the_allocation_that_was_asked_for) {
  exhaust_emulated_gpu("GPU:1", 2);
  const auto first = ones_on("GPU:1");
  const auto second = ones_on("GPU:1");
  BOOST_TEST(refuses<resource_exhausted_error>([] { ones_on("GPU:1"); }, "cannot allocate 4000 bytes on GPU:1"));
  BOOST_TEST(second.copy_to("CPU:0").values<float>()[0] == 1.0f);
  exhaust_emulated_gpu("GPU:1", 1);
  BOOST_CHECK_NO_THROW(ones_on("GPU:1"));
  BOOST_TEST(refuses<invalid_argument_error>([] { exhaust_emulated_gpu("GPU:1", -1); }, "for -1 more allocations"));
}

BOOST_AUTO_TEST_CASE(a_slow_gpu_takes_so_many_times_as_long) {
  const auto x = tensor::full(shape{1 << 19}, 1.0f);
  const auto time_of_copies = [&] {
    const auto started = std::chrono::steady_clock::now();
    for (auto i = 0; i < 20; ++i) x.copy_to("GPU:0");
    return std::chrono::steady_clock::now() - started;
  };
  const auto usual = time_of_copies();
  slow_emulated_gpu("GPU:0", 100);
  BOOST_TEST((time_of_copies() > 3 * usual));
  slow_emulated_gpu("GPU:0", 1);
  for (const auto factor : {0.5, 0.0, -1.0})
    BOOST_TEST(refuses<invalid_argument_error>([&] { slow_emulated_gpu("GPU:0", factor); }, "times as slow"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
