// Groups of processes in step on simulated hosts: what run_group takes, with its rendezvous, failure detection and
// collectives, under failures.
#include "probe.hpp"
#include "support/sanitizer.hpp"

#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/multi_worker_mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/simulation.hpp>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(real_groups_suite)

using namespace troupe;

namespace {

/// One sum over all replicas of all processes.
float sum_over(const strategy& all, float mine) {
  const auto sums = all.run([mine] {
    const auto here = replica_context::current();
    return here.all_reduce(reduce_op::sum, mine + static_cast<float>(here.replica_id_in_sync_group()));
  });
  return all.local_results(sums)[0];
}

/// Sums until it was so often, in the group that is left after each loss. Returns how many processes that was at last.
int keep_summing(process_group& group) {
  for (auto done = 0; done < 20;) {
    try {
      const multi_worker_mirrored_strategy strategy{group, {"CPU:0", "CPU:1"}, {.step_limit = 20s}};
      for (; done < 20; ++done) {
        sleep_for(20ms);
        sum_over(strategy, 1);
      }
    } catch (const error&) {
      // Only the chief keeps a group together.
      group.rebuild();
    }
  }
  return group.size();
}

/// So that losses are noticed, and groups gather, within the time of a test.
process_group_options quick() {
  process_group_options result;
  result.start_limit = 10s;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(processes_on_hosts_compute_in_step) {
  simulated_world world{{.seed = 1}};
  const auto codes = simulate_group(world, 3, [](process_group& group) {
    BOOST_TEST(group.size() == 3);
    BOOST_TEST(group.hosts() == 3);
    const multi_worker_mirrored_strategy strategy{group, {"CPU:0", "CPU:1"}};
    // Of six replicas.
    BOOST_TEST(sum_over(strategy, 1) == 6 + 15);
    auto large = tensor::zeros(dtype::float64, {20'000});
    for (auto& x : large.mutable_values<double>()) x = group.rank();
    const auto gathered = strategy.run([&] { return replica_context::current().all_gather(large, 0); });
    BOOST_TEST(strategy.local_results(gathered)[1].values<double>()[119'999] == 2);
    const auto v = strategy.variable("v", static_cast<float>(group.rank()) + 7);
    BOOST_TEST(v.item<float>() == 7);  // the chief's
    return group.rank();
  });
  BOOST_TEST((codes == std::map<std::string, int>{{"chief-0", 0}, {"worker-0", 1}, {"worker-1", 2}}));
  BOOST_TEST(world.bytes_sent("worker-1") > 20'000u * 8);
  BOOST_CHECK_THROW(simulate_group(world, 0, keep_summing), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(ranks_that_call_something_else_are_named_on_all_processes) {  // D-1
  simulated_world world{{.seed = 1}};
  simulate_group(world, 2, [](process_group& group) {
    const auto ranks = group.communicator_of_processes();
    auto x = tensor::zeros(dtype::float32, {group.rank() == 0 ? 3 : 4});
    BOOST_CHECK_THROW(ranks->all_reduce(x, reduce_op::sum, 10s), failed_precondition_error);
    BOOST_TEST(ranks->broken().has_value());
    return 0;
  });
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_come_is_named_and_one_that_fails_says_why) {  // D-1
  simulated_world world{{.seed = 1}};
  std::map<int, duration> heard;
  const auto codes = simulate_group(world, 3, [&](process_group& group) {
    const auto ranks = group.communicator_of_processes();
    if (group.rank() == 1) sleep_for(3s);
    if (group.rank() == 2) {
      sleep_for(1s);
      ranks->abort({status_code::data_loss, "on purpose"});
    }
    std::string told;
    try {
      ranks->barrier(100s);
    } catch (const error& failed) {
      told = failed.what();
    }
    BOOST_TEST(contains(told, "on purpose"), told);
    heard[group.rank()] = world.now();
    sleep_for(5s);  // so that nobody is lost before the others have heard why
    return 0;
  });
  BOOST_TEST(codes.size() == 3u);
  // At once: the others don't wait for a rank that isn't there yet.
  BOOST_TEST((heard[0] > 1s && heard[0] < 1100ms));
  BOOST_TEST((heard[1] > 3s && heard[1] < 3100ms));
  simulated_world late{{.seed = 1}};
  simulate_group(late, 2, [](process_group& group) {
    const auto ranks = group.communicator_of_processes();
    if (group.rank() == 1) {
      sleep_for(200s);
      return 0;
    }
    BOOST_CHECK_EXCEPTION(ranks->barrier(100s), deadline_exceeded_error,
                          [](const error& why) { return contains(why.message(), "rank 1 did not come"); });
    return 0;
  });
  BOOST_TEST((late.now() > 100s && late.now() < 300s));
}

BOOST_AUTO_TEST_CASE(a_process_that_dies_ends_the_collectives_of_the_others_which_go_on_without_it) {  // D-1, G-1
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    fault_plan plan;
    plan.at(std::chrono::milliseconds{100 + 7 * seed}).kill("worker-1");
    simulated_world world{{.seed = seed, .plan = plan}};
    const auto codes = simulate_group(world, 3, keep_summing, quick(), 2min);
    BOOST_TEST((codes == std::map<std::string, int>{{"chief-0", 2}, {"worker-0", 2}}), "seed " << seed);
    BOOST_TEST((world.now() < 10s));
  }
}

BOOST_AUTO_TEST_CASE(processes_and_links_may_fail_in_every_way_and_none_waits_for_ever) {  // D-1
  const auto result = explore(
      [](simulated_world& world) {
        const auto codes = simulate_group(world, 3, keep_summing, quick(), 10min);
        world.require(codes.contains("chief-0"), "the chief, which is spared, has not done all its sums");
        world.require(world.end_of("chief-0").has_value() || world.starts("chief-0") == 1, "the chief is lost");
      },
      {.runs = runs_here(200), .faults = standard_faults({"worker-0", "worker-1"}), .processes = 0});
  BOOST_TEST(!result.found.has_value(), (result.found ? result.found->report() : std::string{}));
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_run_of_a_group_again) {  // S-1
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto difference =
        find_difference([](simulated_world& world) { simulate_group(world, 3, keep_summing, quick(), 10min); },
                        {.seed = seed, .faults = standard_faults({"worker-0", "worker-1"})});
    BOOST_TEST(!difference.has_value(), difference.value_or(""));
  }
}

BOOST_AUTO_TEST_SUITE_END()
