// What closures throw, as the chief's program catches it; actors/values/exception.hpp. In one process.
#include "support/local_world.hpp"
#include "support/thrown.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <map>

using namespace troupe;
using namespace thrown;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(exceptions_suite)

namespace {

int refuse(int code) { throw refused{"by the door", code}; }

bool is_7(const refused& found) { return found.code() == 7 && std::string_view{found.what()} == "by the door"; }

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_closure_throws_is_thrown_by_fetch_get_join_and_schedule) {
  local_world world;
  auto& coordinator = world.coordinator;
  const auto failed = coordinator.schedule<refuse>(7);
  BOOST_CHECK_EXCEPTION(failed.fetch(), refused, is_7);
  BOOST_CHECK_EXCEPTION(failed.get(), refused, is_7);
  BOOST_CHECK_EXCEPTION(coordinator.fetch(std::vector{failed}), refused, is_7);
  BOOST_CHECK_EXCEPTION(coordinator.join(), refused, is_7);
  const auto next = coordinator.schedule<refuse>(7);
  while (!next.wait_for(1s)) continue;
  BOOST_CHECK_EXCEPTION(coordinator.schedule<refuse>(8), refused, is_7);
  BOOST_TEST(coordinator.schedule([] { return 5; }).fetch() == 5);
}

