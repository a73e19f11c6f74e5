// A door among too many: strangers, open connections, and a process without descriptors.
#include "door_test.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <future>

#include <fcntl.h>

using namespace door_test;

BOOST_AUTO_TEST_SUITE(acceptor_limits_suite)

// --- strangers -------------------------------------------------------------------------------------------------------

namespace {

std::size_t open_among(std::vector<visitor>& connected) {
  return static_cast<std::size_t>(std::ranges::count_if(connected, [](visitor& each) { return each.is_open(); }));
}

}  // namespace

// The one that connected first from elsewhere is the oldest of all.
BOOST_AUTO_TEST_CASE(silent_connections_of_one_address_take_half_of_the_places_and_keep_nobody_out) {
  host open{{.first_words_limit = 1h, .strangers_max = 8}};
  visitor from_elsewhere;
  from_elsewhere.visit(open, "127.0.0.2");
  std::vector<visitor> silent(100);
  for (auto& each : silent) each.visit(open);
  BOOST_REQUIRE(comes_true([&] { return open.counts().accepted == 101; }));
  BOOST_TEST(comes_true([&] { return open.counts().displaced == 96; }));
  BOOST_TEST(open_among(silent) == 4u);
  BOOST_TEST(silent.back().is_open());
  BOOST_TEST(from_elsewhere.is_open());
  const visitor guest{open, greeting};
  BOOST_TEST(comes_true([&] { return open.taken() == 1; }));
}

//
BOOST_AUTO_TEST_CASE(silent_connections_of_many_addresses_have_as_many_places_as_there_are) {
  host open{{.first_words_limit = 1h, .strangers_max = 8}};
  std::vector<visitor> silent(50);
  for (std::size_t i = 0; i < silent.size(); ++i) silent[i].visit(open, fmt::format("127.0.0.{}", i + 1));
  BOOST_REQUIRE(comes_true([&] { return open.counts().accepted == 50; }));
  BOOST_TEST(comes_true([&] { return open.counts().displaced == 42; }));
  BOOST_TEST(open_among(silent) == 8u);
}

//
BOOST_AUTO_TEST_CASE(who_has_begun_to_speak_gives_no_place_to_silent_ones) {
  host open{{.first_words_limit = 1h, .strangers_max = 8}};
  visitor guest{open, "HE"};
  BOOST_REQUIRE(comes_true([&] { return open.judged() == 1; }));
  std::vector<visitor> silent(200);
  for (auto& each : silent) each.visit(open);
  BOOST_REQUIRE(comes_true([&] { return open.counts().accepted == 201; }));
  guest.say("LLO\n");
  BOOST_TEST(comes_true([&] { return open.taken() == 1; }));
}

//
BOOST_AUTO_TEST_CASE(those_who_have_begun_to_speak_have_a_limit_of_their_own) {
  host open{{.first_words_limit = 1h, .handshakes_max = 8}};
  visitor silent{open}, from_elsewhere;
  from_elsewhere.visit(open, "127.0.0.2");
  from_elsewhere.say("HE");
  BOOST_REQUIRE(comes_true([&] { return open.judged() == 1; }));
  std::vector<visitor> begun(100);
  for (auto& each : begun) {
    each.visit(open);
    each.say("HE");
  }
  BOOST_TEST(comes_true([&] { return open.counts().displaced == 96; }));
  BOOST_TEST(open_among(begun) == 4u);
  BOOST_TEST(silent.is_open());
  from_elsewhere.say("LLO\n");
  BOOST_TEST(comes_true([&] { return open.taken() == 1; }));
}

BOOST_AUTO_TEST_CASE(processes_that_start_at_once_on_one_machine_lose_no_connection) {
  host open;
  std::vector<visitor> guests(64);
  for (auto& each : guests) each.visit(open);
  for (auto& each : guests) each.say("HE");
  BOOST_REQUIRE(comes_true([&] { return open.counts().accepted == 64; }));
  for (auto& each : guests) each.say("LLO\n");
  BOOST_TEST(comes_true([&] { return open.taken() == 64; }));
  BOOST_TEST(open.counts().displaced == 0u);
}

