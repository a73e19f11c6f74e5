// Actors of the application on the members of a simulated cluster: offered, found, lost and found again.
#include "probe.hpp"

#include <troupe/actors/offers/member.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/remote_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>
#include <vector>

using namespace troupe;
using namespace std::chrono_literals;

namespace weather {

struct reading {
  task_id where;
  double degrees = 0;
  std::uint64_t number = 0;
};
TROUPE_MESSAGE(reading)

using sensor_actor = caf::typed_actor<caf::replies_to<fetch_atom>::with<reading>, caf::reacts_to<set_atom, reading>,
                                      caf::replies_to<gather_atom>::with<caf::ok_atom>>;
/// Takes fewer messages.
using thermometer_actor = caf::typed_actor<caf::replies_to<fetch_atom>::with<reading>>;
using other_actor = caf::typed_actor<caf::replies_to<fetch_atom, int>::with<int>>;

struct sensor_state {
  static constexpr const char* name = "sensor";
  reading last;
  std::vector<caf::typed_response_promise<caf::ok_atom>> never_answered;
};

sensor_actor::behavior_type sensor(sensor_actor::stateful_pointer<sensor_state> self, task_id where) {
  self->state.last.where = std::move(where);
  return {
      [self](fetch_atom) {
        ++self->state.last.number;
        return self->state.last;
      },
      [self](set_atom, const reading& now) { self->state.last.degrees = now.degrees; },
      [self](gather_atom) -> caf::result<caf::ok_atom> {
        self->state.never_answered.push_back(self->make_response_promise<caf::typed_response_promise<caf::ok_atom>>());
        return self->state.never_answered.back();
      },
  };
}

void offer_sensor(member& here) { here.offer("sensor", here.spawn(sensor, here.task())); }

}  // namespace weather

using namespace weather;

BOOST_AUTO_TEST_SUITE(actors_on_members_suite)

namespace {

simulation_options with_sensors(std::uint64_t seed, local_cluster size = {.workers = 2, .servers = 1}) {
  // A test's program may hold an actor of another member, to end it or to offer it again.
  simulation_options options{.seed = seed, .size = size, .shares_memory = true};
  options.cluster.members.on_member = offer_sensor;
  return options;
}

/// A program of the chief, which must end well.
void require_program(simulation& cluster, std::function<void()> program, duration limit = 1min) {
  const auto running = cluster.start_program(std::move(program));
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return running.ended(); }, limit));
  BOOST_TEST(running.problem().ok(), running.problem().render());
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_actor_on_each_member_is_found_by_its_name_and_answers_bit_for_bit) {
  ready_cluster cluster{with_sensors(1)};
  require_program(cluster, [&] {
    const auto here = cluster.here(chief);
    for (const auto& task : {worker_task(0), worker_task(1), server_task(0)}) {
      const auto found = here.find<sensor_actor>(task, "sensor", 1s);
      found.tell(set_atom_v, reading{{}, -std::numeric_limits<double>::infinity(), 0});
      const auto answer = ask(found, 1s, fetch_atom_v);
      BOOST_TEST((answer.where == task));
      BOOST_TEST(answer.degrees == -std::numeric_limits<double>::infinity());
      BOOST_TEST(answer.number == 1u);
    }
    const auto all = here.find_all<sensor_actor>("worker", "sensor", 1s);
    BOOST_TEST_REQUIRE(all.size() == 2u);
    BOOST_TEST((ask(all[1], 1s, fetch_atom_v).where == worker_task(1)));
    BOOST_TEST(ask(all[1], 1s, fetch_atom_v).number == 3u);
  });
}

BOOST_AUTO_TEST_CASE(a_reference_follows_its_member_through_a_kill_and_a_restart) {
  ready_cluster cluster{with_sensors(2)};
  actor_reference<sensor_actor> sensor;
  require_program(cluster, [&] { sensor = cluster.here(chief).find<sensor_actor>(worker_task(0), "sensor", 1s); });
  for (int round = 0; round < 5; ++round) {
    cluster.kill(worker_task(0));
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return !sensor.is_up(); }, 100ms));
    require_program(cluster, [&] {
      const auto began = current_time();
      const auto problem = problem_of([&] { ask(sensor, 10s, fetch_atom_v); });
      BOOST_TEST(to_string(problem.code()) == "unavailable", problem.render());
      BOOST_TEST(contains(problem.render(), "worker/task:0"));
      BOOST_TEST((current_time() == began));
    });
    cluster.restart(worker_task(0));
    cluster.run_until_ready();
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return sensor.is_up(); }, 50ms));
    require_program(cluster, [&] { BOOST_TEST(ask(sensor, 1s, fetch_atom_v).number == 1u); });
  }
  sensor = {};
}

