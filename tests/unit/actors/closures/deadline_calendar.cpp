#include <troupe/actors/closures/internal/deadline_calendar.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <random>
#include <set>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(deadline_calendar_suite)

namespace {

constexpr time_point start{1h};

std::unique_ptr<closure> due_at(time_point deadline) {
  auto result = std::make_unique<closure>(function_id{}, value{}, std::vector<closure_input>{}, schedule_options{});
  result->deadline = deadline;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_calendar_of_deadlines)

BOOST_AUTO_TEST_CASE(gives_a_closure_out_when_the_interval_of_its_deadline_is_over) {
  deadline_calendar calendar{5s};
  const auto which = due_at(start + 7s);
  calendar.enter(*which);
  BOOST_TEST((calendar.next() == start + 10s));
  BOOST_TEST(calendar.take_late(start + 10s - 1ns) == nullptr);
  BOOST_TEST(calendar.take_late(start + 10s) == which.get());
  BOOST_TEST(calendar.take_late(start + 10s) == nullptr);
  BOOST_TEST((calendar.next() == never));
}

BOOST_AUTO_TEST_CASE(is_exact_for_a_deadline_between_two_intervals) {
  deadline_calendar calendar{5s};
  const auto which = due_at(start + 10s);
  calendar.enter(*which);
  BOOST_TEST((calendar.next() == start + 10s));
}

BOOST_AUTO_TEST_CASE(forgets_what_was_crossed_out) {
  deadline_calendar calendar{5s};
  const auto first = due_at(start);
  const auto second = due_at(start);
  calendar.enter(*first);
  calendar.enter(*second);
  deadline_calendar::cross_out(*first);
  deadline_calendar::cross_out(*first);
  BOOST_TEST(calendar.take_late(start) == second.get());
  deadline_calendar::cross_out(*second);
  BOOST_TEST((calendar.next() == never));
  calendar.enter(*first);
  BOOST_TEST(calendar.take_late(start) == first.get());
}

BOOST_AUTO_TEST_CASE(bears_a_deadline_that_never_comes) {
  deadline_calendar calendar{5s};
  const auto which = due_at(never);
  calendar.enter(*which);
  BOOST_TEST(calendar.take_late(start + 24h * 365) == nullptr);
  deadline_calendar::cross_out(*which);
}

BOOST_AUTO_TEST_CASE(agrees_with_a_set_after_any_sequence_of_changes) {
  deadline_calendar calendar{5s};
  std::vector<std::unique_ptr<closure>> all;
  std::set<closure*> inside;
  std::mt19937_64 random{5};
  auto now = start;
  for (int step = 0; step < 20'000; ++step) {
    const auto choice = random() % 8;
    if (choice < 4) {
      all.push_back(due_at(now + 1ns * static_cast<std::int64_t>(random() % 60'000'000'000)));
      calendar.enter(*all.back());
      inside.insert(all.back().get());
    } else if (choice < 7 && !inside.empty()) {
      const auto which = inside.lower_bound(all[random() % all.size()].get());
      if (which == inside.end()) continue;
      deadline_calendar::cross_out(**which);
      inside.erase(which);
    } else {
      now += 1ns * static_cast<std::int64_t>(random() % 10'000'000'000);
      while (auto* late = calendar.take_late(now)) {
        BOOST_REQUIRE(inside.erase(late) == 1u);
        BOOST_REQUIRE((late->deadline <= now));
      }
      for (const auto* left : inside) BOOST_REQUIRE((left->deadline + 5s > now));
    }
  }
  while (auto* last = calendar.take_late(now + 2min)) BOOST_REQUIRE(inside.erase(last) == 1u);
  BOOST_TEST(inside.empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
