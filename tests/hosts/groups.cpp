// Processes in step over hosts, two of them on one: their collectives and multi_worker_mirrored_strategy, and the end
// of the job, which is no error for anybody.
#include "cluster/test_program.hpp"
#include "placement.hpp"

#include <troupe/runtime/multi_worker_mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

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

void compute(process_group& group) {
  say("rank {} of {} on {} hosts", group.rank(), group.size(), group.hosts());
  require_sums(group);
  const multi_worker_mirrored_strategy strategy{group, {"CPU:0", "CPU:1"}};
  const auto replicas = static_cast<float>(strategy.num_replicas_in_sync());
  const auto v = strategy.variable("v", 0.0f, {.aggregation = variable_aggregation::sum});
  constexpr int steps = 20;
  for (int step = 0; step < steps; ++step)
    strategy.run([&] {
      const auto sum = replica_context::current().all_reduce(reduce_op::sum, tensor::full({100'000}, 1.0f));
      require(sum.values<float>()[0] == replicas, "a sum over replicas");
      v.assign_add(tensor::scalar(1.0f));
    });
  require(v.item<float>() == steps * replicas, "the sum of all updates");
  say("computed");
}

const group_program computes{"computes", compute};

/// Two processes on the first host, one on each other.
std::map<task_id, int> on_three_hosts() {
  return {{chief_task, 0}, {worker_task(0), 0}, {worker_task(1), 1}, {worker_task(2), 2}};
}

void compute_on(const host_network& network, called how) {
  process_cluster cluster{computes.name(),
                          {.workers = 3, .servers = 0, .place = placed(network, on_three_hosts(), how)}};
  cluster.start();
  for (std::size_t i = 0; i < cluster.tasks().size(); ++i) cluster.wait_for("of 4 on 3 hosts", 30s);
  require_good_ends(cluster);
}

}  // namespace

BOOST_DATA_TEST_CASE(processes_on_three_hosts_compute_in_step_and_all_end_well, callings, how) {
  const host_network network{3, how.names};
  compute_on(network, how.how);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_job_in_step_is_an_error_for_nobody_however_often_it_runs) {
  const host_network network{3};
  for (int i = 0; i < 8; ++i) BOOST_TEST_CONTEXT("job " << i) {
      compute_on(network, called::by_address);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
