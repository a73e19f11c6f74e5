// Deadlines and cancellations travel with the work: what a closure or a method asks for ends with it, wherever it runs.
#include "probe.hpp"

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/remaining_time.hpp>
#include <troupe/actors/offers/member.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/remote_coordinator.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>
#include <troupe/runtime/run.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(deadlines_suite)

namespace {

/// How long pieces of work took that have ended, by their names; all hosts of a simulation share the memory of the
/// tests.
std::map<std::string, duration> took;
/// Those that have begun.
std::set<std::string> begun;

struct piece {
  explicit piece(std::string called) : name(std::move(called)) { begun.insert(name); }
  piece(const piece&) = delete;
  ~piece() { took[name] = current_time() - begin; }
  const std::string name;
  const time_point begin = current_time();
};

struct forgetting {
  forgetting() {
    took.clear();
    begun.clear();
  }
};

/// Or until something ends it.
int take_an_hour(std::string called) {
  const piece here{std::move(called)};
  sleep_for(1h);
  return 1;
}

int take_a_second(std::string called) {
  const piece here{std::move(called)};
  sleep_for(1s);
  return 1;
}

int wait_for_an_inner_one(bool outlives) {
  const piece here{"outer"};
  auto coordinator = current_member().coordinator();
  return coordinator.schedule<take_an_hour>({.worker = 1, .outlives_scheduler = outlives}, std::string{"inner"})
      .fetch();
}

simulation_options of_two_workers(std::uint64_t seed) { return {.seed = seed, .size = {.workers = 2, .servers = 0}}; }

std::int64_t milliseconds_left() { return in_milliseconds(remaining_time()); }

/// A program on a simulated cluster of two workers, to its end.
void run_program(simulated_world& world, std::function<void(cluster_coordinator&)> body) {
  run_options options;
  options.size = {.workers = 2, .servers = 0};
  options.program = [body = std::move(body)](cluster& here) {
    cluster_coordinator coordinator{parameter_server_strategy{here}};
    body(coordinator);
  };
  BOOST_TEST(simulate(world, options) == 0);
}

void wait_until_runs(const std::string& called) {
  while (!begun.contains(called)) sleep_for(1ms);
}

/// Worker 1, which runs what is unwanted, stands still; the closure tells for how long it has waited for that to be
/// over.
void check_waits_for_the_loss_of_worker_1(simulated_world& world, const remote_value<std::int64_t>& waits) {
  wait_until_runs("unwanted");
  world.freeze("worker-1");
  const auto told = waits.fetch();
  BOOST_TEST((told > 1'000 && told < 5'000), told);
  world.thaw("worker-1");
}

}  // namespace

// --- closures that schedule others ----------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(what_a_closure_schedules_ends_when_its_own_time_is_over, forgetting) {
  ready_cluster cluster{of_two_workers(1)};
  const auto outer = cluster.schedule<wait_for_an_inner_one>({.limit = 2s, .worker = 0}, false);
  BOOST_TEST(cluster.run_until([&] { return took.size() == 2; }, 1min));
  BOOST_TEST((took["inner"] > 1990ms && took["inner"] < 2010ms));
  BOOST_TEST((took["outer"] > 1990ms && took["outer"] < 2010ms));
  BOOST_TEST((end_of(outer).code() == status_code::deadline_exceeded), end_of(outer).render());
}

BOOST_FIXTURE_TEST_CASE(what_a_closure_schedules_is_cancelled_with_it, forgetting) {
  ready_cluster cluster{of_two_workers(2)};
  const auto outer = cluster.schedule<wait_for_an_inner_one>({.worker = 0}, false);
  cluster.advance(1s);
  BOOST_TEST(took.empty());
  outer.cancel();
  BOOST_TEST(cluster.run_until([&] { return took.size() == 2; }, 10ms));
  BOOST_TEST((outer.state() == remote_value_state::aborted));
}

BOOST_FIXTURE_TEST_CASE(what_outlives_its_scheduler_stands_on_its_own, forgetting) {
  ready_cluster cluster{of_two_workers(3)};
  cluster.schedule<wait_for_an_inner_one>({.limit = 2s, .worker = 0}, true);
  cluster.advance(10s);
  BOOST_TEST(took.contains("outer"));
  BOOST_TEST(!took.contains("inner"));
  cluster.advance(1h);
  BOOST_TEST(took.contains("inner"));
}

BOOST_FIXTURE_TEST_CASE(what_a_closure_has_scheduled_goes_on_when_it_ends_of_itself, forgetting) {
  ready_cluster cluster{of_two_workers(4)};
  const auto outer = cluster.schedule({.worker = 0}, [] {
    auto coordinator = current_member().coordinator();
    coordinator.schedule<take_a_second>({.worker = 1}, std::string{"inner"});
    return 1;
  });
  BOOST_TEST(cluster.fetch(outer, 100ms) == 1);
  BOOST_TEST(cluster.run_until([&] { return took.contains("inner"); }, 1min));
  BOOST_TEST((took["inner"] == 1s));
}

