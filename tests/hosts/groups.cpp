// Processes in step over hosts, two of them on one: their collectives and multi_worker_mirrored_strategy, the end of
// the job, which is no error for anybody, and links that are cut in the midst of it.
#include "cluster/test_program.hpp"
#include "placement.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/emulated/emulated_faults.hpp>
#include <troupe/runtime/multi_worker_mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <limits>

namespace troupe {

BOOST_AUTO_TEST_SUITE(groups_suite)

namespace {

using namespace std::chrono_literals;

void require_sums(process_group& group) {
  const auto connection = group.communicator_of_processes();
  for (const std::int64_t size : {1, 1'000, 1'000'000}) {
    auto x = tensor::full({size}, static_cast<float>(group.rank() + 1));
    connection->all_reduce(x, reduce_op::sum, 20s);
    const auto expected = static_cast<float>(group.size() * (group.size() + 1) / 2);
    const auto sums = x.values<float>();
    require(sums.front() == expected && sums.back() == expected, "a sum over processes");
  }
  connection->barrier(20s);
}

void compute_on_devices(process_group& group, const std::vector<std::string>& devices) {
  say("rank {} of {} on {} hosts", group.rank(), group.size(), group.hosts());
  require_sums(group);
  const multi_worker_mirrored_strategy strategy{group, devices};
  const auto replicas = static_cast<float>(strategy.num_replicas_in_sync());
  const auto v = strategy.variable("v", 0.0f, {.aggregation = variable_aggregation::sum});
  constexpr int steps = 20;
  for (int step = 0; step < steps; ++step)
    strategy.run([&] {
      const auto context = replica_context::current();
      const auto ones = tensor::full({100'000}, 1.0f).copy_to(context.devices()[0]);
      require(context.all_reduce(reduce_op::sum, ones).slice(0, 1).item<float>() == replicas, "a sum over replicas");
      v.assign_add(tensor::scalar(1.0f));
    });
  require(v.item<float>() == steps * replicas, "the sum of all updates");
  say("computed");
}

void compute(process_group& group) { compute_on_devices(group, {"CPU:0", "CPU:1"}); }

void compute_on_gpus(process_group& group) {
  emulate_gpus(2);
  compute_on_devices(group, {"GPU:0", "GPU:1"});
}

const group_program computes{"computes", compute};
const group_program computes_on_gpus{"computes on emulated GPUs", compute_on_gpus};

/// Two processes on the first host, one on each other.
std::map<task_id, int> on_three_hosts() {
  return {{chief_task, 0}, {worker_task(0), 0}, {worker_task(1), 1}, {worker_task(2), 2}};
}

std::map<task_id, int> one_on_each_host() { return {{chief_task, 0}, {worker_task(0), 1}, {worker_task(1), 2}}; }

void run_on(const host_network& network, called how, const group_program& program = computes) {
  process_cluster cluster{program.name(),
                          {.workers = 3, .servers = 0, .place = placed(network, on_three_hosts(), how)}};
  cluster.start();
  for (std::size_t i = 0; i < cluster.tasks().size(); ++i) cluster.wait_for("of 4 on 3 hosts", 30s);
  require_good_ends(cluster);
}

}  // namespace

BOOST_DATA_TEST_CASE(processes_on_three_hosts_compute_in_step_and_all_end_well, callings, how) {
  const host_network network{3, how.names};
  run_on(network, how.how);
}

BOOST_AUTO_TEST_CASE(processes_on_three_hosts_compute_in_step_on_emulated_gpus) {
  run_on(host_network{3}, called::by_address, computes_on_gpus);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_job_in_step_is_an_error_for_nobody_however_often_it_runs) {
  const host_network network{3};
  for (int i = 0; i < 8; ++i) BOOST_TEST_CONTEXT("job " << i) {
      run_on(network, called::by_address);
    }
}

// --- GPUs that hang --------------------------------------------------------------------------------------------------

namespace {

/// Sums until a step fails, in the midst of which the last process's GPU hangs; then it is repaired, and all go on.
void meet_again_after_a_hang(process_group& group) {
  emulate_gpus(2);
  const auto sum_up = [&](int rounds, bool hangs) {
    const multi_worker_mirrored_strategy strategy{group, {"GPU:0", "GPU:1"}, {.step_limit = 3s}};
    for (auto round = 0; round < rounds; ++round)
      strategy.run([&] {
        const auto context = replica_context::current();
        const auto ones = tensor::full({100'000}, 1.0f).copy_to(context.devices()[0]);
        const auto last = context.replica_id_in_sync_group() + 1 == context.num_replicas_in_sync();
        if (hangs && last && round == 3) hang_emulated_gpu(context.devices()[0]);
        const auto sum = context.all_reduce(reduce_op::sum, ones).slice(0, 1).item<float>();
        require(sum == static_cast<float>(context.num_replicas_in_sync()), "a sum over replicas");
      });
  };
  const auto why = status_of_call([&] { sum_up(1000, true); });
  say("a step failed: {}", why.render());
  repair_emulated_gpu("GPU:1");
  group.rebuild();
  sum_up(10, false);
  say("computed");
}

const group_program meets_again{"meets again after a hang", meet_again_after_a_hang};

}  // namespace

BOOST_AUTO_TEST_CASE(a_gpu_that_hangs_on_one_host_ends_the_step_on_all_and_they_go_on_when_it_is_repaired) {  // D-1
  const host_network network{3};
  process_cluster cluster{
      meets_again.name(),
      {.workers = 2, .servers = 0, .place = placed(network, one_on_each_host(), called::by_address)}};
  cluster.start();
  for (const auto* task : {"chief", "worker 0", "worker 1"})
    cluster.wait_for(fmt::format("[{}] a step failed: ", task), 20s);
  require_good_ends(cluster);
}

// --- links that are cut ---------------------------------------------------------------------------------------------

namespace {

/// Sums of several sizes until the group breaks, and 20 rounds of them in the one that is formed then.
void go_on_with_those_left(process_group& group) {
  const auto sum_up = [&](int rounds, duration limit) {
    say("group {} of {} begins", group.generation(), group.size());
    const auto connection = group.communicator_of_processes();
    for (int round = 0; round < rounds; ++round)
      for (const std::int64_t size : {1, 1'000, 1'000'000}) {
        auto x = tensor::full({size}, 1.0f);
        connection->all_reduce(x, reduce_op::sum, limit);
        require(x.values<float>().back() == static_cast<float>(group.size()), "a sum over processes");
      }
  };
  const auto why = status_of_call([&] { sum_up(std::numeric_limits<int>::max(), 3s); });
  say("group 1 broke: {}", why.render());
  group.rebuild();
  // A link that was cut may take the kernels some seconds until they try again.
  sum_up(20, 20s);
  say("computed");
}

const group_program goes_on{"goes on with those left",
                            go_on_with_those_left,
                            {.start_limit = 15s, .detection = {.ping_interval = 100ms, .silence_max = 1s}}};

process_cluster group_on(const host_network& network) {
  return process_cluster{
      goes_on.name(), {.workers = 2, .servers = 0, .place = placed(network, one_on_each_host(), called::by_address)}};
}

void wait_for_each(process_cluster& cluster, std::initializer_list<std::string_view> tasks, std::string_view text) {
  for (const auto task : tasks) cluster.wait_for(fmt::format("[{}] {}", task, text), 20s);
}

}  // namespace

BOOST_AUTO_TEST_CASE(processes_whose_third_is_cut_off_from_them_hear_it_and_go_on_without_it) {  // D-1
  host_network network{3};
  auto cluster = group_on(network);
  cluster.start();
  wait_for_each(cluster, {"chief", "worker 0", "worker 1"}, "group 1 of 3 begins");
  network.cut(2);
  wait_for_each(cluster, {"chief", "worker 0"}, "group 1 broke");
  wait_for_each(cluster, {"chief", "worker 0"}, "group 2 of 2 begins");
  for (const auto& task : {chief_task, worker_task(0)})
    BOOST_TEST(to_string(cluster.end_of(task, 20s)) == "exit code 0", cluster.output());
  // The third is alone, and there is no group without the chief.
  BOOST_TEST(to_string(cluster.end_of(worker_task(1), 30s)) == "exit code 1", cluster.output());
  BOOST_TEST(cluster.has("[worker 1] group 1 broke"), cluster.output());
}

// Rounds go between all pairs, so the link that two of them lack is missed by all. Who of the three hears of it from
// the one that is the first to gather again hears that.
BOOST_AUTO_TEST_CASE(processes_of_which_two_can_not_reach_each_other_hear_it_and_go_on_when_they_can_again) {  // D-1
  host_network network{3};
  auto cluster = group_on(network);
  cluster.start();
  wait_for_each(cluster, {"chief", "worker 0", "worker 1"}, "group 1 of 3 begins");
  network.drop(1, 2);
  network.drop(2, 1);
  wait_for_each(cluster, {"chief", "worker 0", "worker 1"}, "group 1 broke");
  network.pass(1, 2);
  network.pass(2, 1);
  wait_for_each(cluster, {"chief", "worker 0", "worker 1"}, "group 2 of 3 begins");
  require_good_ends(cluster);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
