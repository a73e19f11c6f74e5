// GPUs that fail, hang, are slow or run out of memory, in random collectives and merge_calls of 2 processes with 2
// (emulated) GPUs each, which reduce inside a process and cross with one leader, or by NCCL over all (D4): nobody
// hangs, what is computed is right, and the processes go on together (D-1, B-2).
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/emulated/emulated_faults.hpp>
#include <troupe/runtime/multi_worker_mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <random>

namespace troupe {

BOOST_AUTO_TEST_SUITE(device_faults_suite)

namespace {

using namespace std::chrono_literals;

constexpr auto processes = 2;
constexpr auto step_limit = 700ms;
/// A step's end, whatever it suffers: its own limit, and what a busy machine adds.
constexpr auto ample = 20s;

int number_from_environment(const char* name, int otherwise) {
  const auto* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoi(text);
}

enum class fault { none, failure, hang, exhaustion, slowness };

void inflict(fault what, const std::string& device) {
  switch (what) {
    case fault::none:
      return;
    case fault::failure:
      return fail_emulated_gpu(device, "it was struck");
    case fault::hang:
      return hang_emulated_gpu(device);
    case fault::exhaustion:
      return exhaust_emulated_gpu(device, 1);
    case fault::slowness:
      return slow_emulated_gpu(device, 20);
  }
}

/// What befalls one of this process's replicas, and before which of the step's calls.
struct plan_of_step {
  fault what = fault::none;
  int replica = 0;
  int call = 0;
};

constexpr auto calls_of_step = 6;

plan_of_step draw(std::mt19937_64& random) {
  return {.what = static_cast<fault>(1 + random() % 4),
          .replica = static_cast<int>(random() % 2),
          .call = static_cast<int>(random() % calls_of_step)};
}

/// The same calls on each replica, of which each looks at its result. Returns whether all processes are content.
bool step(const strategy& strategy, const distributed_variable& v, const plan_of_step& plan, bool content) {
  const auto all = strategy.run([&] {
    const auto context = replica_context::current();
    const auto device = context.devices()[0];
    const auto replicas = static_cast<float>(context.num_replicas_in_sync());
    const auto mine = context.replica_id_in_sync_group() % 2;
    auto call = 0;
    const auto next = [&] {
      if (call++ == plan.call && mine == plan.replica) inflict(plan.what, device);
    };
    next();
    const auto small = context.all_reduce(reduce_op::sum, tensor::full({3}, 1.0f).copy_to(device));
    require(small.slice(2, 3).item<float>() == replicas, "a small sum is wrong");
    next();
    context.merge_call([](troupe::strategy&) {});
    next();
    const auto large = context.all_reduce(reduce_op::mean, tensor::full({100'000}, 2.0f).copy_to(device));
    require(large.slice(99'999, 100'000).item<float>() == 2.0f, "a large mean is wrong");
    next();
    v.assign_add(tensor::scalar(1.0f).copy_to(device));
    next();
    const auto rows = context.all_gather(tensor::full({1, 2}, 3.0f).copy_to(device), 0);
    require(rows.get_shape()[0] == context.num_replicas_in_sync(), "rows are missing");
    next();
    const auto all_content =
        context.all_reduce(reduce_op::min, tensor::scalar(content ? 1.0f : 0.0f).reshape({1}).copy_to(device));
    return all_content.item<float>();
  });
  return all[0] == 1.0f;
}

/// Steps until all processes have had their faults. A step that fails ends for all; they meet again.
void suffer(process_group& group, communication_implementation implementation, int usual_faults) {
  emulate_gpus(2, {.delay_max = 50us, .seed = static_cast<std::uint64_t>(group.rank())});
  const auto faults = number_from_environment("TROUPE_DEVICE_FAULTS", usual_faults) / processes;
  std::mt19937_64 random{static_cast<std::uint64_t>(number_from_environment("TROUPE_DEVICE_SEED", 1)) * processes +
                         static_cast<std::uint64_t>(group.rank())};
  auto suffered = 0;
  auto failed_steps = 0;
  for (auto is_over = false; !is_over;) {
    const auto started = std::chrono::steady_clock::now();
    const auto why = status_of_call([&] {
      const multi_worker_mirrored_strategy strategy{
          group, {"GPU:0", "GPU:1"}, {.step_limit = step_limit, .communication = {.implementation = implementation}}};
      const auto v = strategy.variable("v", 0.0f, {.aggregation = variable_aggregation::sum});
      while (!is_over) {
        const auto has_more = suffered < faults;
        const auto plan = has_more && random() % 2 == 0 ? draw(random) : plan_of_step{};
        if (plan.what != fault::none) ++suffered;
        is_over = step(strategy, v, plan, !has_more);
        for (const auto* const device : {"GPU:0", "GPU:1"}) repair_emulated_gpu(device);
      }
    });
    if (is_over) break;
    if (++failed_steps % 20 == 0) say("failed {} steps, the last: {}", failed_steps, why.render());
    require(std::chrono::steady_clock::now() - started < ample, "a step has not ended in time");
    require(!why.ok(), "a step has failed without an error");
    for (const auto* const device : {"GPU:0", "GPU:1"}) repair_emulated_gpu(device);
    group.rebuild();
  }
  say("over: {} faults, {} steps failed", suffered, failed_steps);
}

void suffer_with_leaders(process_group& group) { suffer(group, communication_implementation::automatic, 200); }
void suffer_by_nccl(process_group& group) { suffer(group, communication_implementation::nccl, 100); }

const group_program suffers_with_leaders{"suffers_device_faults", suffer_with_leaders};
const group_program suffers_by_nccl{"suffers_device_faults_by_nccl", suffer_by_nccl};

void require_that_nobody_hangs(const group_program& suffers) {
  process_cluster cluster{suffers.name(), {.workers = processes - 1, .servers = 0}};
  cluster.start();
  for (const auto* task : {"[chief]", "[worker 0]"}) {
    const auto line = cluster.wait_for(fmt::format("{} over: ", task), 300s);
    BOOST_TEST_MESSAGE(line);
    BOOST_TEST(line.find(" 0 steps failed") == std::string::npos, line);
  }
  for (const auto& task : cluster.tasks()) BOOST_TEST(to_string(cluster.end_of(task, 20s)) == "exit code 0");
}

BOOST_AUTO_TEST_CASE(random_faults_of_gpus_in_any_collective_or_merge_call_hang_nobody) {
  require_that_nobody_hangs(suffers_with_leaders);
}

BOOST_AUTO_TEST_CASE(random_faults_of_gpus_that_nccl_connects_over_the_processes_hang_nobody) {
  require_that_nobody_hangs(suffers_by_nccl);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
