// What closures and actors throw between the nodes of a simulated cluster; actors/values/exception.hpp.
#include "probe.hpp"
#include "support/thrown.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace thrown;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(exceptions_suite)

namespace {

using clerk_actor = caf::typed_actor<caf::replies_to<int>::with<int>, caf::replies_to<std::string>::with<int>>;

clerk_actor::behavior_type clerk(clerk_actor::pointer) {
  return {[](int code) -> int {
            throw refused{"closed", code};
          },
          [](const std::string& text) -> int { throw unheard_of{text}; }};
}

int refuse(int code) { throw refused{"by the door", code}; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_closures_exception_crosses_the_network_as_itself) {
  ready_cluster cluster{{.seed = 1, .size = {.workers = 2, .servers = 0}}};
  const auto failed = cluster.schedule<refuse>(7);
  const auto consumer = cluster.schedule([](int x) { return x; }, failed);
  BOOST_CHECK_EXCEPTION(cluster.fetch(failed), refused, [](const refused& found) { return found.code() == 7; });
  BOOST_CHECK_EXCEPTION(cluster.fetch(consumer), refused, [](const refused& found) { return found.code() == 7; });
  const auto join = cluster.join();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return join.ended(); }, 1s));
  BOOST_CHECK_THROW(throw_status(join.problem()), refused);
  const auto other = cluster.schedule([]() -> int { throw unheard_of{"row 9"}; });
  BOOST_CHECK_EXCEPTION(cluster.fetch(other), unknown_error,
                        [](const error& e) { return contains(e.what(), "thrown::unheard_of: row 9"); });
}

BOOST_AUTO_TEST_CASE(an_actor_that_throws_in_a_handler_says_what_to_whoever_asks_from_another_node) {
  ready_cluster cluster{{.seed = 2, .size = {.workers = 1, .servers = 0}}};
  const task_id worker{"worker", 0};
  const auto answers = [&](const std::string& name, auto question) {
    const auto here = cluster.here(worker);
    here.offer(name, here.spawn(clerk));
    const auto asked = cluster.start_program([&cluster, worker, name, question] {
      const auto found = cluster.chief_cluster().here().find<clerk_actor>(worker, name);
      ask(found, 5s, question);
    });
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return asked.ended(); }, 10s));
    return asked.problem();
  };
  BOOST_CHECK_EXCEPTION(throw_status(answers("first", 7)), refused,
                        [](const refused& found) { return found.code() == 7; });
  const auto why = answers("second", std::string{"row 9"});
  BOOST_TEST((why.code() == status_code::unknown));
  BOOST_TEST(contains(why.render(), "thrown::unheard_of: row 9"), why.render());
}

BOOST_AUTO_TEST_CASE(an_actor_that_a_test_spawns_keeps_its_words_too) {
  ready_cluster cluster{{.seed = 3, .size = {.workers = 1, .servers = 0}}};
  const auto asked = cluster.ask<int>(cluster.spawn({"worker", 0}, clerk), 1s, 7);
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return asked.ended(); }, 2s));
  BOOST_CHECK_THROW(throw_status(asked.problem()), refused);
  BOOST_TEST(asked.problem().message() == "thrown::refused: closed");
}

BOOST_AUTO_TEST_SUITE_END()