BOOST_FIXTURE_TEST_CASE(work_knows_how_much_time_it_has_left_however_deep_it_is, forgetting) {
  ready_cluster cluster{of_two_workers(5)};
  const auto left = cluster.schedule({.limit = 10s, .worker = 0}, [] {
    const auto own = milliseconds_left();
    sleep_for(3s);
    auto coordinator = current_member().coordinator();
    const auto inner = coordinator.schedule({.worker = 1}, [] { return milliseconds_left(); }).fetch();
    const auto sooner = coordinator.schedule({.limit = 2s}, [] { return milliseconds_left(); }).fetch();
    return std::vector<std::int64_t>{own, inner, sooner};
  });
  const auto told = cluster.fetch(left, 20s);
  BOOST_TEST((told[0] > 9'990 && told[0] <= 10'000), told[0]);
  BOOST_TEST((told[1] > 6'980 && told[1] <= 7'000), told[1]);
  BOOST_TEST((told[2] > 1'980 && told[2] <= 2'000), told[2]);
  BOOST_TEST((remaining_time() == duration::max()));
}

// F-5
BOOST_FIXTURE_TEST_CASE(a_worker_that_the_chief_does_not_reach_ends_what_has_no_time_left, forgetting) {
  ready_cluster cluster{of_two_workers(6)};
  const auto lost = cluster.schedule<take_an_hour>({.limit = 300ms, .worker = 0}, std::string{"lost"});
  cluster.advance(100ms);
  cluster.cut(chief, worker_task(0));
  cluster.advance(250ms);
  BOOST_TEST_REQUIRE(took.contains("lost"));
  BOOST_TEST((took["lost"] < 310ms));
  BOOST_TEST((end_of(lost).code() == status_code::deadline_exceeded));
}

// --- cancellations that are acknowledged ----------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(cancel_and_wait_returns_when_nothing_of_the_closure_runs_any_more, forgetting) {
  simulated_world world{{.seed = 1}};
  run_program(world, [](cluster_coordinator& coordinator) {
    const auto value = coordinator.schedule<take_an_hour>(std::string{"unwanted"});
    wait_until_runs("unwanted");
    value.cancel();
    BOOST_TEST(!took.contains("unwanted"));
    value.cancel_and_wait();
    BOOST_TEST(took.contains("unwanted"));
    // Of what has ended, or was never begun, at once.
    const auto begin = current_time();
    value.cancel_and_wait();
    const auto ended = coordinator.schedule([] { return 1; });
    BOOST_TEST(ended.fetch() == 1);
    ended.cancel_and_wait();
    BOOST_TEST((ended.state() == remote_value_state::ready));
    const auto waits =
        coordinator.schedule([](int x) { return x; }, coordinator.schedule<take_a_second>(std::string{"input"}));
    waits.cancel_and_wait();
    BOOST_TEST((waits.state() == remote_value_state::aborted));
    BOOST_TEST((current_time() - begin < 100ms));
    coordinator.join();
  });
}

BOOST_FIXTURE_TEST_CASE(cancel_and_wait_of_what_a_member_has_scheduled_hears_of_its_end_from_the_chief, forgetting) {
  simulated_world world{{.seed = 2}};
  run_program(world, [](cluster_coordinator& coordinator) {
    const auto told = coordinator.schedule({.worker = 0}, [] {
      auto here = current_member().coordinator();
      const auto value = here.schedule<take_an_hour>({.worker = 1}, std::string{"unwanted"});
      sleep_for(1s);
      value.cancel_and_wait();
      const auto gone = took.contains("unwanted");
      value.cancel_and_wait();
      return gone && value.state() == remote_value_state::aborted;
    });
    BOOST_TEST(told.fetch());
  });
}

BOOST_FIXTURE_TEST_CASE(a_member_waits_for_the_loss_of_a_worker_that_does_not_answer_too, forgetting) {
  simulated_world world{{.seed = 5}};
  run_program(world, [&world](cluster_coordinator& coordinator) {
    const auto waited = coordinator.schedule({.worker = 0}, [] {
      auto here = current_member().coordinator();
      const auto value = here.schedule<take_an_hour>({.worker = 1}, std::string{"unwanted"});
      wait_until_runs("unwanted");
      sleep_for(100ms);
      const auto begin = current_time();
      value.cancel_and_wait();
      return in_milliseconds(current_time() - begin);
    });
    check_waits_for_the_loss_of_worker_1(world, waited);
  });
}

