// What members have of their chief: closures that they schedule themselves, and its events.
#include "probe.hpp"

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/offers/member.hpp>
#include <troupe/runtime/remote_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(chief_services_suite)

namespace {

/// Ends only by its cancellation, its limit, or the end of its worker.
void run_for_ever() {
  const execution here{0};
  completion never_set;
  never_set.wait_until(later(current_time(), 1h));
}

/// What an actor of a member hears of one remote value.
template <class T>
struct heard {
  std::optional<T> value;
  status problem;
  duration at{};
  bool ended() const { return value.has_value() || !problem.ok(); }
};

/// Lets an actor of that member schedule, by `schedule(coordinator)`, and wait for the value.
template <class T, class Schedule>
std::shared_ptr<heard<T>> schedule_from(simulation& cluster, const task_id& task, Schedule schedule) {
  const auto result = std::make_shared<heard<T>>();
  cluster.spawn(task, [result, schedule, here = cluster.here(task)](caf::event_based_actor* self) -> caf::behavior {
    const auto began = self->clock().now();
    auto coordinator = here.coordinator();
    schedule(coordinator)
        .then(
            self, [result](const T& value) { result->value = value; },
            [=](const status& why) {
              result->problem = why;
              result->at = self->clock().now() - began;
            });
    return {[](int) {}};
  });
  return result;
}

template <class T>
void require_problem(simulation& cluster, const std::shared_ptr<heard<T>>& result, duration limit, status_code code,
                     const std::string& text) {
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return result->ended(); }, limit));
  BOOST_TEST(to_string(result->problem.code()) == to_string(code), result->problem.render());
  BOOST_TEST(contains(result->problem.render(), text), result->problem.render());
}

simulation_options of_size(std::uint64_t seed, int workers = 2) {
  return {.seed = seed, .size = {.workers = workers, .servers = 1}};
}

bool is_running() { return observations::here().runs(0); }

}  // namespace

BOOST_AUTO_TEST_CASE(an_actor_on_any_member_schedules_closures_that_take_each_others_results) {
  ready_cluster cluster{of_size(1)};
  for (const auto& task : {worker_task(0), server_task(0), chief}) {
    const auto result = schedule_from<std::string>(cluster, task, [](remote_coordinator& coordinator) {
      const auto number = coordinator.schedule(
          {.worker = 1}, [](int x) { return 2.5 * x; }, 3);
      return coordinator.schedule(
          {.worker = 0},
          [](double x, const std::string& text) { return text + std::to_string(x + current_worker_index()); }, number,
          "it is ");
    });
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return result->ended(); }, 1s));
    BOOST_TEST(result->problem.ok(), result->problem.render());
    BOOST_TEST(*result->value == "it is 7.500000");
  }
}

BOOST_AUTO_TEST_CASE(a_closure_schedules_others_by_its_member_and_fetches_their_results) {
  ready_cluster cluster{of_size(2)};
  const auto sum = cluster.schedule(
      {.worker = 0},
      [](int n) {
        auto coordinator = current_member().coordinator();
        std::vector<remote_value<int>> squares;
        for (int i = 0; i < n; ++i) squares.push_back(coordinator.schedule([](int x) { return x * x; }, i));
        int total = 0;
        for (const auto& each : squares) total += each.fetch();
        return total;
      },
      100);
  BOOST_TEST(cluster.fetch(sum, 10s) == 328350);
}

BOOST_AUTO_TEST_CASE(a_fetch_whose_limit_is_over_says_what_the_closure_waits_for) {
  ready_cluster cluster{of_size(11)};
  const auto told = cluster.schedule({.worker = 0}, []() -> std::string {
    auto coordinator = current_member().coordinator();
    const auto late = coordinator.schedule({.worker = 1}, [] {
      run_for_ever();
      return 1;
    });
    const auto later = coordinator.schedule([](int x) { return x; }, late);
    std::string text;
    for (const auto& each : {late, later}) {
      try {
        each.fetch(100ms);
      } catch (const deadline_exceeded_error& failed) {
        text += failed.what();
      }
      text += "; ";
    }
    late.cancel();
    return text;
  });
  const auto text = cluster.fetch(told, 10s);
  BOOST_TEST(contains(text, "on /job:worker/task:1 waits for"), text);
  BOOST_TEST(contains(text, "waits for other closures, whose values it takes"), text);
}

