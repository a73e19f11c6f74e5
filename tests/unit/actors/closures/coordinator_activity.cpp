// What the coordinator says of closures that have not ended.
#include "office.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_activity_suite)

namespace {

struct asked_office : office {
  explicit asked_office(coordinator_options options = {}) : office(options) {}

  /// Asks about a closure, or about all; the answer comes when it comes.
  const std::string& ask(const std::shared_ptr<closure>& only = nullptr) {
    auto& answer = answers.emplace_back();
    scheduler().inline_next_enqueue();
    spawn([this, &answer, only](caf::event_based_actor* self) {
      self->request(handle, caf::infinite, activity_atom_v, only, std::int64_t{duration{250ms}.count()})
          .then([&answer](const std::string& text) { answer = text; },
                [&answer](caf::error& failed) { answer = status_of(failed).render(); });
    });
    run();
    return answer;
  }

  std::deque<std::string> answers;
};

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_FIXTURE_TEST_CASE(alike_closures_are_told_together_with_the_longest_time, asked_office) {
  up();
  for (auto i = 0; i < 3; ++i) schedule();
  for (auto i = 0u; i < 3; ++i)
    heard().activities.push_back({.id = heard().orders[i].second,
                                  .begun = true,
                                  .awaited = "a read of variable \"v\"",
                                  .time_ns = duration{(i + 1) * 10ms}.count()});
  heard().activities.push_back({.id = 4711, .begun = true, .awaited = "what is not its own", .time_ns = 0});
  const auto& answer = ask();
  BOOST_TEST(answer.starts_with("3 closures have not ended: 3 x "), answer);
  BOOST_TEST(answer.ends_with("on /job:worker/task:0 waits for a read of variable \"v\" (30 ms)"), answer);
}

BOOST_FIXTURE_TEST_CASE(what_a_worker_does_not_name_is_under_way_to_it_or_from_it, asked_office) {
  up();
  const auto first = schedule();
  const auto second = schedule();
  heard().activities.push_back({.id = heard().orders[0].second, .begun = true, .awaited = {}});
  BOOST_TEST(says(ask(), "on /job:worker/task:0 computes; "), answers.back());
  BOOST_TEST(says(answers.back(), "is on its way to /job:worker/task:0, or its result is on its way back"));
  heard().activities.clear();
  BOOST_TEST(says(ask(second), "is on its way to /job:worker/task:0"), answers.back());
  // Of many it does not name all.
  heard().activities.assign(closure_activities_max, {.id = heard().orders[0].second, .begun = true, .awaited = {}});
  BOOST_TEST(!says(ask(), "is on its way"), answers.back());
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_does_not_answer_in_time_is_part_of_the_answer, asked_office) {
  up();
  schedule();
  advance(1s);
  heard().busy = true;
  const auto& answer = ask();
  BOOST_TEST(answer == "");
  advance(250ms);
  BOOST_TEST(says(answer, "1 closure has not ended: "), answer);
  BOOST_TEST(says(answer, "on /job:worker/task:0, which does not answer and has ended none for 1250 ms"), answer);
}

BOOST_AUTO_TEST_CASE(what_finds_no_place_in_the_answer_is_counted) {
  asked_office many{{.workers = 20}};
  for (auto worker = 0; worker < 20; ++worker) {
    many.up(worker);
    many.schedule({.worker = worker});
    many.heard(worker).activities = {{.id = many.heard(worker).orders.at(0).second, .begun = true}};
  }
  const auto& answer = many.ask();
  BOOST_TEST(answer.starts_with("20 closures have not ended: "), answer);
  BOOST_TEST(says(answer, "on /job:worker/task:7 computes"), answer);
  BOOST_TEST(answer.ends_with("; and 12 more"), answer);
}

BOOST_FIXTURE_TEST_CASE(a_closure_that_waits_for_a_worker_is_told_as_that, asked_office) {
  const auto waiting = schedule();
  BOOST_TEST(says(ask(), "waits for a worker, of which none is there (0 ms)"));
  advance(2s);
  BOOST_TEST(says(ask(waiting), "is in the queue (2000 ms)"));
  cancel(waiting);
  BOOST_TEST(ask(waiting) == "all have ended now");
  BOOST_TEST(ask() == "all have ended now");
}

BOOST_FIXTURE_TEST_CASE(a_question_is_answered_when_the_coordinator_ends, asked_office) {
  up();
  schedule();
  heard().busy = true;
  const auto& answer = ask();
  caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  run();
  BOOST_TEST(answer == "cancelled: the coordinator has stopped");
}

BOOST_AUTO_TEST_SUITE_END()