BOOST_FIXTURE_TEST_CASE(cancel_and_wait_waits_for_the_loss_of_a_worker_that_does_not_answer, forgetting) {
  simulated_world world{{.seed = 3}};
  run_program(world, [&world](cluster_coordinator& coordinator) {
    const auto value = coordinator.schedule<take_an_hour>({.worker = 0}, std::string{"unwanted"});
    wait_until_runs("unwanted");
    world.freeze("worker-0");
    const auto begin = current_time();
    BOOST_CHECK_THROW(value.cancel_and_wait(1s), deadline_exceeded_error);
    BOOST_TEST((value.state() == remote_value_state::aborted));
    value.cancel_and_wait();
    BOOST_TEST((current_time() - begin > 1500ms));
    BOOST_TEST((current_time() - begin < 5s));
    world.thaw("worker-0");
  });
}

BOOST_FIXTURE_TEST_CASE(a_member_waits_for_what_has_ended_by_its_limit_and_may_still_run, forgetting) {
  simulated_world world{{.seed = 6}};
  run_program(world, [&world](cluster_coordinator& coordinator) {
    const auto waited = coordinator.schedule({.worker = 0}, [] {
      auto here = current_member().coordinator();
      const auto value = here.schedule<take_an_hour>({.limit = 500ms, .worker = 1}, std::string{"unwanted"});
      BOOST_CHECK_THROW(value.fetch(), deadline_exceeded_error);
      const auto begin = current_time();
      value.cancel_and_wait();
      return in_milliseconds(current_time() - begin);
    });
    check_waits_for_the_loss_of_worker_1(world, waited);
  });
}

BOOST_FIXTURE_TEST_CASE(a_member_that_has_lost_the_chief_does_not_say_that_a_closure_is_over, forgetting) {
  simulated_world world{{.seed = 7}};
  simulation cluster{world, {.workers = 1, .servers = 1}};
  cluster.run_until_ready();
  const auto done = world.start_program("ps-0", [&, here = cluster.here(server_task(0))] {
    auto coordinator = here.coordinator();
    const auto value = coordinator.schedule<take_an_hour>(std::string{"unwanted"});
    const auto cancelled = coordinator.schedule<take_an_hour>(std::string{"cancelled"});
    wait_until_runs("unwanted");
    wait_until_runs("cancelled");
    world.break_link("chief-0", "ps-0");
    cancelled.cancel();
    BOOST_CHECK_THROW(value.fetch(), unavailable_error);
    // Nor when it is there again, which knows nothing of what it was sent before.
    BOOST_TEST(coordinator.schedule([] { return 1; }).fetch() == 1);
    const auto says = [](const error& lost) { return contains(lost.what(), "may still run"); };
    for (const auto& each : {value, cancelled, value, cancelled})
      BOOST_CHECK_EXCEPTION(each.cancel_and_wait(), unavailable_error, says);
  });
  BOOST_TEST_REQUIRE(world.run_until([&] { return done.ended(); }, 1min));
  BOOST_TEST(done.problem().ok(), done.problem().render());
}

// --- methods that call others ---------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_call_within_a_call_has_no_more_time_than_that, forgetting) {
  simulated_world world{{.seed = 4}};
  world.host("server", [](simulated_host&) {
    auto server = rpc::server::create("caf", "server:4000");
    server.register_method("left", [] { return milliseconds_left(); });
    server.register_method("hour", [] { return take_an_hour("inner"); });
    server.start();
    sleep_for(2h);
  });
  world.host("relay", [](simulated_host&) {
    const auto next = rpc::client::create("caf", "server:4000", "relay", 2h);
    auto server = rpc::server::create("caf", "relay:4000");
    server.register_method("left", [next] {
      sleep_for(1s);
      return next.method<std::int64_t()>("left").blocking();
    });
    server.register_method("hour", [next] {
      const piece here{"relay"};
      return next.method<int()>("hour").blocking();
    });
    server.start();
    sleep_for(2h);
  });
  auto calls = false;
  auto done = false;
  world.host("client", [&](simulated_host&) {
    const auto client = rpc::client::create("caf", "relay:4000", "client", 1h);
    const auto left = client.method<std::int64_t()>("left");
    const auto told = left.with_timeout(5s).blocking();
    BOOST_TEST((told > 3'980 && told <= 4'000), told);
    const auto hour = client.method<int()>("hour").with_timeout(2s);
    calls = true;
    BOOST_CHECK_THROW(hour.blocking(), deadline_exceeded_error);
    done = true;
  });
  BOOST_TEST(world.run_until([&] { return calls; }, 10s));
  world.advance(1s);
  // No cancellation arrives: what was called knows itself when nobody wants its result any more.
  world.cut("relay", "server");
  BOOST_TEST(world.run_until([&] { return done; }, 2s));
  world.advance(10ms);
  BOOST_TEST_REQUIRE(took.contains("relay"));
  BOOST_TEST_REQUIRE(took.contains("inner"));
  BOOST_TEST((took["inner"] < 2010ms));
}

BOOST_AUTO_TEST_SUITE_END()