BOOST_AUTO_TEST_CASE(the_standard_librarys_exceptions_come_as_they_are_and_say_where_they_were_thrown) {
  local_world world;
  const auto failed = world.coordinator.schedule([] { return std::map<int, int>{}.at(1); });
  try {
    failed.fetch();
    BOOST_FAIL("nothing was thrown");
  } catch (const std::out_of_range&) {
    const auto where = status_of(std::current_exception()).render();
    BOOST_TEST(where.find("on /job:worker/task:") != std::string::npos, where);
    BOOST_TEST(where.find("std::out_of_range: ") != std::string::npos, where);
  }
  BOOST_CHECK_THROW(world.coordinator.join(), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(what_is_not_registered_comes_as_unknown_error_in_one_process_too) {
  local_world world;
  const auto failed = world.coordinator.schedule([]() -> int { throw unheard_of{"row 9"}; });
  BOOST_CHECK_EXCEPTION(failed.fetch(), unknown_error,
                        [](const error& e) { return says(e, "thrown::unheard_of: row 9"); });
  BOOST_CHECK_THROW(world.coordinator.join(), unknown_error);
}

BOOST_AUTO_TEST_CASE(consumers_of_what_failed_fail_by_the_same_and_what_was_cancelled_is_cancelled) {
  local_world world;
  auto& coordinator = world.coordinator;
  const auto first = coordinator.schedule([] {
    sleep_for(50ms);
    return refuse(7);
  });
  const auto second = coordinator.schedule([](int x) { return x; }, first);
  const auto other = coordinator.schedule([] { sleep_for(1h); });
  BOOST_CHECK_EXCEPTION(second.fetch(), refused, is_7);
  BOOST_CHECK_EXCEPTION(coordinator.join(), refused, is_7);
  BOOST_CHECK_THROW(other.fetch(), cancelled_error);
}

BOOST_AUTO_TEST_CASE(a_closure_catches_what_another_threw_and_may_throw_it_on) {
  local_world world;
  auto& coordinator = world.coordinator;
  const auto nested = coordinator.schedule([]() -> int {
    try {
      current_member();
      throw verdict{3, "guilty"};
    } catch (const verdict& found) {
      throw refused{found.words, found.number};
    }
  });
  BOOST_CHECK_EXCEPTION(nested.fetch(), refused, [](const refused& found) { return found.code() == 3; });
  BOOST_CHECK_THROW(coordinator.join(), refused);
}

BOOST_AUTO_TEST_CASE(then_gives_an_actor_the_status_of_any_exception) {
  local_world world;
  caf::scoped_actor self{world.system};
  for (const auto& failed : {world.coordinator.schedule<refuse>(7)}) {
    world.system.spawn([failed, to = caf::actor{self}](caf::event_based_actor* here) {
      failed.then(
          here, [](int) {}, [here, to](const status& why) { here->send(to, why.render()); });
    });
    self->receive([](const std::string& text) {
      BOOST_TEST(text.find("thrown::refused: by the door") != std::string::npos, text);
    });
  }
  BOOST_CHECK_THROW(world.coordinator.join(), refused);
}

BOOST_AUTO_TEST_CASE(what_a_replicas_function_throws_on_a_worker_reaches_the_chief_as_itself) {
  local_world world;
  const auto failed = world.coordinator.schedule([] {
    mirrored_strategy strategy{{"CPU:0", "CPU:1"}};
    strategy.run([] {
      if (replica_context::current().replica_id_in_sync_group() == 1) throw no_such_row{{2.5}};
    });
  });
  BOOST_CHECK_EXCEPTION(failed.fetch(), no_such_row, [](const no_such_row& found) { return found.row().at(0) == 2.5; });
  BOOST_CHECK_THROW(world.coordinator.join(), no_such_row);
}

namespace {

using clerk_actor = caf::typed_actor<caf::replies_to<int>::with<int>, caf::replies_to<std::string>::with<int>>;

/// Throws in a handler.
clerk_actor::behavior_type clerk(clerk_actor::pointer) {
  return {[](int code) -> int {
            throw refused{"closed", code};
          },
          [](const std::string& text) -> int { throw unheard_of{text}; }};
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_an_actor_of_the_application_throws_in_a_handler_reaches_whoever_asks) {
  local_world world;
  const auto here = world.members.here();
  const auto first = here.offer("first", here.spawn(clerk));
  BOOST_CHECK_EXCEPTION(ask(first, 5s, 7), refused, [](const refused& found) { return found.code() == 7; });
  const auto second = here.offer("second", here.spawn(clerk));
  BOOST_CHECK_EXCEPTION(ask(second, 5s, "row 9"), unknown_error,
                        [](const error& e) { return says(e, "thrown::unheard_of: row 9"); });
  // The actor has ended: what it holds may be half done.
  const auto third = here.spawn(clerk);
  caf::scoped_actor self{world.system};
  self->monitor(third);
  BOOST_CHECK_THROW(ask(third, 5s, 8), refused);
  self->receive([](const caf::down_msg& down) {
    const auto why = status_of(down.reason);
    BOOST_TEST(why.message() == "thrown::refused: closed");
    BOOST_CHECK_THROW(throw_status(why), refused);
  });
}

BOOST_AUTO_TEST_CASE(actors_of_every_form_answer_what_they_throw) {
  local_world world;
  const auto here = world.members.here();
  const auto asks = [&](const caf::actor& whom) {
    caf::scoped_actor self{world.system};
    status why;
    self->request(whom, 5s, 7).receive([](int) {}, [&](const caf::error& failed) { why = status_of(failed); });
    return why.message();
  };
  const auto code = [](int x) -> int { throw refused{"closed", x}; };
  BOOST_TEST(asks(here.spawn([code](caf::event_based_actor*) -> caf::behavior { return {code}; })) ==
             "thrown::refused: closed");
  BOOST_TEST(asks(here.spawn([code]() -> caf::behavior { return {code}; })) == "thrown::refused: closed");
  BOOST_TEST(asks(here.spawn([code](caf::event_based_actor* self) { self->become(code); })) ==
             "thrown::refused: closed");
  BOOST_TEST(asks(here.spawn(
                 [code](const std::string&, int x) -> caf::behavior { return {[code, x](int) { return code(x); }}; },
                 std::string{"argument"}, 3)) == "thrown::refused: closed");
  BOOST_TEST(asks(here.spawn([](caf::event_based_actor*) -> caf::behavior { throw verdict{}; })) != "");
}

BOOST_AUTO_TEST_SUITE_END()
