// Replicas in step over processes: what they compute together, and that nobody hangs when one of them is killed or
// frozen, wherever the others are (D-1, B-2). Semantics: examples/reference/semantics.md 1.3, 5.2.2.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/runtime/dataset_sources.hpp>
#include <troupe/runtime/multi_worker_mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/strategy_extended.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/ranges.h>

#include <csignal>
#include <cstdlib>
#include <random>

namespace troupe {

BOOST_AUTO_TEST_SUITE(replicas_in_step_suite)

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

const std::vector<std::string> two_devices{"CPU:0", "CPU:1"};

// --- results --------------------------------------------------------------------------------------------------------

void compute_on(process_group& group, const std::vector<std::string>& devices,
                communication_implementation implementation = communication_implementation::automatic) {
  const multi_worker_mirrored_strategy strategy{group, devices, {.communication = {.implementation = implementation}}};
  say("by {}", strategy.extended().communicator_description());
  const auto ids = strategy.run([] { return replica_context::current().replica_id_in_sync_group(); });
  say("ids {} {} of {}", ids[0], ids[1], strategy.num_replicas_in_sync());
  say("reduced {}", strategy.reduce(reduce_op::sum, ids));
  const auto sums = strategy.run(
      [](int id) { return replica_context::current().all_reduce(reduce_op::sum, static_cast<float>(id + 1)); }, ids);
  say("all_reduced {} {}", sums[0], sums[1]);
  // Uneven parts: replica i brings i + 1 rows.
  const auto gathered = strategy.run(
      [](int id) { return replica_context::current().all_gather(tensor::full<std::int32_t>({id + 1}, id), 0); }, ids);
  say("gathered {}", fmt::join(gathered[1].values<std::int32_t>(), ","));
  // The chief's initial value counts.
  const auto v =
      strategy.variable("v", 10.0f + static_cast<float>(group.rank()), {.aggregation = variable_aggregation::mean});
  strategy.run([&](int id) { v.assign_add(tensor::scalar(static_cast<float>(id))); }, ids);
  say("variable {}", v.item<float>());
  const auto batches = from_tensor_slices(tensor::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f})).batch(5);
  const auto share = strategy.distribute_dataset(batches).iterate().next();
  say("mean of the uneven batch {}", strategy.reduce(reduce_op::mean, share, 0).item<float>());
}

void compute_on_cpus(process_group& group) { compute_on(group, two_devices); }

void compute_on_emulated_gpus(process_group& group) {
  emulate_gpus(2, {.delay_max = 200us, .seed = static_cast<std::uint64_t>(group.rank())});
  compute_on(group, {"GPU:0", "GPU:1"});
}

void compute_by_nccl(process_group& group) {
  emulate_gpus(2, {.delay_max = 200us, .seed = static_cast<std::uint64_t>(group.rank())});
  compute_on(group, {"GPU:0", "GPU:1"}, communication_implementation::nccl);
}

const group_program computes{"computes", compute_on_cpus};
const group_program computes_on_gpus{"computes_on_gpus", compute_on_emulated_gpus};
const group_program computes_by_nccl{"computes_by_nccl", compute_by_nccl};

void require_results(const group_program& program, const std::string& connection) {
  process_cluster cluster{program.name(), {.workers = 1, .servers = 0}};
  cluster.start();
  for (const auto* task : {"chief", "worker 0"}) {
    const auto line = [&](const std::string& text) { cluster.wait_for(fmt::format("[{}] {}", task, text)); };
    line("by " + connection);
    line(task == std::string{"chief"} ? "ids 0 1 of 4" : "ids 2 3 of 4");
    line("reduced 6");
    line("all_reduced 10 10");
    line("gathered 0,1,1,2,2,2,3,3,3,3");
    line("variable 11.5");
    line("mean of the uneven batch 3");
  }
  for (const auto& task : cluster.tasks()) BOOST_TEST(to_string(cluster.end_of(task)) == "exit code 0");
}

BOOST_AUTO_TEST_CASE(replicas_of_all_processes_compute_together) {
  require_results(computes,
                  "threads in shared memory, 2 replicas on CPU:0..1; between processes shared memory, 2 ranks on one "
                  "host");
}

