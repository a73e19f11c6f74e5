// A door among too many: strangers, open connections, and a process without descriptors.
#include "door_test.hpp"

#include <boost/test/unit_test.hpp>

#include <future>

#include <fcntl.h>

using namespace door_test;

BOOST_AUTO_TEST_SUITE(acceptor_limits_suite)

// --- strangers -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(silent_strangers_keep_nobody_out_because_the_oldest_goes) {
  host open{{.first_words_limit = 1h, .strangers_max = 8}};
  std::vector<visitor> silent(100);
  for (auto& each : silent) each.visit(open);
  BOOST_REQUIRE(comes_true([&] { return open.counts().accepted == 100; }));
  for (std::size_t i = 0; i < 92; ++i) BOOST_TEST(silent[i].is_closed());
  for (std::size_t i = 92; i < 100; ++i) BOOST_TEST(silent[i].is_open());
  BOOST_TEST(open.counts().displaced == 92u);
  const visitor guest{open, greeting};
  BOOST_TEST(comes_true([&] { return open.taken() == 1; }));
}

BOOST_AUTO_TEST_CASE(a_stranger_that_has_spoken_is_not_displaced_only_because_its_turn_has_not_come) {
  std::promise<void> judging, over;
  host open{{.strangers_max = 2}, [&](std::span<const std::byte> peeked) {
              if (peeked.front() != std::byte{'W'}) return judge_greeting(peeked);
              judging.set_value();
              over.get_future().wait_for(patience);
              return first_words::verdict::refuse;
            }};
  visitor oldest{open};
  BOOST_REQUIRE(comes_true([&] { return open.counts().accepted == 1; }));
  const visitor holds_up{open, "W"};
  judging.get_future().wait_for(patience);
  oldest.say(greeting);
  const visitor next{open}, one_more{open};
  over.set_value();
  BOOST_TEST(comes_true([&] { return open.counts().accepted == 4; }));
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
