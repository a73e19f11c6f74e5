// Programs of the chief as they are written for real clusters, in virtual time: variables that are made, checkpoints
// that are saved and questions that are asked while something else goes on.
#include "probe.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(programs_suite)

BOOST_AUTO_TEST_CASE(a_program_waits_in_virtual_time_and_ends_with_what_it_throws) {
  ready_cluster cluster{{.seed = 1}};
  const auto began = cluster.now();
  const auto good = cluster.start_program([] { sleep_for(10min); });
  const auto bad = cluster.start_program([] { throw out_of_range_error{"on purpose"}; });
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return good.ended() && bad.ended(); }, 1h));
  BOOST_TEST(good.problem().ok());
  BOOST_TEST((cluster.now() - began == 10min));
  BOOST_TEST(contains(bad.problem().render(), "on purpose"));
}

BOOST_AUTO_TEST_CASE(a_program_ends_with_its_chief) {
  ready_cluster cluster{{.seed = 1}};
  const auto program = cluster.start_program([] { sleep_for(10min); });
  cluster.advance(1s);
  cluster.kill(chief);
  BOOST_TEST(program.ended());
  BOOST_TEST(to_string(program.problem().code()) == "cancelled");
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_being_made_is_no_part_of_a_checkpoint) {
  ready_cluster cluster{{.seed = 2}};
  {
    parameter_server_strategy strategy{cluster.chief_cluster()};
    const auto making = cluster.start_program([&] { strategy.variable<std::int64_t>("new", 1); });
    const auto saving = cluster.start_program([&] {
      BOOST_TEST(strategy.variables().empty());
      BOOST_CHECK_THROW(strategy.remove("new"), not_found_error);
      save_checkpoint(strategy, "checkpoint", {}, {.progress = false});
    });
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return making.ended() && saving.ended(); }, 1s));
    BOOST_TEST(making.problem().ok(), making.problem().render());
    BOOST_TEST(saving.problem().ok(), saving.problem().render());
    BOOST_TEST(strategy.variables().size() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_made_on_a_server_that_dies_meanwhile_fails_at_once) {
  ready_cluster cluster{{.seed = 20}};
  parameter_server_strategy strategy{cluster.chief_cluster()};
  for (const auto passed : {100us, 500us, 900us}) {
    const auto making = cluster.start_program([&] { strategy.variable<std::int64_t>("never made", 0); });
    cluster.advance(passed);
    BOOST_TEST(!making.ended());
    cluster.kill(server_task(0));
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return making.ended(); }, 100ms));
    BOOST_TEST(to_string(making.problem().code()) == "unavailable", making.problem().render());
    BOOST_TEST(strategy.variables().empty());
    cluster.restart(server_task(0));
    cluster.run_until_ready();
  }
}

BOOST_AUTO_TEST_CASE(a_question_to_an_actor_of_a_process_that_is_known_to_be_lost_fails_at_once) {
  ready_cluster cluster{{.seed = 4}};
  const auto door = cluster.reach(server_task(0));
  cluster.kill(server_task(0));
  cluster.advance(1s);
  const auto program = cluster.start_program([&] {
    const auto begin = current_time();
    try {
      ask(
          cluster.system(chief), door, 10s, "asking for the server", [](const parameter_server_actor&) {},
          server_atom_v);
      BOOST_ERROR("there is an answer");
    } catch (const unavailable_error& lost) {
      BOOST_TEST(contains(lost.what(), "asking for the server: who was asked has ended"), lost.what());
    }
    BOOST_TEST((current_time() - begin < 1ms));
  });
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return program.ended(); }, 1min));
  BOOST_TEST(program.problem().ok(), program.problem().render());
}

BOOST_AUTO_TEST_SUITE_END()
