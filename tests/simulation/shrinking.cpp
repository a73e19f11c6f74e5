// What a search has found becomes smaller: faults and choices that make no difference go, and nothing else does.
#include "exploration_environment.hpp"

#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/exploration.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(shrinking_suite)

using namespace troupe;

BOOST_FIXTURE_TEST_CASE(a_fault_is_left_out_with_its_end_but_for_ends_that_make_no_difference, environment) {
  fault_plan plan;
  plan.at(1ms).freeze("b");
  plan.at(2ms).kill("a");
  plan.at(3ms).cut("a", "b");
  plan.at(4ms).restart("a");
  plan.at(5ms).thaw("b").heal("a", "b");
  const auto shrunk = [&](const std::string& when_down) {
    return explore(
               [&](simulated_world& world) {
                 for (const auto* const name : {"a", "b"}) world.host(name, [](simulated_host&) { sleep_for(1h); });
                 world.advance(1s);
                 world.require(world.running("a"), when_down);
                 world.require(world.starts("a") == 1, "a was lost");
               },
               {.runs = 1, .plan = plan})
        .found.value();
  };
  // Without its restart it would be another failure.
  const auto other_words = shrunk("a is down");
  BOOST_TEST(contains(other_words.what, "a was lost"), other_words.what);
  fault_plan least;
  least.at(2ms).kill("a");
  least.at(4ms).restart("a");
  BOOST_TEST((other_words.plan == least), other_words.report());
  least.faults.pop_back();
  BOOST_TEST((shrunk("a was lost").plan == least));
}

namespace {

bool has(const fault_plan& plan, fault_kind what, const std::string& host) {
  return std::any_of(plan.faults.begin(), plan.faults.end(),
                     [&](const planned_fault& each) { return each.what == what && each.host == host; });
}

/// What is found with the plan of a scenario whose failure depends on nothing but the plan.
failure found_with(const fault_plan& plan, const scenario& what) {
  return explore(what, {.runs = 1, .plan = plan}).found.value();
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(faults_that_are_needless_without_the_end_of_another_one_are_left_out, environment) {
  fault_plan plan;
  plan.at(1ms).freeze("b");
  plan.at(2ms).kill("a");
  plan.at(3ms).restart("a");
  plan.at(4ms).thaw("b");
  const auto found = found_with(plan, [](simulated_world& world) {
    const auto& given = world.plan();
    const auto is_back = has(given, fault_kind::thaw, "b") && !has(given, fault_kind::kill, "a");
    world.require(!has(given, fault_kind::freeze, "b") || is_back, "b does not answer");
  });
  fault_plan least;
  least.at(1ms).freeze("b");
  BOOST_TEST((found.plan == least), found.report());
}

BOOST_FIXTURE_TEST_CASE(no_fault_of_a_shrunk_plan_can_be_left_out, environment) {
  fault_plan all;
  const std::vector<std::string> hosts{"a", "b", "c", "d"};
  for (const auto& host : hosts) all.at(1ms).kill(host);
  for (const auto& host : hosts) all.at(2ms).restart(host);
  const auto without = [](fault_plan plan, const auto& left_out) {
    std::erase_if(plan.faults, left_out);
    return plan;
  };
  for (std::uint64_t way = 0; way < 300; ++way) {
    // Each plan is good, or fails in one of four ways, as its hash says.
    const auto end_of = [&](const fault_plan& plan) -> std::string {
      const auto hash = std::hash<std::string>{}(std::to_string(way) + plan.to_json()) >> 8;
      if (plan == all) return "aborted: it is lost";
      if (plan.faults.empty() || hash % 3 == 0) return {};
      return std::string{hash % 3 == 1 ? "aborted: " : "not_found: "} +
             (hash % 2 == 0 ? "it is lost" : "nothing is there");
    };
    const auto found = found_with(all, [&](simulated_world& world) {
      const auto end = end_of(world.plan());
      if (end.empty()) return;
      const auto message = end.substr(end.find(": ") + 2);
      throw_status({end.starts_with("aborted") ? status_code::aborted : status_code::not_found, message});
    });
    BOOST_TEST(found.what == end_of(found.plan));
    for (const auto& host : hosts) {
      const auto rest = without(found.plan, [&](const planned_fault& each) { return each.host == host; });
      if (rest != found.plan) BOOST_TEST(!end_of(rest).starts_with("aborted"), way << ": " << found.report());
    }
    for (const auto& each : found.plan.faults)
      BOOST_TEST(end_of(without(found.plan, [&](const planned_fault& one) { return one == each; })) != found.what,
                 way << ": " << found.report());
  }
}

BOOST_FIXTURE_TEST_CASE(choices_are_no_longer_drawn_that_are_needless_without_a_fault, environment) {
  fault_plan plan;
  plan.at(1ms).freeze("b");
  plan.at(4ms).thaw("b");
  const auto found = found_with(plan, [](simulated_world& world) {
    for (const auto* const name : {"a", "b", "c", "d", "e", "f"})
      world.host(name, [](simulated_host&) { sleep_for(1h); });
    world.advance(1s);
    const auto drawn = std::min(world.options().drawn_choices, world.choices());
    // Without the thaw fewer choices do, and many don't.
    const auto is_good = has(world.plan(), fault_kind::thaw, "b") ? drawn < 3 : drawn == 0 || drawn > 3;
    world.require(is_good || !has(world.plan(), fault_kind::freeze, "b"), "it fails");
  });
  BOOST_TEST(found.choices > 3u);
  BOOST_TEST(found.plan.faults.size() == 1u, found.report());
  BOOST_TEST(found.drawn_choices == 1u, found.report());
}

BOOST_FIXTURE_TEST_CASE(a_failure_is_the_same_if_only_what_its_causes_say_differs, environment) {
  fault_plan plan;
  plan.at(1ms).kill("a");
  plan.at(2ms).restart("a");
  const auto faults_of = [&](status with, status without) {
    const auto found = found_with(plan, [&](simulated_world& world) {
      if (has(world.plan(), fault_kind::kill, "a"))
        throw_status(has(world.plan(), fault_kind::restart, "a") ? with : without);
    });
    return found.plan.faults.size();
  };
  const status link{status_code::unavailable, "the link broke"};
  const status silence{status_code::unavailable, "nothing was received for 3 s"};
  const status late{status_code::deadline_exceeded, "nothing was received for 3 s"};
  BOOST_TEST(faults_of(link.wrap("step 7 failed"), silence.wrap("step 12 failed")) == 1u);
  BOOST_TEST(faults_of(link.wrap("step 7 failed"), link.wrap("reading failed")) == 2u);
  BOOST_TEST(faults_of(link.wrap("step 7 failed"), late.wrap("step 7 failed")) == 2u);
  BOOST_TEST(faults_of(link.wrap("step 7 failed"), {status_code::unavailable, "step 7 failed"}) == 2u);
}

BOOST_FIXTURE_TEST_CASE(one_choice_less_than_the_decision_makes_a_good_run, environment) {
  auto search = counting(1);
  search.first_seed = 85;  // its failure depends on the order of steps
  const auto found = explore(wrong, search).found.value();
  BOOST_REQUIRE(found.drawn_choices > 0);
  BOOST_TEST(!found.decision.empty());
  auto options = counting(1);
  options.first_seed = found.seed;
  options.plan = found.plan;
  options.faults.reset();
  options.world.drawn_choices = found.drawn_choices - 1;
  BOOST_TEST(!explore(wrong, options).found.has_value());
  options.world.drawn_choices = found.drawn_choices;
  BOOST_TEST(explore(wrong, options).found.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
