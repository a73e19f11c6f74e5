// What concerns all closures of a full queue goes on bit by bit: nobody else is held up, and whatever happens in the
// middle, closures end and joins are answered as if it had been done at once.
#include "office.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_turns_suite)

namespace {

constexpr std::size_t turn_max = 2;
constexpr coordinator_options two_workers{
    .workers = 2, .windows = {.slots = 3, .window_max = 3}, .turn_closures_max = turn_max};

const status broken{status_code::out_of_range, "row 7 of 5"};
const status stopped{status_code::cancelled, "as it was told"};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

struct office_of_two : office {
  office_of_two() : office(two_workers) {
    up(0);
    up(1);
  }

  /// One message, whose work others had to wait for. False: there is none.
  bool step() {
    if (!scheduler().has_job()) return false;
    const auto before = ended();
    scheduler().run_once();
    most_at_once = std::max(most_at_once, ended() - before);
    return true;
  }

  std::shared_ptr<closure> leave(schedule_options options = {}, std::vector<closure_input> inputs = {}) {
    auto added = make(options, std::move(inputs));
    // Shared, since the last of them end with the coordinator.
    added->on_end([count = end_counts.emplace_back(std::make_shared<int>(0))] { ++*count; });
    all.push_back(added);
    push(added);
    return added;
  }
  void leave_many(int count, schedule_options options = {}) {
    for (int i = 0; i < count; ++i) leave(options);
  }

  std::size_t ended() const {
    return count([](const closure& each) { return each.ended(); });
  }
  std::size_t in(closure::readiness state) const {
    return count([state](const closure& each) { return each.state() == state; });
  }
  std::size_t count(const std::function<bool(const closure&)>& holds) const {
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const auto& each) { return holds(*each); }));
  }
  std::size_t sent() { return heard(0).orders.size() + heard(1).orders.size(); }
  const closure& sent_to(int worker, std::size_t order) {
    const auto id = heard(worker).orders.at(order).second;
    return **std::find_if(all.begin(), all.end(), [id](const auto& each) { return each->id == id; });
  }
  /// Workers end what they were told to end, once each.
  void obey() {
    for (const auto worker : {0, 1}) {
      run_outcomes all_stopped;
      for (const auto id : std::exchange(heard(worker).cancelled, {}))
        all_stopped.outcomes.push_back({.id = id, .ended = stopped, .result = {}});
      if (!all_stopped.outcomes.empty()) send(session(worker), std::move(all_stopped), worker);
    }
  }
  /// Everything that follows, with workers that do what they are told.
  void settle() {
    for (auto before = ended() + 1; before != ended();) {
      before = ended();
      run();
      obey();
    }
  }

  std::vector<std::shared_ptr<closure>> all;
  std::vector<std::shared_ptr<int>> end_counts;
  std::size_t most_at_once = 0;
};

/// A generation whose error is about to be raised: closures are in flight on both workers, wait for any, for one of
/// them, and for each other.
struct failing_generation : office_of_two {
  failing_generation() {
    leave_many(12);
    leave_many(4, {.priority = 2});
    leave_many(4, {.worker = 0});
    for (int i = 0; i < 5; ++i) leave({}, {{.producer = all.back()}});
    run();
    end(1, 0, broken);
    answer = &ask_for_join();
  }

  /// Lets that many messages pass, in a world where workers obey as soon as they are told.
  bool pass(int messages) {
    for (int i = 0; i < messages; ++i) {
      if (answer->given) return false;
      if (step()) continue;
      obey_one_by_one();
      if (!step()) return false;
    }
    return true;
  }
  void obey_one_by_one() {
    for (const auto worker : {0, 1}) {
      auto& told = heard(worker).cancelled;
      if (told.empty()) continue;
      const auto id = told.front();
      told.erase(told.begin());
      caf::send_as(desks.at(static_cast<std::size_t>(worker)).worker, handle, outcome_atom_v, session(worker),
                   std::uint64_t{0},
                   from_elsewhere(run_outcomes{.outcomes = {{.id = id, .ended = stopped, .result = {}}}}));
      return;
    }
  }

  const join_answer* answer = nullptr;
};

