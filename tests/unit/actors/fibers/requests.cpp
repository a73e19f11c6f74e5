#include "support/virtual_system.hpp"

#include <troupe/actors/fibers/requests.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(requests_suite)

namespace {

using peer_actor = caf::typed_actor<caf::replies_to<int>::with<int>,
                                    caf::replies_to<std::string>::with<int, std::string>, caf::reacts_to<errand>>;

/// Answers with twice the number; a negative one is an error.
peer_actor::behavior_type doubling_peer(peer_actor::pointer) {
  return {
      [](int x) -> caf::result<int> {
        if (x >= 0) return 2 * x;
        return make_error(status{status_code::out_of_range, "the disk is full"}.wrap("saving failed"));
      },
      [](const std::string& text) -> caf::result<int, std::string> {
        return {static_cast<int>(text.size()), text + "!"};
      },
      [](const errand& given) { given.work(); },
  };
}

/// What a peer that answers late has been asked.
using promises = std::vector<caf::typed_response_promise<int>>;

peer_actor::behavior_type late_peer(peer_actor::pointer self, promises* asked) {
  return {
      [self, asked](int) {
        asked->push_back(self->make_response_promise<int>());
        return asked->back();
      },
      [](const std::string&) -> caf::result<int, std::string> { return caf::sec::runtime_error; },
      [](const errand& given) { given.work(); },
  };
}

struct asking_state {
  explicit asking_state(caf::event_based_actor* self) : clock(self), open(self, clock) {}
  timers clock;
  requests open;
};

using asking_actor = simulated_actor<asking_state>;

/// How one request ended; R-1 says that `endings` is 1 at last and never more.
struct ending {
  int endings = 0;
  int answer = 0;
  status failed;
  time_point when{};
};

struct world : virtual_system {
  /// Asks in the actor; the ending must outlive it.
  void ask(asking_actor& actor, const peer_actor& peer, ending& into, int number = 1, duration limit = 5s) {
    actor.act([&, number, limit] {
      actor->open.ask(
          peer, limit, "double the number",
          [&](int answer) {
            ++into.endings;
            into.answer = answer;
            into.when = now();
          },
          [&](const status& failed) {
            ++into.endings;
            into.failed = failed;
            into.when = now();
          },
          number);
    });
  }

