// Hosts that have no memory for one of their tensors: who needed it gets resource_exhausted_error, and all else goes
// on.
#include "each_in_turn.hpp"
#include "probe.hpp"

#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/run.hpp>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(out_of_memory_suite)

using namespace troupe;

namespace {

const local_cluster size{.workers = 2, .servers = 1};
constexpr std::int64_t values = 1 << 16;

tensor ones() {
  auto result = tensor::zeros(dtype::float32, {values});
  for (auto& each : result.mutable_values<float>()) each = 1;
  return result;
}

/// Tensors as arguments, results, of variables and of a checkpoint, small ones and such as travel beside the messages.
void work(cluster_coordinator& coordinator, parameter_server_strategy& strategy) {
  if (!strategy.variables().empty()) strategy.remove("content");
  const auto content = strategy.sharded("content", tensor::zeros(dtype::float32, {values}));
  std::vector<remote_value<tensor>> results;
  for (auto i = 0; i < 4; ++i)
    results.push_back(coordinator.schedule(
        [](const tensor& more, const sharded_variable& into) {
          into.assign_add(more);
          return more;
        },
        ones(), content));
  coordinator.join(1min);
  for (const auto& each : results)
    if (each.fetch().values<float>()[values - 1] != 1) throw internal_error{"a value is wrong"};
  // What the chief had no memory for came from a session that is void then, whose closures run again.
  if (content.read().values<float>()[0] < 4) throw internal_error{"an addition is lost"};
  save_checkpoint(strategy, "checkpoint", {}, {.progress = false});
  restore_checkpoint(strategy, "checkpoint", {.progress = false});
}

/// Closures that had been scheduled before it failed.
void await_the_rest(cluster_coordinator& coordinator) {
  try {
    coordinator.join(1min);
  } catch (const error&) {
  }
}

/// The work, in which one tensor has no memory, then whole.
void work_until_it_succeeds(cluster& here, std::vector<status_code>& problems) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  for (;;) try {
      return work(coordinator, strategy);
    } catch (const error& failed) {
      problems.push_back(failed.code());
      BOOST_TEST_MESSAGE(failed.what());
      if (problems.size() > 3) throw;
      await_the_rest(coordinator);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_tensor_of_a_cluster_may_have_no_memory) {
  each_in_turn(size, 2, [](const std::string& host, std::uint64_t nth) {
    fault_plan plan;
    plan.exhaust_memory(host, nth);
    std::vector<status_code> problems;
    run_options program;
    program.program = [&](cluster& here) { work_until_it_succeeds(here, problems); };
    program.size = size;
    simulated_world world{{.seed = nth, .plan = plan}};
    BOOST_TEST_INFO_SCOPE("tensor " << nth << " of " << host);
    BOOST_CHECK_NO_THROW(simulate(world, program, 10min));
    for (const auto each : problems)
      BOOST_TEST((each == status_code::resource_exhausted), "it says " << to_string(each));
    return world.coverage()[0].fired != 0;
  });
}

BOOST_AUTO_TEST_CASE(small_tensors_do_not_count_where_a_plan_says_so) {
  fault_plan plan;
  plan.exhaust_memory("host", 2, 1000);
  simulated_world world{{.plan = plan}};
  std::vector<std::size_t> refused;
  world.host("host", [&](simulated_host&) {
    for (const std::int64_t count : {100, 250, 100, 500, 1000}) try {
        tensor::zeros(dtype::float32, {count});
      } catch (const resource_exhausted_error& why) {
        refused.push_back(static_cast<std::size_t>(count));
        BOOST_TEST(why.message() == "cannot allocate 2000 bytes: out of memory on host by plan");
      }
  });
  world.advance(1s);
  BOOST_TEST(refused == std::vector<std::size_t>{500}, boost::test_tools::per_element{});
}

BOOST_AUTO_TEST_SUITE_END()
