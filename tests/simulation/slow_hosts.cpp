// Hosts whose processor is slow: each message takes its time, and nothing else happens there meanwhile.
#include "probe.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/remote_actors.hpp>
#include <troupe/runtime/simulated_world.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <numeric>
#include <string>
#include <vector>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(slow_hosts_suite)

using namespace troupe;

namespace {

/// A server and clients that ask it without pause, and how long each answer took.
struct questioned {
  std::vector<duration> times;

  void play(simulated_world& world, int clients) {
    world.host("server", [](simulated_host& here) {
      const auto actor = here.spawn(
          [](caf::event_based_actor*) -> caf::behavior { return {[](caf::get_atom) { return std::uint64_t{1}; }}; });
      publish_actor(here.system(), actor, 7000, 10s);
    });
    for (auto i = 0; i < clients; ++i)
      world.host("client-" + std::to_string(i), [this, &world](simulated_host& here) {
        const auto found = remote_actor<caf::actor>(here.system(), "server", 7000, 10s);
        for (;;) {
          const auto begin = world.now();
          try {
            ask(
                here.system(), found, 2s, "asking", [](std::uint64_t) {}, caf::get_atom_v);
          } catch (const error&) {
            return;
          }
          times.push_back(world.now() - begin);
        }
      });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_message_of_a_slow_host_takes_its_time_and_those_that_come_faster_wait_in_line) {
  for (const std::string end : {"slow_host", "heal_everything"}) {
    questioned all;
    simulated_world world{{.seed = 1}};
    all.play(world, 4);
    world.advance(1s);
    for (const auto each : all.times) BOOST_TEST_REQUIRE((each < 1ms));
    world.slow_host("server", 10ms);
    world.advance(1s);
    all.times.clear();
    world.advance(1s);
    // A hundred messages, of which some may be others than questions; on the average each client waits for all others.
    BOOST_TEST_REQUIRE(all.times.size() > 20u);
    // One more at each end of the second, and an answer that was on its way when it began.
    BOOST_TEST(all.times.size() <= 102u);
    for (const auto each : all.times) BOOST_TEST_REQUIRE((each >= 10ms));
    const auto count = static_cast<duration::rep>(all.times.size());
    BOOST_TEST((std::accumulate(all.times.begin(), all.times.end(), duration{}) / count >= 35ms));
    end == "slow_host" ? world.slow_host("server", 0ms) : world.heal_everything();
    world.advance(100ms);
    all.times.clear();
    world.advance(1s);
    BOOST_TEST_REQUIRE(!all.times.empty());
    for (const auto each : all.times) BOOST_TEST_REQUIRE((each < 1ms));
  }
}

BOOST_AUTO_TEST_CASE(a_message_has_its_effect_at_the_end_of_its_time_and_timeouts_wait_for_it) {
  simulated_world world{{.seed = 1}};
  std::vector<duration> handled;
  duration woken{};
  world.host("server", [&](simulated_host& here) {
    const auto actor = here.spawn([&](caf::event_based_actor*) -> caf::behavior {
      return {[&](caf::put_atom) { handled.push_back(world.now()); }};
    });
    sleep_for(10ms);
    world.slow_host("server", 100ms);
    caf::anon_send(actor, caf::put_atom_v);
    caf::anon_send(actor, caf::put_atom_v);
    sleep_for(50ms);
    woken = world.now();
  });
  world.advance(1s);
  BOOST_TEST_REQUIRE(handled.size() == 2u);
  BOOST_TEST((handled[0] == 110ms));
  // The timeout of the sleep is a message, too, which the seed puts before the second or behind it.
  BOOST_TEST((handled[1] >= 210ms && handled[1] <= 410ms));
  BOOST_TEST((woken >= 210ms && woken <= 410ms));
  BOOST_CHECK_THROW(world.slow_host("server", -1ms), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(a_slow_host_freezes_dies_and_stays_slow_when_it_is_back) {
  questioned all;
  simulated_world world{{.seed = 1}};
  all.play(world, 1);
  world.slow_host("server", 10ms);
  BOOST_TEST_REQUIRE(world.run_until([&] { return all.times.size() == 3; }, 10s));
  world.advance(5ms);
  world.freeze("server");
  world.advance(1s);
  BOOST_TEST(all.times.size() <= 4u);
  world.thaw("server");
  world.advance(100ms);
  BOOST_TEST(all.times.size() > 5u);
  world.advance(5ms);
  world.kill("server");
  world.restart("server");
  questioned later;
  world.host("late client", [&](simulated_host& here) {
    const auto found = remote_actor<caf::actor>(here.system(), "server", 7000, 10s);
    const auto begin = world.now();
    ask(
        here.system(), found, 2s, "asking", [](std::uint64_t) {}, caf::get_atom_v);
    later.times.push_back(world.now() - begin);
  });
  BOOST_TEST_REQUIRE(world.run_until([&] { return !later.times.empty(); }, 10s));
  BOOST_TEST((later.times[0] >= 10ms));
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_run_of_a_slow_host_again) {  // S-1
  const auto play = [](simulated_world& world) {
    auto& all = world.keep<questioned>();
    all.play(world, 3);
    world.advance(1s);
  };
  fault_plan plan;
  plan.at(100ms).slow_host("server", 3ms);
  plan.at(200ms).freeze("server");
  plan.at(300ms).thaw("server");
  plan.at(500ms).slow_host("server", 0ms);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto difference = find_difference(play, {.seed = seed, .plan = plan, .traces_steps = true});
    BOOST_TEST(!difference.has_value(), difference.value_or(""));
  }
}

BOOST_AUTO_TEST_SUITE_END()
