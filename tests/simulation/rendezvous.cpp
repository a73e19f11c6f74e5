// Groups of processes gather, break and gather again; actors/membership/rendezvous.hpp. Virtual time, one node.
#include "group_processes.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(rendezvous_suite)

namespace {

using namespace std::chrono_literals;

struct three_processes {
  virtual_system world;
  /// Of processes that are missing, as they are reported.
  std::vector<std::size_t> reports;
  rendezvous_actor host = world.spawn(
      rendezvous, rendezvous_options{.expected = {{"chief", 0}, {"worker", 0}, {"worker", 1}},
                                     .gather_limit = 30s,
                                     .report = [this](const auto& missing) { reports.push_back(missing.size()); }});
  process chief{world, host, {"chief", 0}};
  process first{world, host, {"worker", 0}};
  process second{world, host, {"worker", 1}};

  void form() {
    for (auto* each : {&chief, &first, &second}) each->gather();
    for (auto* each : {&chief, &first, &second}) {
      BOOST_REQUIRE(each->what().roster.has_value());
      each->remember();
    }
  }
};

std::vector<std::string> names(const group_roster& roster) {
  std::vector<std::string> result;
  for (const auto& each : roster.members) result.push_back(to_string(each.task));
  return result;
}

BOOST_FIXTURE_TEST_CASE(all_processes_get_the_same_roster_when_the_last_has_come, three_processes) {
  second.gather();
  chief.gather();
  BOOST_TEST(!chief.what().roster.has_value());
  first.gather();
  for (auto* each : {&chief, &first, &second}) {
    BOOST_REQUIRE(each->what().roster.has_value());
    BOOST_TEST(each->what().roster->generation == 1);
    BOOST_TEST(each->what().roster->token == chief.what().roster->token);
    BOOST_TEST(names(*each->what().roster) ==
               (std::vector<std::string>{"/job:chief/task:0", "/job:worker/task:0", "/job:worker/task:1"}));
  }
}

BOOST_FIXTURE_TEST_CASE(who_did_not_come_in_time_is_named, three_processes) {
  chief.gather();
  second.gather();
  world.advance(31s);
  BOOST_TEST((chief.what().refused.code() == status_code::deadline_exceeded));
  BOOST_TEST(chief.what().refused.render().find("/job:worker/task:0 did not come") != std::string::npos,
             chief.what().refused.render());
  BOOST_TEST((second.what().refused.code() == status_code::deadline_exceeded));
  form();
}

BOOST_FIXTURE_TEST_CASE(who_is_missing_is_reported_after_a_second_and_then_each_five_while_a_group_gathers,
                        three_processes) {
  using counts = std::vector<std::size_t>;
  world.advance(10s);
  BOOST_TEST(reports.empty());
  chief.gather();
  world.advance(7s);
  BOOST_TEST(reports == (counts{2, 2}), boost::test_tools::per_element());
  second.gather();
  world.advance(5s);
  BOOST_TEST(reports == (counts{2, 2, 1}), boost::test_tools::per_element());
  first.gather();
  world.advance(1min);
  BOOST_TEST(reports.size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(each_attempt_to_gather_has_the_whole_limit_and_ends_with_it, three_processes) {
  for (auto attempt = 0; attempt < 3; ++attempt) {
    chief.gather();
    world.advance(29s);
    BOOST_TEST(chief.what().refused.ok());
    world.advance(2s);
    BOOST_TEST((chief.what().refused.code() == status_code::deadline_exceeded));
  }
}

BOOST_FIXTURE_TEST_CASE(a_killed_process_breaks_the_group_at_once_and_the_others_go_on_without_it, three_processes) {
  form();
  first.die();
  for (auto* each : {&chief, &second}) {
    BOOST_REQUIRE(each->what().broken.size() == 1);
    BOOST_TEST(each->what().broken[0].first == 1);
    BOOST_TEST(each->what().broken[0].second.render().find("/job:worker/task:0 is lost") != std::string::npos);
  }
  chief.gather();
  second.gather();
  BOOST_REQUIRE(second.what().roster.has_value());
  BOOST_TEST(second.what().roster->generation == 2);
  BOOST_TEST(names(*second.what().roster) == (std::vector<std::string>{"/job:chief/task:0", "/job:worker/task:1"}));
}

BOOST_FIXTURE_TEST_CASE(a_frozen_process_is_found_and_is_part_of_no_later_group, three_processes) {
  form();
  second.freeze();
  world.advance(3s);
  BOOST_REQUIRE(chief.what().broken.size() == 1);
  BOOST_TEST(chief.what().broken[0].second.render().find("/job:worker/task:1 is lost") != std::string::npos);
  // It hears of it when it wakes.
  BOOST_TEST(second.what().broken.size() == 1);
  second.gather();
  BOOST_TEST((second.what().refused.code() == status_code::aborted));
  chief.gather();
  first.gather();
  BOOST_TEST(chief.what().roster->members.size() == 2);
}

BOOST_FIXTURE_TEST_CASE(a_process_that_freezes_while_it_gathers_hears_why_it_has_no_group, three_processes) {
  first.gather();
  first.freeze();
  world.advance(3s);
  BOOST_TEST((first.what().refused.code() == status_code::unavailable));
  BOOST_TEST(first.what().refused.render().find("/job:worker/task:0 is lost") != std::string::npos,
             first.what().refused.render());
}

BOOST_FIXTURE_TEST_CASE(a_process_that_is_lost_before_the_first_group_may_come_again, three_processes) {
  first.gather();
  first.die();
  chief.gather();
  second.gather();
  BOOST_TEST(!chief.what().roster.has_value());
  process again{world, host, {"worker", 0}};
  again.gather();
  BOOST_TEST(again.what().roster.has_value());
  world.run();
  BOOST_TEST(chief.what().roster.has_value());
}

BOOST_FIXTURE_TEST_CASE(a_process_that_dies_while_the_survivors_gather_is_not_waited_for, three_processes) {
  form();
  first.die();
  chief.gather();
  BOOST_TEST(!chief.what().roster.has_value());
  second.die();
  BOOST_REQUIRE(chief.what().roster.has_value());
  BOOST_TEST(names(*chief.what().roster) == (std::vector<std::string>{"/job:chief/task:0"}));
}

BOOST_FIXTURE_TEST_CASE(a_process_that_says_that_the_group_failed_breaks_it_for_all, three_processes) {
  form();
  caf::anon_send(host, broken_atom_v, std::uint64_t{7}, wire<status>{{status_code::internal, "of another group"}});
  world.run();
  BOOST_TEST(chief.what().broken.empty());
  caf::anon_send(host, broken_atom_v, std::uint64_t{1}, wire<status>{{status_code::internal, "out of ink"}});
  world.run();
  BOOST_REQUIRE(first.what().broken.size() == 1);
  BOOST_TEST(first.what().broken[0].second.message() == "out of ink");
}

BOOST_FIXTURE_TEST_CASE(a_stranger_and_a_latecomer_are_refused, three_processes) {
  form();
  process stranger{world, host, {"worker", 7}};
  stranger.gather();
  BOOST_TEST((stranger.what().refused.code() == status_code::aborted));
  process latecomer{world, host, {"worker", 1}};
  latecomer.gather();
  BOOST_TEST((latecomer.what().refused.code() == status_code::failed_precondition));
  BOOST_TEST(chief.what().broken.empty());
}

// --- words ----------------------------------------------------------------------------------------------------------

struct answer {
  std::optional<std::string> word;
  status refused;
};

std::shared_ptr<answer> fetch(virtual_system& world, const rendezvous_actor& host, std::uint64_t generation,
                              const std::string& key) {
  const auto into = std::make_shared<answer>();
  const auto ask = [](caf::event_based_actor* self, rendezvous_actor from, std::uint64_t number, std::string what,
                      std::shared_ptr<answer> result) {
    self->request(from, caf::infinite, fetch_atom_v, number, std::move(what))
        .then([result](const std::string& word) { result->word = word; },
              [result](caf::error& why) { result->refused = status_of(why); });
  };
  world.spawn(ask, host, generation, key, into);
  world.run();
  return into;
}

BOOST_FIXTURE_TEST_CASE(a_word_is_waited_for_and_found_again, three_processes) {
  form();
  const auto early = fetch(world, host, 1, "address");
  BOOST_TEST(!early->word.has_value());
  caf::anon_send(host, set_atom_v, std::uint64_t{1}, std::string{"address"}, std::string{"here\0there", 10});
  world.run();
  BOOST_TEST(early->word.value() == (std::string{"here\0there", 10}));
  BOOST_TEST(fetch(world, host, 1, "address")->word.has_value());
}

BOOST_FIXTURE_TEST_CASE(waiting_for_a_word_ends_with_the_deadline_and_with_the_group, three_processes) {
  form();
  const auto never_said = fetch(world, host, 1, "nothing");
  world.advance(61s);
  BOOST_TEST((never_said->refused.code() == status_code::deadline_exceeded));
  const auto open = fetch(world, host, 1, "something");
  first.die();
  BOOST_TEST((open->refused.code() == status_code::unavailable));
  BOOST_TEST((fetch(world, host, 1, "something")->refused.code() == status_code::aborted));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
