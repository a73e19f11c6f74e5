// What a shard remembers of its clients: nothing is applied twice, and nothing stays for ever.
#include "support/effort.hpp"

#include <troupe/actors/variables/client_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <optional>
#include <random>
#include <string>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(client_memory_suite)

namespace {

const status failed{status_code::invalid_argument, "it does not fit"};

struct memory_of_one_hour {
  explicit memory_of_one_hour(parameter_server_options limits = {}) : memory(limits) {}

  /// Whether the change was applied, and not answered from memory or refused.
  bool applies(client_id client, std::uint64_t number, const status& outcome = {}) {
    auto* const known = memory.hear(client, now);
    BOOST_TEST_REQUIRE(known != nullptr);
    auto applied = false;
    ended = memory.change_once(*known, number, "w", [&] {
      applied = true;
      return outcome;
    });
    return applied;
  }
  void acknowledge(client_id client, std::uint64_t first_open) {
    memory.acknowledge(*memory.hear(client, now), first_open);
  }
  bool ended_with(status_code code, std::string_view limit) const {
    return ended.code() == code && ended.message().find(limit) != std::string::npos;
  }

  time_point now{24h};
  client_memory memory;
  status ended;
};

struct crowded : memory_of_one_hour {
  crowded() : memory_of_one_hour({.clients_max = 2, .forgotten_clients_max = 2, .remembered_changes_of_all_max = 20}) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_change_that_comes_again_ends_as_it_did_until_it_is_acknowledged, memory_of_one_hour) {
  BOOST_TEST(applies(1, 5, failed));
  BOOST_TEST(applies(1, 7));
  BOOST_TEST(!applies(1, 5));
  BOOST_TEST((ended == failed));
  // What was refused before, for want of room, comes between the others.
  BOOST_TEST(applies(1, 6));
  BOOST_TEST(!applies(1, 6));
  BOOST_TEST(applies(2, 5));
  acknowledge(1, 7);
  BOOST_TEST(!applies(1, 7));
  acknowledge(1, 8);
  acknowledge(2, 6);
  BOOST_TEST(memory.weight() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_client_that_was_silent_for_less_than_the_limit_may_repeat_anything, memory_of_one_hour) {
  applies(1, 5);
  for (auto i = 0; i < 3; ++i) {
    now += 1h - 1ns;
    BOOST_TEST(!applies(1, 5));
    BOOST_TEST(ended.ok());
  }
}

// CM-2
BOOST_FIXTURE_TEST_CASE(what_a_forgotten_client_repeats_is_refused_and_what_is_new_is_applied, memory_of_one_hour) {
  memory.hear(1, now)->link = 30;
  applies(1, 5);
  applies(1, 6, failed);
  now += 1h;
  memory.hear(2, now);
  BOOST_TEST(memory.known() == 1u);
  BOOST_TEST(memory.forgotten() == 1u);
  BOOST_TEST(memory.weight() == 0u);
  BOOST_TEST(memory.find(1) == nullptr);
  BOOST_TEST(!applies(1, 6));
  BOOST_TEST(ended_with(status_code::unknown, "client_silence_max"), ended.render());
  BOOST_TEST(memory.find(1)->link == 30u, "what comes over an older link is refused as before");
  BOOST_TEST(applies(1, 7));
  BOOST_TEST(!applies(1, 7));
  BOOST_TEST(ended.ok());
  now += 2h;
  BOOST_TEST(!applies(1, 7));
  BOOST_TEST(!applies(1, 5));
  BOOST_TEST(memory.known() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_client_that_was_silent_itself_is_forgotten_before_it_is_heard, memory_of_one_hour) {
  applies(1, 5);
  now += 1h;
  BOOST_TEST(!applies(1, 5));
  BOOST_TEST((ended.code() == status_code::unknown));
}

BOOST_FIXTURE_TEST_CASE(the_numbers_of_a_first_contact_may_be_any, memory_of_one_hour) {
  BOOST_TEST(applies(1, 1'000'000));
  BOOST_TEST(applies(1, 1'000'001));
}

// CM-3
BOOST_FIXTURE_TEST_CASE(a_client_for_which_there_is_no_room_comes_in_when_another_was_silent_for_long, crowded) {
  applies(1, 5);
  now += 30min;
  applies(2, 5);
  BOOST_TEST(memory.hear(3, now) == nullptr);
  const auto why = memory.no_room("w");
  BOOST_TEST((why.code() == status_code::resource_exhausted));
  BOOST_TEST(why.message().find("parameter_server_options::clients_max") != std::string::npos);
  now += 1min;
  BOOST_TEST(!applies(1, 5));
  BOOST_TEST(ended.ok());
  now += 58min;
  BOOST_TEST(memory.hear(3, now) == nullptr);
  // The second one was silent for longest.
  now += 1min;
  BOOST_TEST(applies(3, 5));
  BOOST_TEST(memory.find(2) == nullptr);
  BOOST_TEST(memory.hear(2, now) == nullptr, "one that was forgotten has lost its place");
  BOOST_TEST(!applies(1, 5));
}

BOOST_FIXTURE_TEST_CASE(clients_that_come_and_go_leave_so_much_at_most, crowded) {
  for (client_id client = 1; client <= 1'000; ++client) {
    applies(client, 1);
    now += 30min;
    BOOST_TEST(memory.known() <= 2u);
    BOOST_TEST(memory.forgotten() <= 2u);
    BOOST_TEST(memory.weight() <= 2u);
  }
}

BOOST_FIXTURE_TEST_CASE(a_client_that_has_only_read_leaves_nothing, memory_of_one_hour) {
  memory.hear(1, now);
  now += 1h;
  memory.hear(2, now);
  BOOST_TEST(memory.known() == 1u);
  BOOST_TEST(memory.forgotten() == 0u);
}

// CM-3
BOOST_FIXTURE_TEST_CASE(a_client_that_acknowledges_nothing_leaves_others_their_share, crowded) {
  for (std::uint64_t number = 1; number <= 20; ++number) BOOST_TEST(applies(1, number));
  BOOST_TEST(!applies(1, 21));
  BOOST_TEST(ended_with(status_code::resource_exhausted, "remembered_changes_of_all_max"), ended.render());
  BOOST_TEST(memory.client_share() == 10u);
  for (std::uint64_t number = 1; number <= 10; ++number) BOOST_TEST(applies(2, number));
  BOOST_TEST(!applies(2, 11));
  BOOST_TEST(memory.weight() == 30u);
  acknowledge(2, 3);
  BOOST_TEST(applies(2, 11));
  acknowledge(1, 21);
  BOOST_TEST(applies(2, 12));
  BOOST_TEST(applies(2, 13));
  BOOST_TEST(applies(2, 14));
}

BOOST_FIXTURE_TEST_CASE(an_error_counts_for_its_text, memory_of_one_hour) {
  applies(1, 1, {status_code::invalid_argument, std::string(24'000, '.')});
  BOOST_TEST(memory.weight() > 1'000u);
  applies(2, 1, status{status_code::unknown, "."}.wrap("."));
  acknowledge(1, 2);
  now += 1h;
  memory.hear(3, now);
  BOOST_TEST(memory.weight() == 0u);
}

BOOST_FIXTURE_TEST_CASE(nothing_is_left_of_a_session_that_is_over, memory_of_one_hour) {
  applies(1, 1);
  memory.find(1)->session = 20;
  now += 1h;
  applies(2, 1);
  memory.find(2)->session = 20;
  applies(3, 1);
  memory.forget_for_good_if([](session_id session) { return session == 20; });
  BOOST_TEST(memory.known() == 1u);
  BOOST_TEST(memory.forgotten() == 0u);
  BOOST_TEST(memory.weight() == 1u);
  BOOST_TEST(applies(1, 1));
}

BOOST_AUTO_TEST_CASE(a_log_has_what_a_map_has) {
  std::mt19937 draw{7};
  change_log log;
  std::map<std::uint64_t, bool> expected;
  std::uint64_t first_open = 0;
  for (auto step = 0; step < 20'000; ++step) {
    if (draw() % 4 == 0) {
      first_open += draw() % (draw() % 50 == 0 ? 400 : 5);
      log.drop_below(first_open);
      expected.erase(expected.begin(), expected.lower_bound(first_open));
    }
    const auto number = first_open + draw() % 200;
    const auto* const found = log.find(number);
    const auto known = expected.find(number);
    BOOST_TEST_REQUIRE((found != nullptr) == (known != expected.end()));
    if (found != nullptr) {
      BOOST_TEST_REQUIRE(found->ended.ok() == known->second);
    } else {
      const auto fails = draw() % 3 == 0;
      log.add(number, [&] { return fails ? failed : status{}; });
      expected.emplace(number, !fails);
    }
    BOOST_TEST_REQUIRE(log.size() == expected.size());
  }
  log.drop_below(first_open + 1'000);
  BOOST_TEST(log.weight() == 0u);
}

BOOST_AUTO_TEST_CASE(changes_that_are_acknowledged_one_by_one_cost_in_proportion) {
  const auto work = [](int count) {
    change_log log;
    const auto open = static_cast<std::uint64_t>(count);
    for (std::uint64_t number = 1; number <= 2 * open; ++number) {
      log.add(number, [] { return status{}; });
      if (number > open) log.drop_below(number - open);
    }
    while (log.size() != 0) log.drop_below(2 * open - log.size() + 2);
  };
  BOOST_TEST(cost_of_ten_times_as_much(20'000, work) < 40);
}

BOOST_AUTO_TEST_SUITE_END()
