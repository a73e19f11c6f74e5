// Threads that look out for the next message instead of sleeping: actors/fibers/internal/keep_awake.hpp.
#include <troupe/actors/fibers/internal/keep_awake.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <chrono>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(keep_awake_suite)

namespace {

constexpr auto limit = 20s;

/// Waits at the end of the handler of an integer, and answers it with the next text.
caf::behavior waiting(caf::event_based_actor* self) {
  return {
      [self](int) {
        const keep_awake awake{self, limit};
        awake.wait();
      },
      [](const std::string& text) { return text; },
  };
}

struct world {
  caf::actor_system_config config;
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  std::string answer_of(const caf::actor& asked) {
    std::string result;
    self->request(asked, limit, std::string{"here"})
        .receive([&](std::string& text) { result = std::move(text); },
                 [&](const caf::error& why) { result = to_string(why); });
    self->send_exit(asked, caf::exit_reason::user_shutdown);
    return result;
  }
  bool in_time() const { return std::chrono::steady_clock::now() - began < limit / 2; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(an_actor_that_is_kept_awake, world)

BOOST_AUTO_TEST_CASE(hears_a_message_that_comes_while_it_waits) {
  const auto actor = system.spawn<caf::detached>(waiting);
  self->send(actor, 1);
  BOOST_TEST(answer_of(actor) == "here");
  BOOST_TEST(in_time());
}

BOOST_AUTO_TEST_CASE(hears_a_message_that_came_before_it_waits) {
  const auto actor = system.spawn<caf::detached>(waiting);
  for (auto i = 0; i < 100; ++i) self->send(actor, i);
  BOOST_TEST(answer_of(actor) == "here");
  BOOST_TEST(in_time());
}

BOOST_AUTO_TEST_CASE(without_a_thread_of_its_own_does_not_hold_up_the_others) {
  // As many as would take all threads of the scheduler.
  for (auto i = 0; i < 64; ++i) self->send(system.spawn(waiting), i);
  BOOST_TEST(answer_of(system.spawn(waiting)) == "here");
  BOOST_TEST(in_time());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