BOOST_AUTO_TEST_CASE(a_request_that_is_open_ends_when_its_member_is_lost_in_whatever_way) {
  for (const auto way : {"kill", "freeze", "cut", "switch off"}) {
    ready_cluster cluster{with_sensors(3)};
    actor_reference<sensor_actor> sensor;
    require_program(cluster, [&] { sensor = cluster.here(chief).find<sensor_actor>(worker_task(0), "sensor", 1s); });
    status fiber_problem;
    const auto asking =
        cluster.start_program([&] { fiber_problem = problem_of([&] { ask(sensor, 1h, gather_atom_v); }); });
    status actor_problem;
    cluster.spawn(chief, [&](caf::event_based_actor* self) -> caf::behavior {
      sensor.request(self, 1h, gather_atom_v)
          .then([](caf::ok_atom) { BOOST_ERROR("an answer"); }, [&](const status& why) { actor_problem = why; });
      return {[](int) {}};
    });
    cluster.advance(100ms);
    BOOST_TEST(!asking.ended());
    if (way == std::string{"kill"}) cluster.kill(worker_task(0));
    if (way == std::string{"freeze"}) cluster.freeze(worker_task(0));
    if (way == std::string{"cut"}) cluster.cut(chief, worker_task(0));
    if (way == std::string{"switch off"}) cluster.switch_off(worker_task(0));
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return asking.ended() && !actor_problem.ok(); }, 2500ms), way);
    BOOST_TEST(to_string(fiber_problem.code()) == "unavailable", fiber_problem.render());
    BOOST_TEST(to_string(actor_problem.code()) == "unavailable", actor_problem.render());
    sensor = {};
  }
}

BOOST_AUTO_TEST_CASE(requests_that_are_not_answered_end_each_at_its_own_limit) {
  ready_cluster cluster{with_sensors(9)};
  actor_reference<sensor_actor> sensor;
  require_program(cluster, [&] { sensor = cluster.here(chief).find<sensor_actor>(worker_task(0), "sensor", 1s); });
  const std::vector<duration> limits{3s, 1s, 2s, 1s};
  std::vector<duration> took;
  time_point began;
  cluster.spawn(chief, [&](caf::event_based_actor* self) -> caf::behavior {
    began = self->clock().now();
    for (const auto limit : limits)
      sensor.request(self, limit, gather_atom_v)
          .then([](caf::ok_atom) { BOOST_ERROR("an answer"); },
                [&, self](const status& why) {
                  BOOST_TEST(to_string(why.code()) == "deadline_exceeded", why.render());
                  BOOST_TEST(contains(why.render(), "\"sensor\" on /job:worker/task:0"));
                  took.push_back(self->clock().now() - began);
                });
    // The timer of those that are late disturbs none that are answered.
    sensor.request(self, 1500ms, fetch_atom_v)
        .then([](const reading&) {}, [](const status& why) { BOOST_ERROR(why.render()); });
    return {[](int) {}};
  });
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return took.size() == limits.size(); }, 5s));
  BOOST_TEST((took == std::vector<duration>{1s, 1s, 2s, 3s}));
  // What was late has left its place.
  require_program(cluster, [&] {
    const auto late = problem_of([&] { ask(sensor, 500ms, gather_atom_v); });
    BOOST_TEST(to_string(late.code()) == "deadline_exceeded", late.render());
    BOOST_TEST(ask(sensor, 1s, fetch_atom_v).number == 2u);
  });
  sensor = {};
}

BOOST_AUTO_TEST_CASE(a_worker_finds_actors_of_other_workers_and_of_the_chief) {
  ready_cluster cluster{with_sensors(4)};
  const auto at_chief = cluster.here(chief);
  at_chief.offer("sensor", at_chief.spawn(sensor, chief));
  for (const auto& whom : {chief, worker_task(0), worker_task(1), server_task(0)}) {
    const auto answer = cluster.schedule(
        {.worker = 1},
        [](task_id from) {
          const auto here = current_member();
          const auto found = here.find<sensor_actor>(from, "sensor", 1s);
          return ask(found, 1s, fetch_atom_v).where;
        },
        whom);
    BOOST_TEST((cluster.fetch(answer, 2s) == whom));
  }
}