BOOST_AUTO_TEST_CASE(replicas_on_emulated_gpus_of_all_processes_compute_the_same_together) {
  require_results(computes_on_gpus,
                  "NCCL as emulated, 2 replicas on GPU:0..1; between processes shared memory, 2 ranks on one host; "
                  "reductions and gathers outside of replicas on CPU:0");
}

BOOST_AUTO_TEST_CASE(nccl_over_the_emulated_gpus_of_all_processes_computes_the_same) {
  require_results(
      computes_by_nccl,
      "NCCL as emulated over all 4 ranks, 2 replicas on GPU:0..1; controlled over shared memory, 2 ranks on "
      "one host; reductions and gathers outside of replicas on CPU:0");
}

void disagree(process_group& group) {
  const multi_worker_mirrored_strategy strategy{group, two_devices};
  const auto failed = status_of_call([&] {
    strategy.run([rank = group.rank()] {
      const auto context = replica_context::current();
      rank == 0 ? context.all_reduce(reduce_op::sum, 1.0f) : context.all_gather(tensor::of({1.0f}), 0).item<float>();
    });
  });
  say("ended: {}", failed.render());
}

const group_program disagrees{"disagrees", disagree};

BOOST_AUTO_TEST_CASE(processes_that_call_different_collectives_are_told_so) {
  process_cluster cluster{disagrees.name(), {.workers = 1, .servers = 0}};
  cluster.start();
  for (const auto* task : {"[chief]", "[worker 0]"}) {
    const auto line = cluster.wait_for(fmt::format("{} ended: failed_precondition", task), 20s);
    BOOST_TEST(line.find("all_reduce") != std::string::npos, line);
    BOOST_TEST(line.find("all_gather") != std::string::npos, line);
  }
}

// --- the end of a job -----------------------------------------------------------------------------------------------

/// Nothing follows the last collective, so each process ends as soon as it has its part of it.
void compute_and_end(process_group& group) {
  const multi_worker_mirrored_strategy strategy{group, two_devices};
  strategy.run([] {
    const auto context = replica_context::current();
    for (const auto size : {1, 1'000'000, 1}) context.all_reduce(reduce_op::sum, tensor::full({size}, 1.0f));
  });
}

const group_program ends_over_tcp{"ends_over_tcp", compute_and_end, {.transport = process_transport_choice::tcp}};
const group_program ends_in_shared_memory{"ends_in_shared_memory", compute_and_end};

BOOST_AUTO_TEST_CASE(the_end_of_a_job_is_no_error_whoever_ends_first) {
  for (const auto* program : {&ends_over_tcp, &ends_in_shared_memory})
    for (auto round = 0; round < 8; ++round) {
      process_cluster cluster{program->name(), {.workers = 2, .servers = 0}};
      cluster.start();
      for (const auto& task : cluster.tasks())
        BOOST_TEST(to_string(cluster.end_of(task, 20s)) == "exit code 0", cluster.output());
    }
}

// --- losses ---------------------------------------------------------------------------------------------------------

