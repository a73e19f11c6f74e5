// Messages whose bytes are others when they arrive: nobody's process crashes by them, nobody waits beyond his limit,
// and the chief goes on with new members, whatever the old ones have told it.
#include "../../examples/replicated_counter/counter_protocol.hpp"
#include "each_in_turn.hpp"
#include "probe.hpp"
#include "support/sanitizer.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/run.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(corrupted_messages_suite)

using namespace troupe;
using replicated_counter::counter_actor;

namespace {

constexpr std::int64_t closures = 6;
const local_cluster size{.workers = 2, .servers = 1};

using tally_actor = caf::typed_actor<caf::replies_to<caf::add_atom, std::int64_t>::with<std::int64_t>>;

tally_actor::behavior_type tally(tally_actor::pointer) {
  const auto sum = std::make_shared<std::int64_t>(0);
  return {[=](caf::add_atom, std::int64_t more) { return *sum += more; }};
}

/// Values, a variable and an actor on each worker; everything that waits has a limit.
std::int64_t work(cluster& here, cluster_coordinator& coordinator, const variable<std::int64_t>& counter) {
  std::vector<remote_value<std::int64_t>> values;
  for (std::int64_t i = 0; i < closures; ++i)
    values.push_back(coordinator.schedule(
        schedule_options{.limit = 5s},
        [](std::int64_t x, variable<std::int64_t> shared) {
          shared.assign_add(1);
          return 2 * x;
        },
        i, counter));
  coordinator.join(20s);
  std::int64_t sum = 0;
  for (const auto& each : values) sum += each.fetch();
  for (const auto& each : here.find_all<tally_actor>("worker", "tally", 5s)) {
    each.await_up(5s);
    ask(each, 1s, caf::add_atom_v, std::int64_t{1});
  }
  return sum + counter.read();
}

/// Members that were told what is not so know it until they end: new ones take their places.
void renew_members(simulated_world& world, cluster& here) {
  for (const auto& each : member_hosts(size))
    if (world.running(each)) world.kill(each);
  std::vector<task_id> tasks;
  for (const auto& each : here.view().members) tasks.push_back(each.task);
  const auto are_lost = [&] {
    const auto view = here.view();
    return std::all_of(view.members.begin(), view.members.end(),
                       [](const auto& each) { return each.state == member_presence::absent; });
  };
  while (!are_lost()) sleep_for(1ms);
  world.heal_everything();
  here.wait_for(tasks, 1min);
}

/// The work while a message is corrupted, which may fail, then again until it succeeds.
void work_twice(simulated_world& world, cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  for (auto attempt = 1;; ++attempt) try {
      const auto counter = strategy.variable<std::int64_t>("counter" + std::to_string(attempt), 0);
      const auto sum = work(here, coordinator, counter);
      // The corrupted message has been sent long ago.
      if (attempt == 1) continue;
      // Twice the numbers below `closures`, and one for each; those that are lost with a worker may count twice.
      if (sum < closures * closures) throw internal_error{"new members give wrong values"};
      return;
    } catch (const error& failed) {
      if (attempt > 5) throw;
      renew_members(world, here);
    }
}

run_options program(simulated_world& world) {
  run_options result;
  result.program = [&world](cluster& here) { work_twice(world, here); };
  result.on_member = [](member& here) {
    if (here.task().job == "worker") here.offer("tally", here.spawn(tally));
  };
  result.size = size;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_corrupted_message_is_lost_or_says_something_else) {
  const message_pattern reply{.from = "server", .to = "client", .type = ""};
  const auto scenario = [](simulated_world& world) {
    auto& sums = world.keep<std::vector<std::int64_t>>();
    world.host("server", [](simulated_host& here) {
      publish_actor(here.system(), here.spawn(replicated_counter::counter, std::optional<counter_actor>{}, false),
                    replicated_counter::port, 1s);
    });
    world.host("client", [&sums](simulated_host& here) {
      const auto server = remote_actor<counter_actor>(here.system(), "server", replicated_counter::port, 1s);
      for (auto i = 0; i < 5; ++i) try {
          ask(
              here.system(), server, 20ms, "adding", [&](std::int64_t now) { sums.push_back(now); }, caf::add_atom_v,
              std::int64_t{1});
        } catch (const error&) {
          sums.push_back(-1);
        }
    });
    world.advance(1s);
    world.require(sums.size() == 5, "the client goes on");
    world.require(sums[0] == 1 && sums[2] == 3 && sums[3] == 4 && sums[4] == 5, "the other replies are whole");
    world.require(sums[1] != 2, "the bytes are others");
  };
  fault_plan plan;
  plan.corrupt(reply, 2);
  const auto result = explore(scenario, {.runs = 200, .plan = plan});
  BOOST_TEST(!result.found.has_value(), (result.found ? result.found->report() : std::string{}));
}

BOOST_AUTO_TEST_CASE(each_message_of_a_cluster_may_be_corrupted) {
  each_in_turn(size, 10, [](const std::string& host, std::uint64_t nth) {
    fault_plan plan;
    plan.corrupt({.from = host, .to = {}, .type = {}}, nth);
    auto fired = false;
    const auto result = explore(
        [&](simulated_world& world) {
          simulate(world, program(world), 10min);
          // Whoever makes a failure smaller leaves out the fault, too.
          if (!world.plan().faults.empty()) fired = world.coverage()[0].fired != 0;
        },
        {.first_seed = nth, .runs = runs_here(10), .plan = plan});
    BOOST_TEST(!result.found.has_value(), (result.found ? result.found->report() : std::string{}));
    return fired;
  });
}

BOOST_AUTO_TEST_SUITE_END()
