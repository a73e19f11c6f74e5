#include "support/virtual_system.hpp"

#include <troupe/actors/fibers/notifier.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <random>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(timers_suite)

namespace {

struct timer_state {
  explicit timer_state(caf::event_based_actor* self) { clock.emplace(self); }
  std::optional<timers> clock;
};

using timer_actor = simulated_actor<timer_state>;

struct world : virtual_system {
  /// Entries that CAF's clock holds.
  std::size_t armed() { return clock().schedule().size(); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_timers_of_an_actor, world)

BOOST_AUTO_TEST_CASE(run_in_order_of_time_at_exactly_their_time) {
  const auto start = now();
  std::string order;
  std::vector<duration> times;
  timer_actor actor{*this};
  actor.act([&] {
    for (const auto& [name, delay] : {std::pair{'c', 3s}, std::pair{'a', 1s}, std::pair{'b', 2s}}) {
      actor->clock->after(delay, [&, mark = name] {
        order += mark;
        times.push_back(actor->clock->now() - start);
      });
    }
  });
  advance(10s);
  BOOST_TEST(order == "abc");
  BOOST_TEST((times == std::vector<duration>{1s, 2s, 3s}));
  BOOST_TEST(actor->clock->size() == 0u);
}

BOOST_AUTO_TEST_CASE(run_in_order_of_arming_when_they_are_due_together) {
  std::string order;
  timer_actor actor{*this};
  actor.act([&] {
    for (const auto mark : std::string{"abcdef"}) actor->clock->after(1s, [&order, mark] { order += mark; });
  });
  advance(1s);
  BOOST_TEST(order == "abcdef");
}

// T-1
BOOST_AUTO_TEST_CASE(never_run_before_their_time_and_never_twice) {
  auto runs = 0;
  timer_actor actor{*this};
  actor.act([&] { actor->clock->after(1s, [&] { ++runs; }); });
  advance(1s - 1ns);
  BOOST_TEST(runs == 0);
  advance(1ns);
  BOOST_TEST(runs == 1);
  advance(1h);
  BOOST_TEST(runs == 1);
}

// T-1
BOOST_AUTO_TEST_CASE(never_run_after_they_were_cancelled) {
  auto runs = 0;
  timer_actor actor{*this};
  timers::ticket ticket;
  actor.act([&] { ticket = actor->clock->after(1s, [&] { ++runs; }); });
  actor.act([&] { actor->clock->cancel(ticket); });
  BOOST_TEST(actor->clock->size() == 0u);
  advance(1h);
  BOOST_TEST(runs == 0);
}

// T-1
BOOST_AUTO_TEST_CASE(can_be_cancelled_by_one_that_is_due_at_the_same_time) {
  auto runs = 0;
  timer_actor actor{*this};
  timers::ticket second;
  actor.act([&] {
    actor->clock->after(1s, [&] { actor->clock->cancel(second); });
    second = actor->clock->after(1s, [&] { ++runs; });
  });
  advance(1h);
  BOOST_TEST(runs == 0);
}

BOOST_AUTO_TEST_CASE(ignore_the_cancellation_of_what_has_run_and_of_nothing) {
  auto runs = 0;
  timer_actor actor{*this};
  timers::ticket first;
  actor.act([&] { first = actor->clock->after(1s, [&] { ++runs; }); });
  advance(1s);
  actor.act([&] {
    actor->clock->after(1s, [&] { ++runs; });
    actor->clock->cancel(first);
    actor->clock->cancel({});
  });
  advance(1s);
  BOOST_TEST(runs == 2);
}

BOOST_AUTO_TEST_CASE(that_are_due_together_in_great_number_let_the_actor_hear_its_messages_between) {
  constexpr auto many = 3 * timers::turn_max;
  auto runs = 0;
  auto runs_when_heard = 0;
  timer_actor actor{*this};
  actor.act([&] {
    actor->clock->after(1s, [&] {
      caf::anon_send(caf::actor_cast<caf::actor>(actor.pointer()), errand{[&] { runs_when_heard = runs; }});
    });
    for (auto i = 0; i < many; ++i) actor->clock->after(1s, [&] { ++runs; });
  });
  advance(1s);
  BOOST_TEST(runs == many);
  BOOST_TEST(runs_when_heard < timers::turn_max);
  BOOST_TEST(actor->clock->size() == 0u);
}

BOOST_AUTO_TEST_CASE(are_armed_anew_for_an_earlier_one) {
  const auto start = now();
  std::vector<duration> times;
  timer_actor actor{*this};
  const auto record = [&] { times.push_back(now() - start); };
  actor.act([&] { actor->clock->after(10s, record); });
  actor.act([&] { actor->clock->after(1s, record); });
  actor.act([&] { actor->clock->after(5s, record); });
  advance(1h);
  BOOST_TEST((times == std::vector<duration>{1s, 5s, 10s}));
}

BOOST_AUTO_TEST_CASE(run_what_is_already_due) {
  auto runs = 0;
  timer_actor actor{*this};
  actor.act([&] {
    actor->clock->at(now() - 1h, [&] { ++runs; });
    actor->clock->after(0s, [&] { ++runs; });
    BOOST_TEST(runs == 0);
  });
  BOOST_TEST(runs == 2);
}

BOOST_AUTO_TEST_CASE(may_add_timers) {
  const auto start = now();
  auto runs = 0;
  timer_actor actor{*this};
  std::function<void()> again = [&] {
    BOOST_TEST((now() - start == ++runs * 100ms));
    if (runs < 1000) actor->clock->after(100ms, again);
  };
  actor.act([&] { actor->clock->after(100ms, again); });
  advance(99'999ms);
  BOOST_TEST(runs == 999);
  advance(1h);
  BOOST_TEST(runs == 1000);
}

BOOST_AUTO_TEST_CASE(arm_one_entry_of_the_clock_whatever_their_number) {
  const auto before = armed();
  timer_actor actor{*this};
  actor.act([&] {
    for (auto i = 1; i <= 1000; ++i) actor->clock->after(i * 1s, [] {});
  });
  BOOST_TEST(actor->clock->size() == 1000u);
  BOOST_TEST(armed() == before + 1);
  advance(500s);
  BOOST_TEST(actor->clock->size() == 500u);
  BOOST_TEST(armed() == before + 1);
}

// CAF's clock forgets no entry before its time.
BOOST_AUTO_TEST_CASE(hold_few_entries_of_the_clock_while_near_ones_pass_before_a_far_one) {
  const auto before = armed();
  auto runs = 0;
  timer_actor actor{*this};
  actor.act([&] { actor->clock->after(24h, [&] { ++runs; }); });
  for (auto i = 0; i < 1000; ++i) {
    actor.act([&] { actor->clock->after(100ms, [&] { ++runs; }); });
    BOOST_TEST_REQUIRE(armed() <= before + 2);
    advance(100ms);
  }
  BOOST_TEST(runs == 1000);
  BOOST_TEST(armed() == before + 1);
  advance(24h);
  BOOST_TEST(runs == 1001);
  BOOST_TEST(armed() == before);
}

BOOST_AUTO_TEST_CASE(may_lie_beyond_the_end_of_the_clock) {
  auto runs = 0;
  timer_actor actor{*this};
  timers::ticket last;
  actor.act([&] {
    last = actor->clock->after(duration::max(), [&] { runs += 100; });
    actor->clock->after(1s, [&] { ++runs; });
  });
  advance(24h);
  BOOST_TEST(runs == 1);
  actor.act([&] { actor->clock->cancel(last); });
  BOOST_TEST(actor->clock->size() == 0u);
}

// T-1
BOOST_AUTO_TEST_CASE(keep_their_promise_in_any_order_of_arming_and_cancelling) {
  struct timer {
    timers::ticket ticket;
    time_point due;
    int runs = 0;
    bool cancelled = false;
  };
  std::vector<timer> all(2000);
  std::mt19937_64 random{11};
  timer_actor actor{*this};
  for (std::size_t i = 0; i < all.size(); ++i) {
    actor.act([&, i] {
      auto& armed_now = all[i];
      armed_now.due = now() + std::chrono::milliseconds{random() % 1000};
      armed_now.ticket = actor->clock->at(armed_now.due, [&] {
        ++armed_now.runs;
        BOOST_TEST((now() == armed_now.due));
      });
      auto& other = all[random() % all.size()];
      if (other.ticket.number == 0 || other.runs > 0) return;
      actor->clock->cancel(other.ticket);
      other.cancelled = true;
    });
    if (random() % 3 == 0) advance(std::chrono::milliseconds{random() % 20});
  }
  advance(1s);
  for (const auto& one : all) BOOST_TEST(one.runs == (one.cancelled ? 0 : 1));
}

BOOST_AUTO_TEST_CASE(do_nothing_after_the_end_of_their_actor) {
  auto runs = 0;
  timer_actor actor{*this};
  actor.act([&] {
    actor->clock->after(1s, [&] { ++runs; });
    actor->clock->after(2s, [&] { ++runs; });
  });
  actor.end();
  advance(1h);
  BOOST_TEST(runs == 0);
}

BOOST_AUTO_TEST_CASE(do_nothing_after_their_own_end) {
  auto runs = 0;
  timer_actor actor{*this};
  actor.act([&] {
    actor->clock->after(1s, [&] { ++runs; });
    actor->clock.reset();
  });
  advance(1h);
  BOOST_TEST(runs == 0);
}

BOOST_AUTO_TEST_CASE(may_be_ended_by_one_of_them) {
  auto runs = 0;
  timer_actor actor{*this};
  actor.act([&] {
    actor->clock->after(1s, [&] { ++runs; });
    actor->clock->after(1s, [&] { actor->clock.reset(); });
    actor->clock->after(1s, [&] { ++runs; });
    actor->clock->after(2s, [&] { ++runs; });
  });
  advance(1h);
  BOOST_TEST(runs == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_notifier, world)

BOOST_AUTO_TEST_CASE(runs_its_work_once_in_the_actor_for_a_call_from_any_thread) {
  auto runs = 0;
  std::thread::id ran_on;
  timer_actor actor{*this};
  std::function<void()> notify;
  actor.act([&] {
    notify = make_notifier(actor.pointer(), [&] {
      ++runs;
      ran_on = std::this_thread::get_id();
    });
  });
  std::thread{notify}.join();
  BOOST_TEST(runs == 0);
  run();
  BOOST_TEST(runs == 1);
  BOOST_TEST((ran_on == std::this_thread::get_id()));
  notify();
  run();
  BOOST_TEST(runs == 1);
}

BOOST_AUTO_TEST_CASE(does_nothing_after_the_end_of_its_actor) {
  auto runs = 0;
  timer_actor actor{*this};
  std::function<void()> notify;
  actor.act([&] { notify = make_notifier(actor.pointer(), [&] { ++runs; }); });
  actor.end();
  notify();
  run();
  BOOST_TEST(runs == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