BOOST_AUTO_TEST_CASE(a_stranger_that_has_spoken_is_not_displaced_only_because_its_turn_has_not_come) {
  std::promise<void> judging, over;
  host open{{.strangers_max = 2}, [&](std::span<const std::byte> peeked) {
              if (peeked.front() != std::byte{'W'}) return judge_greeting(peeked);
              judging.set_value();
              over.get_future().wait_for(patience);
              return first_words::verdict::refuse;
            }};
  visitor oldest, holds_up, next;
  oldest.visit(open, "127.0.0.2");
  BOOST_REQUIRE(comes_true([&] { return open.counts().accepted == 1; }));
  holds_up.visit(open, "127.0.0.3");
  holds_up.say("W");
  judging.get_future().wait_for(patience);
  oldest.say(greeting);
  next.visit(open, "127.0.0.2");
  over.set_value();
  BOOST_TEST(comes_true([&] { return open.counts().accepted == 3; }));
  BOOST_TEST(comes_true([&] { return open.taken() == 1; }));
  BOOST_TEST(open.counts().displaced == 0u);
}

// --- open connections ------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(one_connection_too_many_is_closed_until_another_one_is_over) {
  host open{{.connections_max = 3}};
  std::vector<visitor> guests(3);
  for (auto& each : guests) {
    each.visit(open);
    each.say(greeting);
  }
  BOOST_REQUIRE(comes_true([&] { return open.taken() == 3; }));
  visitor late{open, greeting};
  BOOST_TEST(late.is_closed());
  BOOST_TEST(open.counts().over_limit == 1u);
  for (auto& each : guests) BOOST_TEST(each.is_open());

  open.first().reset();
  BOOST_TEST(comes_true([&] {
    visitor next{open, greeting};
    comes_true([&] { return open.taken() == 3 || !next.is_open(); });
    return open.taken() == 3;
  }));
}

BOOST_AUTO_TEST_CASE(a_connection_is_over_also_when_its_number_stands_for_something_else) {
  host open{{.connections_max = 1}};
  const visitor guest{open, greeting};
  BOOST_REQUIRE(comes_true([&] { return open.taken() == 1; }));
  auto taken = open.first();
  const descriptor other{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  BOOST_REQUIRE(::dup2(other.get(), taken.get()) == taken.get());
  const visitor next{open, greeting};
  BOOST_TEST(comes_true([&] { return open.taken() == 1; }));
}

// --- no descriptors --------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(without_descriptors_who_comes_is_closed_and_later_ones_are_served) {
  host open;
  std::vector<visitor> guests(50);
  {
    const all_descriptors taken;
    for (auto& each : guests) {
      each.visit(open);
      each.say(greeting);
      BOOST_TEST(each.is_closed());
    }
  }
  BOOST_TEST(open.counts().without_descriptor == 50u);
  BOOST_TEST(open.taken() == 0u);
  const visitor next{open, greeting};
  BOOST_TEST(comes_true([&] { return open.taken() == 1; }));
}

BOOST_AUTO_TEST_CASE(without_descriptors_a_silent_one_gives_its_own_to_the_next) {
  host open{{.first_words_limit = 1h}};
  visitor silent{open};
  BOOST_REQUIRE(comes_true([&] { return open.counts().accepted == 1; }));
  visitor next;
  const all_descriptors taken;
  next.visit(open);
  next.say(greeting);
  BOOST_TEST(comes_true([&] { return open.taken() == 1; }));
  BOOST_TEST(silent.is_closed());
  BOOST_TEST(open.counts().displaced == 1u);
}

BOOST_AUTO_TEST_CASE(where_not_even_the_spare_descriptor_helps_the_door_waits_and_does_not_spin) {
  host open;
  visitor guest;
  {
    const descriptors_limited_to none{0};
    const auto before = computing_time();
    const auto begin = std::chrono::steady_clock::now();
    guest.visit(open);
    guest.say(greeting);
    // As long as a spin would need to show.
    comes_true([&] { return std::chrono::steady_clock::now() - begin > 500ms; });
    const auto computed = computing_time() - before;
    BOOST_TEST((computed < 200ms), computed.count() << " us");
    BOOST_TEST(guest.is_open());
  }
  BOOST_TEST(comes_true([&] { return open.taken() == 1; }));
}

BOOST_AUTO_TEST_SUITE_END()