BOOST_AUTO_TEST_CASE(each_actor_of_the_chief_is_found_whatever_else_of_it_is_followed) {
  ready_cluster cluster{with_sensors(10)};
  const auto at_chief = cluster.here(chief);
  for (const auto name : {"first", "second", "third"}) at_chief.offer(name, at_chief.spawn(sensor, chief));
  const auto at_worker = cluster.here(worker_task(0));
  for (const auto name : {"first", "second", "third"}) {
    const auto found = at_worker.follow<sensor_actor>(chief, name);
    BOOST_TEST(cluster.run_until([&] { return found.is_up(); }, 100ms), name);
  }
  // The chief's own services are among them.
  const auto scheduled = cluster.schedule({.worker = 0}, [] {
    auto coordinator = current_member().coordinator();
    return coordinator.schedule({.limit = 1s}, [] { return 1; }).fetch();
  });
  BOOST_TEST(cluster.fetch(scheduled, 2s) == 1);
}

BOOST_AUTO_TEST_CASE(a_worker_hears_that_another_worker_is_lost_and_finds_it_again) {
  ready_cluster cluster{with_sensors(5)};
  std::vector<std::string> heard;
  const auto here = cluster.here(worker_task(1));
  const auto watching = here.spawn([&](caf::event_based_actor* self) -> caf::behavior {
    here.follow<sensor_actor>(worker_task(0), "sensor")
        .watch(
            self, [&](const sensor_actor& now) { heard.push_back(now ? "up" : "up without a handle"); },
            [&](const status& why) { heard.push_back(to_string(why.code())); });
    return {[](int) {}};
  });
  const auto hears = [&](std::vector<std::string> what, duration limit) {
    BOOST_TEST(cluster.run_until([&] { return heard == what; }, limit));
    BOOST_TEST(heard == what, boost::test_tools::per_element());
    heard.clear();
  };
  hears({"up"}, 1s);
  cluster.kill(worker_task(0));
  hears({"unavailable"}, 100ms);
  cluster.restart(worker_task(0));
  hears({"up"}, 1s);
  // Nobody else watches the link between two workers.
  cluster.silence_link(worker_task(0), worker_task(1));
  hears({"unavailable", "up"}, 4s);
  cluster.cut(worker_task(0), worker_task(1));
  hears({"unavailable"}, 3s);
  cluster.heal(worker_task(0), worker_task(1));
  hears({"up"}, 3s);
  cluster.break_link(worker_task(0), worker_task(1));
  hears({"unavailable", "up"}, 1s);
}

BOOST_AUTO_TEST_CASE(references_travel_as_arguments_and_results_of_closures) {
  ready_cluster cluster{with_sensors(6)};
  actor_reference<sensor_actor> made;
  require_program(cluster, [&] {
    const auto here = cluster.here(chief);
    const auto first = here.find<sensor_actor>(worker_task(0), "sensor", 1s);
    cluster_coordinator coordinator{parameter_server_strategy{cluster.chief_cluster()}};
    const auto degrees = coordinator.schedule(
        {.worker = 1},
        [](actor_reference<sensor_actor> given) {
          given.await_up(1s);
          given.tell(set_atom_v, reading{{}, 36.6, 0});
          return ask(given, 1s, fetch_atom_v).degrees;
        },
        first);
    BOOST_TEST(degrees.fetch() == 36.6);
    made = coordinator
               .schedule({.worker = 1},
                         [] {
                           const auto at = current_member();
                           return at.offer("second", at.spawn(sensor, at.task()));
                         })
               .fetch();
    BOOST_TEST((made.task() == worker_task(1)));
    BOOST_TEST((ask(made, 1s, fetch_atom_v).where == worker_task(1)));
  });
  made = {};
}

BOOST_AUTO_TEST_CASE(what_is_not_there_is_an_error_that_names_it) {
  ready_cluster cluster{with_sensors(7)};
  require_program(cluster, [&] {
    const auto here = cluster.here(chief);
    const auto fails = [&](auto work, const std::string& code, std::vector<std::string> parts) {
      const auto problem = problem_of(work);
      BOOST_TEST(to_string(problem.code()) == code, problem.render());
      for (const auto& part : parts) BOOST_TEST(contains(problem.render(), part), problem.render());
    };
    fails([&] { here.find<sensor_actor>(worker_task(7), "sensor", 10s); }, "not_found",
          {"worker/task:7 is no task of this cluster"});
    fails([&] { here.find_all<sensor_actor>("sensors", "sensor", 10s); }, "not_found", {"\"sensors\" is no job"});
    fails([&] { here.find<sensor_actor>(worker_task(0), "motor", 1s); }, "deadline_exceeded",
          {"\"motor\" on /job:worker/task:0", "it offers sensor"});
    fails([&] { here.find<other_actor>(worker_task(0), "sensor", 10s); }, "failed_precondition",
          {"takes no message ('fetch', int) -> (int)", "'gather'"});
    BOOST_TEST((here.find<thermometer_actor>(worker_task(0), "sensor", 1s).task() == worker_task(0)));
    const auto at = cluster.here(worker_task(0));
    fails([&] { at.offer("sensor", at.spawn(sensor, at.task())); }, "already_exists", {"\"sensor\" already"});
    fails([&] { ask(actor_reference<sensor_actor>{}, 1s, fetch_atom_v); }, "failed_precondition", {"empty"});
    fails([&] { at.offer("nobody", sensor_actor{}); }, "invalid_argument", {"no actor"});
    cluster.kill(worker_task(0));
    fails([&] { here.find<sensor_actor>(worker_task(0), "sensor", 10s); }, "deadline_exceeded",
          {"/job:worker/task:0 is lost"});
  });
}