BOOST_AUTO_TEST_CASE(a_closure_that_fails_is_its_owners_affair_and_no_error_of_the_program) {
  ready_cluster cluster{of_size(3)};
  const auto failing = [](remote_coordinator& coordinator) {
    const auto failed = coordinator.schedule([]() -> int { throw not_found_error{"no such file"}; });
    return coordinator.schedule([](int x) { return x; }, failed);
  };
  const auto result = schedule_from<int>(cluster, worker_task(0), failing);
  require_problem(cluster, result, 1s, status_code::not_found, "no such file");
  BOOST_TEST(contains(result->problem.render(), "an input of closure"));
  BOOST_TEST(!cluster.error_pending());
  const auto joined = cluster.join();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return joined.ended(); }, 1s));
  BOOST_TEST(joined.problem().ok(), joined.problem().render());
}

BOOST_AUTO_TEST_CASE(an_error_of_the_program_cancels_closures_of_members_too) {
  ready_cluster cluster{of_size(4)};
  const auto result = schedule_from<int>(cluster, worker_task(0), [](remote_coordinator& coordinator) {
    return coordinator.schedule({.worker = 1}, [] {
      run_for_ever();
      return 1;
    });
  });
  BOOST_TEST_REQUIRE(cluster.run_until(is_running, 1s));
  cluster.schedule({.worker = 0}, [] { throw not_found_error{"the program's own"}; });
  const auto joined = cluster.join();
  require_problem(cluster, result, 1s, status_code::cancelled, "another closure failed");
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return joined.ended(); }, 1s));
  BOOST_TEST(contains(joined.problem().render(), "the program's own"));
}

BOOST_AUTO_TEST_CASE(closures_end_at_their_limit_and_by_their_cancellation_on_the_worker_too) {
  ready_cluster cluster{of_size(5)};
  const auto late = schedule_from<int>(cluster, worker_task(0), [](remote_coordinator& coordinator) {
    return coordinator.schedule({.limit = 700ms, .worker = 1}, [] {
      run_for_ever();
      return 1;
    });
  });
  BOOST_TEST_REQUIRE(cluster.run_until(is_running, 500ms));
  require_problem(cluster, late, 1s, status_code::deadline_exceeded, "; it was on /job:worker/task:1");
  BOOST_TEST((late->at >= 700ms && late->at < 710ms));
  BOOST_TEST(cluster.run_until([] { return !is_running(); }, 100ms));

  remote_value<int> wanted;
  const auto cancelled = schedule_from<int>(cluster, worker_task(0), [&](remote_coordinator& coordinator) {
    wanted = coordinator.schedule({.worker = 1}, [] {
      run_for_ever();
      return 1;
    });
    return wanted;
  });
  BOOST_TEST_REQUIRE(cluster.run_until(is_running, 1s));
  wanted.cancel();
  require_problem(cluster, cancelled, 100ms, status_code::cancelled, "cancelled by the owner");
  BOOST_TEST(cluster.run_until([] { return !is_running(); }, 100ms));
  wanted = {};
}

BOOST_AUTO_TEST_CASE(an_unavailable_error_of_the_closure_itself_is_not_taken_for_a_lost_link) {
  ready_cluster cluster{of_size(6)};
  const auto failed = schedule_from<int>(cluster, worker_task(0), [](remote_coordinator& coordinator) {
    return coordinator.schedule([]() -> int { throw unavailable_error{"the sensor sleeps"}; });
  });
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return failed->ended(); }, 1s));
  BOOST_TEST((failed->problem.code() == status_code::unavailable));
  BOOST_TEST(contains(failed->problem.render(), "the sensor sleeps"));
  BOOST_TEST(!contains(failed->problem.render(), "may have run or not"), failed->problem.render());
}

// CD-2
BOOST_AUTO_TEST_CASE(closures_of_a_member_that_is_lost_are_cancelled) {
  for (const std::string way : {"kill", "switch off", "cut"}) {
    ready_cluster cluster{of_size(6)};
    const auto result = schedule_from<int>(cluster, server_task(0), [](remote_coordinator& coordinator) {
      return coordinator.schedule([] {
        run_for_ever();
        return 1;
      });
    });
    BOOST_TEST_REQUIRE(cluster.run_until(is_running, 1s), way);
    if (way == "kill") cluster.kill(server_task(0));
    if (way == "switch off") cluster.switch_off(server_task(0));
    if (way == "cut") cluster.cut(chief, server_task(0));
    BOOST_TEST(cluster.run_until([] { return !is_running(); }, 4s), way);
  }
}

