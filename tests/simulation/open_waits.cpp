// Who waits for whom in a simulated cluster and in a program that does not end, with its hosts frozen and cut off.
#include "probe.hpp"

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/mutex.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/run.hpp>
#include <troupe/runtime/wait_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <mutex>
#include <optional>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(open_waits_of_hosts_suite)

namespace {

/// Two locks of a worker. Closures have no captures.
struct two_locks {
  troupe::mutex first{10min};
  troupe::mutex second{10min};
};
std::optional<two_locks> locks;

void lock_both(bool swapped) {
  const std::scoped_lock lock{swapped ? locks->second : locks->first};
  sleep_for(100ms);
  const std::scoped_lock too{swapped ? locks->first : locks->second};
}

/// Runs `asks` in the chief's program, 1 s after two closures of worker 0 have begun to wait for each other.
void ask_while_they_wait(simulated_world& world, std::function<void(cluster&)> asks) {
  locks.emplace();
  run_options options;
  options.size = {.workers = 2, .servers = 1};
  options.program = [asks = std::move(asks)](cluster& here) {
    const parameter_server_strategy strategy{here};
    cluster_coordinator coordinator{strategy};
    const auto one = coordinator.schedule<lock_both>({.worker = 0}, false);
    const auto other = coordinator.schedule<lock_both>({.worker = 0}, true);
    sleep_for(1s);
    asks(here);
    one.cancel();
    other.cancel();
  };
  BOOST_TEST(simulate(world, options) == 0);
  locks.reset();
}

std::vector<std::string> silent_ones(const wait_graph& graph) {
  std::vector<std::string> result;
  for (const auto& each : graph.waits().processes)
    if (!each.silent.ok()) result.push_back(to_string(each.task));
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_program_asks_who_waits_and_finds_the_cycle) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    simulated_world world{{.seed = seed}};
    ask_while_they_wait(world, [](cluster& here) {
      const auto graph = here.why();
      BOOST_TEST(graph.waits().processes.size() == 4u);
      BOOST_TEST(silent_ones(graph).empty());
      BOOST_TEST_REQUIRE(graph.cycles().size() == 1u, graph.to_string());
      for (const auto& each : graph.cycles()[0]) {
        BOOST_TEST(to_string(graph.waits().processes[each.process].task) == "/job:worker/task:0");
        BOOST_TEST(contains(graph.at(each).what, "a troupe::mutex, held by"));
      }
      BOOST_TEST(contains(graph.waits().outstanding, "2 closures have not ended"), graph.waits().outstanding);
    });
  }
}

BOOST_AUTO_TEST_CASE(hosts_that_are_frozen_or_cut_off_are_silent_and_hold_nobody_up) {
  for (const auto cut : {false, true}) {
    simulated_world world{{.seed = 3}};
    ask_while_they_wait(world, [&](cluster& here) {
      cut ? world.cut("chief-0", "worker-1") : world.freeze("worker-1");
      const auto begin = current_time();
      const auto graph = here.why(500ms);
      BOOST_TEST((current_time() - begin < 600ms));
      BOOST_TEST((silent_ones(graph) == std::vector<std::string>{"/job:worker/task:1"}));
      BOOST_TEST(graph.cycles().size() == 1u);
      cut ? world.heal("chief-0", "worker-1") : world.thaw("worker-1");
    });
  }
}

BOOST_AUTO_TEST_CASE(a_member_that_was_lost_is_named_with_its_reason) {
  simulated_world world{{.seed = 4}};
  ask_while_they_wait(world, [&](cluster& here) {
    world.kill("worker-1");
    sleep_for(1s);
    const auto graph = here.why();
    BOOST_TEST((silent_ones(graph) == std::vector<std::string>{"/job:worker/task:1"}));
  });
}

BOOST_AUTO_TEST_CASE(too_many_who_ask_at_once_are_told_so) {
  simulated_world world{{.seed = 5}};
  ask_while_they_wait(world, [&](cluster& here) {
    world.freeze("worker-1");
    auto refused = 0;
    std::vector<asked> open;
    for (auto i = 0; i < 20; ++i)
      open.push_back(ask_ahead(here.system(), here.membership(), 5s, "asking who waits", why_atom_v,
                               std::int64_t{duration{1s}.count()}));
    for (auto& each : open) {
      try {
        each.wait();
      } catch (const resource_exhausted_error&) {
        ++refused;
      }
    }
    BOOST_TEST(refused == 4);
    world.thaw("worker-1");
    BOOST_TEST(silent_ones(here.why()).empty());
  });
}

BOOST_AUTO_TEST_CASE(a_program_that_does_not_end_is_told_of_with_what_it_waits_for) {
  run_options options;
  options.size = {.workers = 1, .servers = 0};
  options.program = [](cluster&) {
    completion sign;
    sign.wait_until(never, "a sign that never comes");
  };
  BOOST_CHECK_EXCEPTION(simulate({.seed = 1}, options, 10s), deadline_exceeded_error, [](const error& failed) {
    return contains(failed.message(), "the program did not end within 10000 ms of virtual time") &&
           contains(failed.message(), "  chief-0: ") && contains(failed.message(), "ms for a sign that never comes\n");
  });
}

BOOST_AUTO_TEST_SUITE_END()