BOOST_AUTO_TEST_CASE(a_name_that_is_offered_again_after_its_actor_has_ended_leads_to_the_new_one) {
  ready_cluster cluster{with_sensors(8)};
  const auto at = cluster.here(worker_task(0));
  const auto first = at.spawn(sensor, task_id{"first", 0});
  at.offer("one of two", first);
  actor_reference<sensor_actor> found;
  require_program(cluster, [&] {
    found = cluster.here(chief).find<sensor_actor>(worker_task(0), "one of two", 1s);
    BOOST_TEST(ask(found, 1s, fetch_atom_v).where.job == "first");
    caf::anon_send_exit(caf::actor_cast<caf::actor>(first), caf::exit_reason::kill);
  });
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return !found.is_up(); }, 100ms));
  require_program(cluster, [&] {
    // However long nobody has the name.
    for (const auto pause : {0s, 20s}) {
      sleep_for(pause);
      BOOST_TEST(to_string(problem_of([&] { ask(found, 1s, fetch_atom_v); }).code()) == "unavailable");
    }
    at.offer("one of two", at.spawn(sensor, task_id{"second", 0}));
    found.await_up(100ms);
    BOOST_TEST(ask(found, 1s, fetch_atom_v).where.job == "second");
  });
  found = {};
}

BOOST_AUTO_TEST_CASE(an_actor_of_another_interface_is_no_obstacle_to_the_right_one_that_comes_after_it) {
  for (const std::string way : {"its end", "its withdrawal"}) {
    ready_cluster cluster{with_sensors(11)};
    const auto at = cluster.here(worker_task(0));
    const auto wrong = at.spawn([](thermometer_actor::pointer) -> thermometer_actor::behavior_type {
      return {[](fetch_atom) { return reading{}; }};
    });
    at.offer("motor", wrong);
    require_program(cluster, [&] {
      const auto here = cluster.here(chief);
      const auto reference = here.follow<sensor_actor>(worker_task(0), "motor");
      const auto find = [&] { return here.find<sensor_actor>(worker_task(0), "motor", 1s); };
      for (int i = 0; i < 2; ++i) {
        const auto problem = problem_of(find);
        BOOST_TEST(to_string(problem.code()) == "failed_precondition", problem.render());
      }
      if (way == "its end")
        caf::anon_send_exit(caf::actor_cast<caf::actor>(wrong), caf::exit_reason::user_shutdown);
      else
        at.withdraw("motor");
      sleep_for(10ms);
      at.offer("motor", at.spawn(sensor, at.task()));
      // Who only holds a reference hears of an end.
      if (way == "its end")
        reference.await_up(100ms);
      else
        find();
      BOOST_TEST(ask(reference, 1s, fetch_atom_v).number == 1u, way);
    });
  }
}

BOOST_AUTO_TEST_CASE(a_request_waits_for_what_is_not_known_yet_within_its_limit) {
  ready_cluster cluster{with_sensors(9)};
  status late;
  std::uint64_t answered = 0;
  const auto here = cluster.here(chief);
  cluster.spawn(chief, [&](caf::event_based_actor* self) -> caf::behavior {
    here.follow<sensor_actor>(worker_task(0), "sensor")
        .request(self, 1s, fetch_atom_v)
        .then([&](const reading& now) { answered = now.number; }, [](const status&) { BOOST_ERROR("failed"); });
    here.follow<sensor_actor>(worker_task(0), "later")
        .request(self, 1s, fetch_atom_v)
        .then([](const reading&) { BOOST_ERROR("an answer"); }, [&](const status& why) { late = why; });
    return {[](int) {}};
  });
  cluster.advance(900ms);
  BOOST_TEST(answered == 1u);
  BOOST_TEST(late.ok());
  cluster.advance(200ms);
  BOOST_TEST(to_string(late.code()) == "deadline_exceeded", late.render());
}

BOOST_AUTO_TEST_SUITE_END()