BOOST_AUTO_TEST_CASE(a_closure_whose_way_to_the_chief_breaks_fails_and_says_that_it_may_have_run) {
  ready_cluster cluster{of_size(7)};
  const auto result = schedule_from<int>(cluster, server_task(0), [](remote_coordinator& coordinator) {
    return coordinator.schedule([] {
      run_for_ever();
      return 1;
    });
  });
  BOOST_TEST_REQUIRE(cluster.run_until(is_running, 1s));
  cluster.break_link(chief, server_task(0));
  require_problem(cluster, result, 1s, status_code::unavailable, "may have run or not");
  BOOST_TEST(cluster.run_until([] { return !is_running(); }, 1s));
  // The next one goes when the chief is there again.
  const auto next = schedule_from<int>(
      cluster, server_task(0), [](remote_coordinator& coordinator) { return coordinator.schedule([] { return 1; }); });
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return next->ended(); }, 1s));
  BOOST_TEST(next->value.has_value(), next->problem.render());
}

BOOST_AUTO_TEST_CASE(a_closure_that_finds_no_way_to_the_chief_says_so_at_its_limit) {
  ready_cluster cluster{of_size(10)};
  // The member bears that for a second.
  cluster.break_link(chief, server_task(0));
  cluster.cut(chief, server_task(0));
  const auto result = schedule_from<int>(cluster, server_task(0), [](remote_coordinator& coordinator) {
    return coordinator.schedule({.limit = 500ms}, [] { return 1; });
  });
  require_problem(cluster, result, 600ms, status_code::deadline_exceeded,
                  "within its limit of 500 ms: the chief is out of reach");
}

BOOST_AUTO_TEST_CASE(what_can_not_be_scheduled_is_an_error_that_says_why) {
  ready_cluster cluster{of_size(8)};
  require_problem(cluster,
                  schedule_from<int>(cluster, worker_task(0),
                                     [](remote_coordinator& coordinator) {
                                       return coordinator.schedule({.worker = 7}, [] { return 1; });
                                     }),
                  1s, status_code::invalid_argument, "is for worker 7 of 2");
  const auto here = cluster.here(worker_task(0));
  auto coordinator = here.coordinator();
  const auto add = [](int x) { return x + 1; };
  BOOST_CHECK_THROW(coordinator.schedule({.limit = 0s}, add, 1), invalid_argument_error);
  BOOST_CHECK_THROW(coordinator.schedule({.priority = 3}, add, 1), invalid_argument_error);
  BOOST_CHECK_THROW(coordinator.schedule({.worker = -2}, add, 1), invalid_argument_error);
  cluster.kill(worker_task(0));
  BOOST_CHECK_EXCEPTION(coordinator.schedule(add, 1), failed_precondition_error,
                        [](const error& e) { return contains(e.message(), "has ended"); });
}

BOOST_AUTO_TEST_CASE(events_are_heard_on_every_member_once_each_also_after_the_link_to_the_chief_was_lost) {
  ready_cluster cluster{of_size(9)};
  std::vector<std::string> said;
  const auto listener = cluster.spawn(worker_task(1), [&](event_listener::pointer) -> event_listener::behavior_type {
    return {[&](event_atom, wire<event>& what) {
      BOOST_TEST_REQUIRE(what.open().ok());
      said.push_back(to_string(what->kind) + " " + to_string(what->task));
      if (what->kind == event_kind::member_joined) BOOST_TEST(what->incarnation != 0u);
    }};
  });
  const auto events = cluster.here(worker_task(1)).events();
  // Twice is once.
  caf::anon_send(events, listen_atom_v, listener);
  caf::anon_send(events, listen_atom_v, listener);
  cluster.advance(10ms);
  const std::vector<std::string> lost_and_back{"member_lost /job:ps/task:0", "member_joined /job:ps/task:0"};
  const auto hears_them = [&] {
    said.clear();
    cluster.kill(server_task(0));
    cluster.restart(server_task(0));
    cluster.run_until_ready();
    cluster.advance(10ms);
    std::erase_if(said, [](const auto& each) { return each.find("/job:ps") == std::string::npos; });
    BOOST_TEST(said == lost_and_back, boost::test_tools::per_element());
  };
  hears_them();
  cluster.break_link(chief, worker_task(1));
  cluster.run_until_ready();
  cluster.advance(100ms);
  hears_them();
}

BOOST_AUTO_TEST_SUITE_END()