/// Steps of collectives of several sizes and merge_calls, until the group breaks.
status step_until_broken(process_group& group) {
  const multi_worker_mirrored_strategy strategy{group, two_devices};
  const auto v = strategy.variable("v", 0.0f, {.aggregation = variable_aggregation::sum});
  say("group {} of {} begins", group.generation(), group.size());
  return status_of_call([&] {
    while (true)
      strategy.run([&] {
        const auto context = replica_context::current();
        for (const auto size : {1, 1'000, 1'000'000}) {
          const auto sum = context.all_reduce(reduce_op::sum, tensor::full({size}, 1.0f));
          require(sum.values<float>()[0] == static_cast<float>(context.num_replicas_in_sync()), "the sum is wrong");
        }
        v.assign_add(tensor::scalar(1.0f));
        context.merge_call([](troupe::strategy&) {});
      });
  });
}

/// Rebuilds the group whenever it breaks, until only one process is left.
void survive(process_group& group) {
  while (group.size() > 1) {
    const auto why = step_until_broken(group);
    say("group {} broke: {}", group.generation(), why.render());
    group.rebuild();
  }
  say("alone");
}

const group_program survives{"survives", survive, {.detection = {.ping_interval = 100ms, .silence_max = 600ms}}};

int number_from_environment(const char* name, int otherwise) {
  const auto* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoi(text);
}

/// Waits until every process that runs has begun with this group.
void wait_for_group(process_cluster& cluster, int generation, int size) {
  for (const auto& task : cluster.tasks())
    if (cluster.runs(task)) cluster.wait_for(fmt::format("group {} of {} begins", generation, size), 20s);
}

/// One group of three, of which two workers are lost one after the other, each at a random moment.
void lose_workers(std::mt19937& random) {
  process_cluster cluster{survives.name(), {.workers = 2, .servers = 0}};
  cluster.start();
  std::vector<task_id> workers{worker_task(0), worker_task(1)};
  std::shuffle(workers.begin(), workers.end(), random);
  auto size = 3;
  for (const auto& victim : workers) {
    wait_for_group(cluster, 4 - size, size);
    cluster.pass(milliseconds{random() % 60});
    const auto frozen = random() % 2 == 0;
    BOOST_TEST_MESSAGE(to_string(victim) << (frozen ? " is frozen" : " is killed"));
    cluster.signal(victim, frozen ? SIGSTOP : SIGKILL);
    const auto line = cluster.wait_for(fmt::format("[chief] group {} broke", 4 - size), 20s);
    // Whoever sees it first says so: the rendezvous, or a collective whose other process has ended.
    BOOST_TEST((line.find("lost") != std::string::npos || line.find("has ended") != std::string::npos), line);
    if (frozen) cluster.signal(victim, SIGKILL);
    cluster.end_of(victim);
    --size;
  }
  cluster.wait_for("[chief] alone", 20s);
  BOOST_TEST(to_string(cluster.end_of(chief_task, 20s)) == "exit code 0");
}

BOOST_AUTO_TEST_CASE(a_process_that_is_killed_or_frozen_in_any_collective_or_merge_call_hangs_nobody) {
  const auto rounds = number_from_environment("TROUPE_KILL_ROUNDS", 5);
  const auto seed = number_from_environment("TROUPE_KILL_SEED", static_cast<int>(std::random_device{}() >> 1));
  BOOST_TEST_MESSAGE("TROUPE_KILL_SEED=" << seed);
  std::mt19937 random{static_cast<std::mt19937::result_type>(seed)};
  for (auto round = 0; round < rounds; ++round) {
    BOOST_TEST_CONTEXT("TROUPE_KILL_SEED=" << seed << ", round " << round) { lose_workers(random); }
  }
}

BOOST_AUTO_TEST_CASE(a_process_that_is_frozen_and_wakes_ends_by_itself_and_the_others_went_on) {
  process_cluster cluster{survives.name(), {.workers = 2, .servers = 0}};
  cluster.start();
  wait_for_group(cluster, 1, 3);
  cluster.signal(worker_task(0), SIGSTOP);
  cluster.wait_for("[chief] group 2 of 2 begins", 20s);
  cluster.signal(worker_task(0), SIGCONT);
  cluster.wait_for("[worker 0] group 1 broke", 20s);
  BOOST_TEST(to_string(cluster.end_of(worker_task(0), 20s)) == "exit code 1");
  BOOST_TEST(cluster.runs(chief_task));
  BOOST_TEST(cluster.runs(worker_task(1)));
}

BOOST_AUTO_TEST_CASE(without_the_chief_the_others_end_with_an_error_that_says_so) {
  process_cluster cluster{survives.name(), {.workers = 2, .servers = 0}};
  cluster.start();
  wait_for_group(cluster, 1, 3);
  cluster.signal(chief_task, SIGKILL);
  cluster.end_of(chief_task);
  for (const auto& task : {worker_task(0), worker_task(1)})
    BOOST_TEST(to_string(cluster.end_of(task, 20s)) == "exit code 1");
}

void wait_for_nobody(process_group&) { say("complete"); }
const group_program impatient{"impatient", wait_for_nobody, {.start_limit = 1s}};

BOOST_AUTO_TEST_CASE(a_group_that_is_not_complete_in_time_says_who_is_missing) {
  process_cluster cluster{impatient.name(), {.workers = 2, .servers = 0}};
  cluster.start(worker_task(0));
  cluster.start(chief_task);
  BOOST_TEST(to_string(cluster.end_of(chief_task, 20s)) == "exit code 4");
  BOOST_TEST(to_string(cluster.end_of(worker_task(0), 20s)) == "exit code 4");
  BOOST_TEST(cluster.has("/job:worker/task:1 did not come"), cluster.output());
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