/// Does something after each possible number of messages, each time in a generation of its own.
template <class Work>
void at_every_moment(Work work) {
  auto moments = 0;
  for (auto goes_on = true; goes_on; ++moments) {
    failing_generation here;
    goes_on = here.pass(moments);
    const auto sent_before = here.sent();
    BOOST_TEST_CONTEXT("after " << moments << " messages") {
      work(here);
      here.settle();
      BOOST_REQUIRE(here.answer->given);
      BOOST_TEST((here.answer->problem.code() == status_code::out_of_range));
      BOOST_TEST(here.all[0]->ended());
      // C-1
      for (std::size_t i = 0; i < here.all.size(); ++i)
        BOOST_TEST(*here.end_counts[i] == (here.all[i]->ended() ? 1 : 0), "closure " << i);
      BOOST_TEST(here.sent() >= sent_before);
    }
  }
  // Workers were told one after the other, and what waited ended bit by bit.
  BOOST_TEST(moments > 15);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(an_error_is_raised_when_all_have_ended_and_no_turn_ends_more_than_its_share,
                        failing_generation) {  // C-1, C-2
  const auto sent_before = sent();
  for (auto i = 0; i < 1000 && !answer->given; ++i) {
    pass(1);
    BOOST_TEST(sent() == sent_before);
    if (answer->given) continue;
    BOOST_TEST((queue->error_pending || ended() == all.size()));
  }
  BOOST_REQUIRE(answer->given);
  BOOST_TEST(contains(answer->problem.render(), "row 7 of 5"), answer->problem.render());
  BOOST_TEST(in(closure::readiness::aborted) == all.size() - 1);
  // One that a worker has ended, beside the turn's share.
  BOOST_TEST(most_at_once <= turn_max + 1);
  // As good as new.
  leave_many(1);
  run();
  BOOST_TEST(sent() == sent_before + 1);
}

BOOST_AUTO_TEST_CASE(what_is_scheduled_meanwhile_never_runs_before_the_error_is_raised) {  // C-2
  at_every_moment([](failing_generation& here) {
    const auto sent_before = here.sent();
    const auto was_raised = !here.queue->error_pending;
    const auto meanwhile = here.leave();
    const auto bound = here.leave({.worker = 1});
    here.settle();
    BOOST_TEST(meanwhile->ended() == !was_raised);
    BOOST_TEST(bound->ended() == !was_raised);
    BOOST_TEST(here.sent() == sent_before + (was_raised ? 2u : 0u));
  });
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_lost_meanwhile_holds_nothing_up_and_its_closures_run_nowhere_else) {  // C-2, C-3
  at_every_moment([](failing_generation& here) {
    const auto sent_before = here.sent();
    here.down(0);
    here.settle();
    BOOST_TEST(here.ended() == here.all.size());
    BOOST_TEST(here.sent() == sent_before);
  });
}

BOOST_AUTO_TEST_CASE(a_worker_that_comes_back_meanwhile_gets_nothing_of_that_generation) {
  at_every_moment([](failing_generation& here) {
    const auto sent_before = here.sent();
    here.up(0);
    here.settle();
    BOOST_TEST(here.ended() == here.all.size());
    BOOST_TEST(here.sent() == sent_before);
  });
}

BOOST_AUTO_TEST_CASE(a_second_join_hears_the_same_error_and_one_after_that_none) {
  at_every_moment([](failing_generation& here) {
    const auto was_raised = !here.queue->error_pending;
    // The message that raises it may be under way.
    const auto is_last = here.ended() + turn_max >= here.all.size();
    const auto& second = here.join();
    here.settle();
    BOOST_REQUIRE(second.given);
    if (was_raised || !is_last) BOOST_TEST(second.problem.ok() == was_raised);
    const auto& third = here.join();
    BOOST_TEST(third.given);
    BOOST_TEST(third.problem.ok());
  });
}

BOOST_AUTO_TEST_CASE(a_result_that_comes_meanwhile_counts) {  // C-1
  at_every_moment([](failing_generation& here) {
    const auto& running = here.sent_to(0, 0);
    const auto had_ended = running.ended();
    here.end(0, 0);
    here.settle();
    BOOST_TEST((running.state() == (had_ended ? closure::readiness::aborted : closure::readiness::ready)));
  });
}

BOOST_AUTO_TEST_CASE(a_closure_that_its_owner_cancels_meanwhile_ends_once) {  // C-1
  for (const auto which : {0u, 7u, 13u, 17u, 22u})
    at_every_moment([which](failing_generation& here) {
      here.cancel(here.all[which]);
      BOOST_TEST(here.all[which]->ended());
    });
}

// --- limits ---

BOOST_FIXTURE_TEST_CASE(closures_whose_limits_are_over_together_fail_bit_by_bit, office_of_two) {
  leave_many(40, {.limit = 1h});
  run();
  const auto sent_before = sent();
  advance(1h - 1ns);
  BOOST_TEST(ended() == 0u);
  // To within `deadline_interval`, all at the same time.
  auto& time = clock();
  for (auto i = 0; i < 10 && ended() == 0; ++i) {
    time.advance_time(1s);
    while (step()) {
    }
  }
  BOOST_TEST(ended() == all.size());
  BOOST_TEST(most_at_once <= turn_max);
  for (const auto& each : all) BOOST_TEST((each->end_status().code() == status_code::deadline_exceeded));
  // Those that ran were cancelled where they ran, and the workers have room again when they have said so.
  BOOST_TEST(heard(0).cancelled.size() + heard(1).cancelled.size() == sent_before);
  const auto& answer = join();
  settle();
  BOOST_TEST((answer.problem.code() == status_code::deadline_exceeded));
}

BOOST_FIXTURE_TEST_CASE(results_are_heard_between_closures_that_fail_by_a_common_limit, office_of_two) {
  leave_many(40, {.limit = 1h});
  run();
  const auto in_time = heard(1).orders.back().second;
  advance(1h - 1ns);
  for (auto i = 0; i < 10 && ended() == 0; ++i) {
    clock().advance_time(1s);
    while (ended() == 0 && step()) {
    }
  }
  BOOST_REQUIRE(ended() > 0u);
  BOOST_REQUIRE(ended() < 5u);
  // The sixth that was sent; the first ones failed.
  caf::send_as(desks.at(1).worker, handle, outcome_atom_v, session(1), std::uint64_t{0},
               from_elsewhere(run_outcomes{.outcomes = {{.id = in_time, .ended = {}, .result = {}}}}));
  run();
  BOOST_TEST(in(closure::readiness::ready) == all.size());
  BOOST_TEST(count([](const closure& each) { return each.ended() && each.end_status().ok(); }) == 1u);
}

// --- bursts ---

namespace {

/// More than a turn takes in, the last of them for worker 1 alone.
struct burst : office_of_two {
  burst() {
    leave_many(60, {.worker = 0});
    leave({.worker = 1});
  }
};

/// Does something after each possible number of messages of a burst; then workers end all that they are sent.
template <class Work>
void at_every_moment_of_a_burst(Work work) {
  auto moments = 0;
  for (auto goes_on = true; goes_on; ++moments) {
    burst here;
    for (auto i = 0; i < moments && goes_on; ++i) goes_on = here.step();
    BOOST_TEST_CONTEXT("after " << moments << " messages") {
      work(here);
      BOOST_TEST(here.ended() == here.all.size());
      for (std::size_t i = 0; i < here.all.size(); ++i) BOOST_TEST(*here.end_counts[i] == 1, "closure " << i);
    }
  }
  BOOST_TEST(moments > 3);
}

void work_off(office_of_two& here) {
  here.run();
  for (const auto worker : {0, 1})
    for (std::size_t i = 0; i < here.heard(worker).orders.size(); ++i) here.end(worker, i);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_was_scheduled_at_once_is_taken_in_bit_by_bit, burst) {
  step();
  BOOST_TEST(heard(0).orders.size() == 0u);  // under way
  auto steps = 0;
  for (; heard(1).orders.empty() && step(); ++steps) {
  }
  BOOST_TEST(heard(1).orders.size() == 1u);
  BOOST_TEST(steps > 3);
  work_off(*this);
  BOOST_TEST(ended() == all.size());
  for (std::size_t i = 0; i < 60; ++i) BOOST_TEST(&sent_to(0, i) == all[i].get());
}

BOOST_AUTO_TEST_CASE(a_join_waits_for_what_was_scheduled_before_it_though_it_is_not_taken_in) {  // C-2
  at_every_moment_of_a_burst([](burst& here) {
    const auto& answer = here.join();
    for (const auto& each : here.all) BOOST_TEST((!answer.given || each->ended()));
    BOOST_TEST(!answer.given);
    work_off(here);
    BOOST_TEST(answer.given);
    BOOST_TEST(answer.problem.ok());
  });
}

BOOST_AUTO_TEST_CASE(a_closure_that_is_cancelled_before_it_is_taken_in_ends_at_once_and_is_not_left_running) {  // C-1
  at_every_moment_of_a_burst([](burst& here) {
    here.cancel(here.all.back());
    BOOST_TEST((here.all.back()->state() == closure::readiness::aborted));
    here.run();
    BOOST_TEST(here.heard(1).cancelled.size() == here.heard(1).orders.size());
    const auto& answer = here.join();
    work_off(here);
    here.obey();
    BOOST_TEST(answer.given);
  });
}

BOOST_AUTO_TEST_CASE(an_error_that_is_raised_meanwhile_ends_what_is_not_taken_in_too) {  // C-2
  at_every_moment_of_a_burst([](burst& here) {
    here.queue->error_pending = false;
    const auto failing = here.leave({.limit = 1ns});
    const auto& answer = here.ask_for_join();
    here.advance(1ns);
    here.settle();
    BOOST_REQUIRE(answer.given);
    BOOST_TEST((answer.problem.code() == status_code::deadline_exceeded), answer.problem.render());
    BOOST_TEST((failing->end_status().code() == status_code::deadline_exceeded));
    BOOST_TEST(here.in(closure::readiness::aborted) == here.all.size() - 1);
  });
}

BOOST_AUTO_TEST_CASE(a_coordinator_that_ends_meanwhile_ends_all) {  // C-1
  at_every_moment_of_a_burst([](burst& here) {
    caf::anon_send_exit(here.handle, caf::exit_reason::user_shutdown);
    here.run();
    BOOST_TEST(here.in(closure::readiness::aborted) == here.all.size());
  });
}

// --- results ---

BOOST_FIXTURE_TEST_CASE(all_that_take_one_result_become_ready_bit_by_bit_in_their_order, office_of_two) {
  const auto first = leave({.worker = 0});
  for (int i = 0; i < 20; ++i) leave({.worker = 1}, {{.producer = first}});
  run();
  BOOST_TEST(sent() == 1u);
  end(0, 0);
  run();
  BOOST_TEST(heard(1).orders.size() == 3u);
  for (std::size_t i = 0; i < 20; ++i) {
    BOOST_TEST(!all[i + 1]->ended());
    end(1, i);
    BOOST_TEST(all[i + 1]->ended());
  }
}

// --- the option ---

BOOST_AUTO_TEST_CASE(turns_that_would_look_at_nothing_are_refused) {
  BOOST_CHECK_NO_THROW(coordinator_options{}.check());
  const auto names = [](const char* what) {
    return [what](const invalid_argument_error& wrong) { return contains(wrong.what(), what); };
  };
  BOOST_CHECK_EXCEPTION((coordinator_options{.turn_closures_max = 0}.check()), invalid_argument_error,
                        names("turn_closures_max"));
  BOOST_CHECK_EXCEPTION((coordinator_options{.windows = {.slots = 0}}.check()), invalid_argument_error, names("slots"));
}

// --- bursts over many workers ---------------------------------------------------------------------------------------

namespace {

constexpr int workers = 4;
constexpr int burst = 64;

struct office_of_four : office {
  office_of_four()
      : office({.workers = workers, .windows = {.slots = 16, .window_max = 16}, .turn_closures_max = turn_max}) {
    for (int i = 0; i < workers; ++i) up(i);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(each_worker_gets_its_share_of_a_burst_in_one_message, office_of_four) {
  for (int i = 0; i < burst; ++i) push(make());
  run();
  for (int i = 0; i < workers; ++i) {
    BOOST_TEST(heard(i).orders.size() == static_cast<std::size_t>(burst / workers));
    BOOST_TEST(heard(i).messages == 1);
  }
}

BOOST_FIXTURE_TEST_CASE(what_must_wait_for_others_is_nobodys_share_of_a_burst, office_of_four) {
  const auto first = make();
  push(first);
  for (int i = 1; i < burst / workers; ++i) push(make());
  for (int i = burst / workers; i < burst; ++i) push(make({}, {{.producer = first, .resource = 0, .owner = nullptr}}));
  run();
  for (int i = 0; i < workers; ++i)
    BOOST_TEST(heard(i).orders.size() == static_cast<std::size_t>(burst / workers / workers));
}

BOOST_AUTO_TEST_SUITE_END()