  /// The peer answers what it was asked; it does so in the next `run`.
  void answer(const peer_actor& peer, caf::typed_response_promise<int> asked) {
    caf::anon_send(peer, errand{[asked]() mutable { asked.deliver(42); }});
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_request, world)

BOOST_AUTO_TEST_CASE(ends_with_the_answer) {
  ending end;
  asking_actor actor{*this};
  ask(actor, spawn(doubling_peer), end, 21);
  BOOST_TEST(end.answer == 42);
  BOOST_TEST(end.failed.ok());
  BOOST_TEST(actor->open.size() == 0u);
  advance(1h);
  BOOST_TEST(end.endings == 1);
}

BOOST_AUTO_TEST_CASE(may_have_an_answer_of_several_parts) {
  auto size = 0;
  std::string text;
  const auto peer = spawn(doubling_peer);
  asking_actor actor{*this};
  actor.act([&] {
    actor->open.ask(
        peer, 1s, "greet",
        [&](int answer, const std::string& more) {
          size = answer;
          text = more;
        },
        [](const status& failed) { BOOST_ERROR(failed.render()); }, std::string{"hello"});
  });
  BOOST_TEST(size == 5);
  BOOST_TEST(text == "hello!");
}

BOOST_AUTO_TEST_CASE(ends_with_the_whole_error_of_the_answerer) {
  ending end;
  asking_actor actor{*this};
  ask(actor, spawn(doubling_peer), end, -1);
  BOOST_TEST(end.endings == 1);
  BOOST_TEST((end.failed == status{status_code::out_of_range, "the disk is full"}.wrap("saving failed")));
  BOOST_TEST(actor->open.size() == 0u);
}

BOOST_AUTO_TEST_CASE(ends_exactly_at_its_deadline_with_an_error_that_says_what_was_asked) {
  const auto start = now();
  promises asked;
  ending end;
  asking_actor actor{*this};
  ask(actor, spawn(late_peer, &asked), end);
  advance(5s - 1ns);
  BOOST_TEST(end.endings == 0);
  advance(1ns);
  BOOST_TEST(end.endings == 1);
  BOOST_TEST((end.when == start + 5s));
  BOOST_TEST((end.failed.code() == status_code::deadline_exceeded));
  BOOST_TEST(end.failed.message().find("double the number") != std::string::npos);
  BOOST_TEST(actor->open.size() == 0u);
}

//
BOOST_AUTO_TEST_CASE(ignores_an_answer_that_comes_after_the_deadline) {
  promises asked;
  ending end;
  const auto peer = spawn(late_peer, &asked);
  asking_actor actor{*this};
  ask(actor, peer, end);
  advance(5s);
  answer(peer, asked.at(0));
  advance(1h);
  BOOST_TEST(end.endings == 1);
  BOOST_TEST(end.answer == 0);
}

//
BOOST_AUTO_TEST_CASE(ends_once_when_answer_deadline_and_loss_coincide) {
  promises asked;
  ending end;
  const auto peer = spawn(late_peer, &asked);
  asking_actor actor{*this};
  ask(actor, peer, end);
  // The deadline, the loss and the answer wait in the mailbox together.
  clock().advance_time(5s);
  answer(peer, asked.at(0));
  actor.act([&] { actor->open.lost(peer.address(), {status_code::unavailable, "gone"}); });
  advance(1h);
  BOOST_TEST(end.endings == 1);
  BOOST_TEST(actor->open.size() == 0u);
}

BOOST_AUTO_TEST_CASE(ends_when_its_peer_is_lost_and_no_other_request_does) {
  promises asked;
  std::vector<ending> lost(3);
  ending kept;
  const auto first = spawn(late_peer, &asked);
  const auto second = spawn(late_peer, &asked);
  asking_actor actor{*this};
  for (auto& end : lost) ask(actor, first, end);
  ask(actor, second, kept);
  actor.act([&] {
    actor->open.lost(first.address(), {status_code::unavailable, "the link is cut"});
    BOOST_TEST(lost[0].endings == 0, "an end never runs inside of the handler that causes it");
  });
  for (const auto& end : lost) {
    BOOST_TEST(end.endings == 1);
    BOOST_TEST((end.failed == status{status_code::unavailable, "the link is cut"}));
  }
  BOOST_TEST(kept.endings == 0);
  answer(second, asked.at(3));
  run();
  BOOST_TEST(kept.answer == 42);
}

BOOST_AUTO_TEST_CASE(that_has_ended_is_not_lost_with_its_peer) {
  ending end;
  const auto peer = spawn(doubling_peer);
  asking_actor actor{*this};
  ask(actor, peer, end);
  actor.act([&] { actor->open.lost(peer.address(), {status_code::unavailable, "gone"}); });
  BOOST_TEST(end.endings == 1);
  BOOST_TEST(end.failed.ok());
}

BOOST_AUTO_TEST_CASE(to_nobody_fails_at_once) {
  ending end;
  asking_actor actor{*this};
  ask(actor, peer_actor{}, end);
  BOOST_TEST(end.endings == 1);
  BOOST_TEST((end.failed.code() == status_code::unavailable));
  BOOST_TEST(end.failed.message().find("double the number") != std::string::npos);
  BOOST_TEST(actor->open.size() == 0u);
}

BOOST_AUTO_TEST_CASE(to_a_peer_that_has_ended_fails_without_waiting_for_the_deadline) {
  const auto start = now();
  ending end;
  const auto peer = spawn(doubling_peer);
  run();
  caf::anon_send_exit(peer, caf::exit_reason::user_shutdown);
  run();
  asking_actor actor{*this};
  ask(actor, peer, end);
  BOOST_TEST((end.failed.code() == status_code::unavailable));
  BOOST_TEST((end.when == start));
}

BOOST_AUTO_TEST_CASE(leaves_no_timer_behind) {
  promises asked;
  std::vector<ending> ends(3);
  const auto silent = spawn(late_peer, &asked);
  asking_actor actor{*this};
  ask(actor, spawn(doubling_peer), ends[0]);
  ask(actor, spawn(doubling_peer), ends[1], -1);
  ask(actor, silent, ends[2]);
  BOOST_TEST(actor->clock.size() == 1u);
  actor.act([&] { actor->open.lost(silent.address(), {status_code::unavailable, "gone"}); });
  BOOST_TEST(actor->clock.size() == 0u);
}

BOOST_AUTO_TEST_CASE(may_be_followed_by_another_where_it_ends) {
  std::vector<int> answers;
  const auto peer = spawn(doubling_peer);
  asking_actor actor{*this};
  std::function<void(int)> ask_on = [&](int number) {
    answers.push_back(number);
    if (answers.size() == 100) return;
    actor->open.ask(
        peer, 1s, "count", [&](int doubled) { ask_on(doubled / 2 + 1); },
        [](const status& failed) { BOOST_ERROR(failed.render()); }, number);
  };
  actor.act([&] { ask_on(0); });
  BOOST_REQUIRE(answers.size() == 100u);
  BOOST_TEST(answers.back() == 99);
}

BOOST_AUTO_TEST_CASE(of_an_actor_that_ends_is_forgotten) {
  promises asked;
  ending end;
  const auto peer = spawn(late_peer, &asked);
  asking_actor actor{*this};
  ask(actor, peer, end);
  actor.end();
  answer(peer, asked.at(0));
  advance(1h);
  BOOST_TEST(end.endings == 0);
}

BOOST_AUTO_TEST_CASE(among_many_ends_in_its_own_way) {
  promises asked;
  std::vector<ending> ends(3000);
  const auto prompt = spawn(doubling_peer);
  const auto silent = spawn(late_peer, &asked);
  asking_actor actor{*this};
  for (auto i = 0u; i < ends.size(); ++i) {
    ask(actor, i % 3 == 1 ? silent : prompt, ends[i], i % 3 == 2 ? -1 : static_cast<int>(i), 1s + i * 1ms);
  }
  BOOST_TEST(actor->open.size() == 1000u);
  advance(1h);
  for (auto i = 0u; i < ends.size(); ++i) {
    const auto expected = i % 3 == 0   ? status_code::ok
                          : i % 3 == 1 ? status_code::deadline_exceeded
                                       : status_code::out_of_range;
    BOOST_REQUIRE(ends[i].endings == 1);
    BOOST_REQUIRE((ends[i].failed.code() == expected));
    if (i % 3 == 0) BOOST_REQUIRE(ends[i].answer == static_cast<int>(2 * i));
  }
  BOOST_TEST(actor->open.size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
