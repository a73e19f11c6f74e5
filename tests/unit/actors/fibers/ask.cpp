// Questions to actors from fibers and threads; ask.hpp.
#include "fiber_actor.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/fault.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/atom.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <optional>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(ask_suite)

namespace {

/// Doubles numbers: those of `get_atom` at once, that of `put_atom` when it is told to.
using doubling_actor =
    caf::typed_actor<caf::replies_to<caf::get_atom, int>::with<int>, caf::replies_to<caf::put_atom, int>::with<int>>;

struct doubling {
  std::optional<caf::typed_response_promise<int>> open;
};

doubling_actor::behavior_type behavior(doubling_actor::pointer self, std::shared_ptr<doubling> state) {
  return {
      [](caf::get_atom, int x) -> caf::result<int> {
        if (x < 0) return make_error(status{status_code::out_of_range, "less than nothing"});
        return 2 * x;
      },
      [self, state](caf::put_atom, int) -> caf::result<int> {
        state->open = self->make_response_promise<caf::typed_response_promise<int>>();
        return *state->open;
      },
  };
}

struct world : virtual_system {
  std::shared_ptr<doubling> state = std::make_shared<doubling>();
  doubling_actor doubler = spawn(behavior, state);
  fiber_actor actor{*this};
  std::string told;

  template <class Atom>
  void start(Atom question, int x, duration limit = 1h) {
    actor.start(1, [=, this] {
      try {
        ask(
            system(), doubler, limit, "doubling", [this](int twice) { told = std::to_string(twice); }, question, x);
      } catch (const error& thrown) {
        told = thrown.what();
      }
    });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_fiber_that_asks_leaves_its_actor_free_until_the_answer_comes, world) {
  start(caf::put_atom_v, 21);
  auto ran = false;
  actor.start(2, [&] { ran = true; });
  BOOST_TEST(ran);
  BOOST_TEST(told == "");
  state->open->deliver(42);
  run();
  BOOST_TEST(told == "42");
}

BOOST_FIXTURE_TEST_CASE(the_answerers_error_is_thrown, world) {
  start(caf::get_atom_v, -1);
  BOOST_TEST(told == "out_of_range: less than nothing");
}

BOOST_FIXTURE_TEST_CASE(no_answer_within_the_limit_is_an_error_that_names_the_question, world) {
  start(caf::put_atom_v, 1, 2s);
  advance(2s - 1ns);
  BOOST_TEST(told == "");
  advance(1ns);
  BOOST_TEST(told == "deadline_exceeded: doubling: no answer within 2000 ms");
  // Nobody hears it any more.
  state->open->deliver(2);
  run();
}

BOOST_FIXTURE_TEST_CASE(a_cancelled_fiber_asks_no_longer, world) {
  start(caf::put_atom_v, 1);
  actor.act([&] { actor.fibers().cancel(1, stop); });
  BOOST_TEST(told == "cancelled: stop");
}

BOOST_FIXTURE_TEST_CASE(nobody_answers_where_nobody_is, world) {
  anon_send_exit(doubler, caf::exit_reason::kill);
  run();
  start(caf::get_atom_v, 1);
  BOOST_TEST(told.find("unavailable: doubling") == 0u, told);
  doubler = nullptr;
  start(caf::get_atom_v, 1);
  BOOST_TEST(told == "unavailable: doubling: there is no such actor");
}

BOOST_FIXTURE_TEST_CASE(who_ends_without_an_answer_is_not_waited_for, world) {
  start(caf::put_atom_v, 1);
  BOOST_TEST(told == "");
  state->open.reset();
  anon_send_exit(doubler, caf::exit_reason::kill);
  run();
  BOOST_TEST(told.find("unavailable: doubling: who was asked has ended without an answer") == 0u, told);
}

BOOST_AUTO_TEST_CASE(a_thread_blocks_until_the_answer_comes) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  const auto doubler = system.spawn(behavior, std::make_shared<doubling>());
  for (auto i = 0; i < 1000; ++i) {
    auto twice = 0;
    ask(
        system, doubler, 1min, "doubling", [&](int answer) { twice = answer; }, caf::get_atom_v, i);
    BOOST_REQUIRE(twice == 2 * i);
  }
  BOOST_CHECK_THROW(ask(
                        system, doubler, 1min, "doubling", [](int) {}, caf::get_atom_v, -1),
                    out_of_range_error);
  BOOST_CHECK_THROW(ask(
                        system, doubler, 1ms, "doubling", [](int) {}, caf::put_atom_v, 1),
                    deadline_exceeded_error);
  BOOST_CHECK_THROW(
      ask(
          system, doubler, 1min, "doubling", [](int) { throw not_found_error{"mine"}; }, caf::get_atom_v, 1),
      not_found_error);
  anon_send_exit(doubler, caf::exit_reason::kill);
}

BOOST_FIXTURE_TEST_CASE(an_answer_that_comes_late_is_not_taken_for_that_of_the_next_question, world) {
  answer_taker taker{system()};
  const auto ask_for = [&](auto question, int x) {
    caf::actor_cast<caf::strong_actor_ptr>(doubler)->enqueue(taker.handle(), taker.begin(),
                                                             caf::make_message(question, x), nullptr);
    run();
  };
  ask_for(caf::put_atom_v, 1);
  const auto first = std::exchange(state->open, std::nullopt);
  ask_for(caf::put_atom_v, 2);
  // The first one's, now.
  auto late = *first;
  late.deliver(-1);
  state->open->deliver(4);
  const auto answer = taker.wait_until(current_time() + 1min, 1min, "doubling");
  BOOST_TEST(answer.get_as<int>(0) == 4);
}

BOOST_AUTO_TEST_SUITE_END()
