// What a worker makes of orders whose tensors arrive late.
#include "support/held_transport.hpp"
#include "support/virtual_system.hpp"

#include <troupe/actors/closures/worker.hpp>
#include <troupe/actors/fibers/remaining_time.hpp>
#include <troupe/actors/fibers/sleep.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(worker_suite)

namespace {

/// Numbers of the closures that have begun to run.
std::vector<int> started;

int run_with(int number, const tensor&) {
  started.push_back(number);
  return number;
}

int run_with_resource(int number, const tensor& resource) {
  started.push_back(number);
  return number + static_cast<int>(resource.values<float>().front());
}

int wait_for_cancellation(int number) {
  started.push_back(number);
  const auto never_comes = wait_point::make();
  never_comes->wait_until(never, "a cancellation");
  return number;
}

int tell_time_left(int) { return static_cast<int>(in_milliseconds(remaining_time())); }

int sleep_an_hour(int number) {
  sleep_for(1h);
  return number;
}

template <auto Function, class... Args>
closure_order order(closure_id id, Args... arguments) {
  return {.id = id,
          .function = function_registry::instance().id_of(registered<Function, Args...>()),
          .arguments = value::of(std::tuple<Args...>{std::move(arguments)...})};
}

tensor keep(const tensor& content) { return content; }

closure_order build(resource_id id, const tensor& content) {
  auto result = order<keep, tensor>(0, content);
  result.builds = id;
  return result;
}

closure_order use(closure_id id, resource_id resource) {
  auto result = order<run_with_resource, int, deferred<tensor>>(id, static_cast<int>(id), {.index = 0});
  result.dependencies.push_back({.resource = resource, .content = {}});
  return result;
}

/// A worker, and what its coordinator hears: "value", or why not, by closure.
struct workplace : virtual_system {
  explicit workplace(worker_options options = {}) : options_(std::move(options)) {
    started.clear();
    admit(1);
  }

  void admit(session_id session) {
    last_number = 0;
    scheduler().inline_next_enqueue();
    spawn([this, session](caf::event_based_actor* self) {
      self->request(worker_handle, caf::infinite, admit_atom_v, coordinator, wire<session_terms>{{session, 0, slots}})
          .then([this](worker_desk_actor& its) { desk = std::move(its); });
    });
    run();
  }
  /// What the worker gives back of these orders and what it keeps, or why it does not.
  std::string recall(session_id session, order_recall wanted) {
    std::string answer = "none";
    scheduler().inline_next_enqueue();
    spawn([&](caf::event_based_actor* self) {
      self->request(desk, caf::infinite, recall_atom_v, session, wire<order_recall>{wanted})
          .then(
              [&](wire<recalled_orders>& told) {
                answer = fmt::format("{}", fmt::join(told->given, " ")) +
                         (told->kept.empty() ? "" : fmt::format(", but {}", fmt::join(told->kept, " ")));
              },
              [&](const caf::error& failed) { answer = status_of(failed).message(); });
    });
    scheduler().run();
    return answer;
  }
  /// Closures have the next numbers.
  void send_orders_of(session_id session, std::vector<closure_order> orders) {
    const auto first = orders.front().builds == 0 ? last_number + 1 : 0;
    for (auto& each : orders)
      if (each.builds == 0) each.number = ++last_number;
    caf::anon_send(worker_handle, run_atom_v, session, first, first == 0 ? 0 : last_number,
                   from_elsewhere(run_orders{.orders = std::move(orders)}));
  }
  void run_orders_of(session_id session, std::vector<closure_order> orders) {
    send_orders_of(session, std::move(orders));
    run();
  }
  /// The message with these numbers comes again, or is made up.
  void repeat(session_id session, std::uint64_t first, std::vector<closure_order> orders) {
    auto next = first;
    for (auto& each : orders) each.number = next++;
    caf::anon_send(worker_handle, run_atom_v, session, first, next - 1,
                   from_elsewhere(run_orders{.orders = std::move(orders)}));
    run();
  }
  void cancel(session_id session, std::vector<closure_id> closures, std::vector<resource_id> released = {}) {
    caf::anon_send(worker_handle, cancel_atom_v, session,
                   from_elsewhere(cancel_orders{.closures = std::move(closures),
                                                .released = std::move(released),
                                                .why = {status_code::cancelled, "not wanted"}}));
    run();
  }
  void complete(std::size_t fetch) {
    transport->complete(fetch);
    run();
  }
  void check_started(const std::vector<int>& expected) const {
    BOOST_TEST(started == expected, boost::test_tools::per_element());
  }

  worker_options options_;
  installed_transport transport;
  std::map<closure_id, std::string> outcomes;
  int outcomes_heard = 0;
  std::map<session_id, std::string> ended_sessions;
  std::uint64_t heard_recall = 0;
  outcome_sink coordinator = spawn([this]() -> outcome_sink::behavior_type {
    return {[this](outcome_atom, session_id session, std::uint64_t heard, wire<run_outcomes>& message) {
              heard_recall = std::max(heard_recall, heard);
              if (!message->session_ended.ok()) ended_sessions[session] = message->session_ended.message();
              outcomes_heard += static_cast<int>(message->outcomes.size());
              for (const auto& each : message->outcomes)
                outcomes[each.id] = each.ended.ok() ? std::to_string(*each.result.get<int>()) : each.ended.message();
            },
            [](await_atom, session_id, closure_id, const std::shared_ptr<const closure>&) {}};
  });
  worker_actor worker_handle = spawn(worker, dialer_actor{}, options_);
  worker_desk_actor desk;
  /// Of later admissions.
  std::uint32_t slots = 8;
  std::uint64_t last_number = 0;
};

struct narrow_workplace : workplace {
  narrow_workplace() : workplace(worker_options{.orders_max = 3}) {
    slots = 1;
    admit(2);
  }
};

int waits_to_be_built(int number) {
  started.push_back(number);
  sleep_for(1s);
  return number;
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

// C-4
BOOST_FIXTURE_TEST_CASE(a_closure_finds_the_resource_that_was_ordered_before_it_however_late_it_arrives, workplace) {
  run_orders_of(1, {build(7, large_tensor(5.0f))});
  run_orders_of(1, {use(1, 7)});
  check_started({});
  complete(0);
  BOOST_TEST(outcomes[1] == "6");
}

BOOST_FIXTURE_TEST_CASE(a_closure_that_was_cancelled_before_its_tensors_came_is_never_run, workplace) {
  run_orders_of(1, {order<run_with>(1, 1, large_tensor())});
  cancel(1, {1});
  // The coordinator need not wait for the tensors to know.
  BOOST_TEST(outcomes[1] == "not wanted");
  complete(0);
  check_started({});
}

BOOST_FIXTURE_TEST_CASE(a_cancellation_of_what_has_ended_says_nothing_about_what_comes_later, workplace) {
  run_orders_of(1, {order<run_with>(1, 1, large_tensor())});
  run_orders_of(1, {order<run_with>(2, 2, large_tensor())});
  complete(0);
  cancel(1, {1});
  complete(1);
  BOOST_TEST(outcomes[2] == "2");
  check_started({1, 2});
}

BOOST_FIXTURE_TEST_CASE(what_runs_is_cancelled_at_once_although_others_are_still_under_way, workplace) {
  run_orders_of(1, {order<wait_for_cancellation>(1, 1)});
  run_orders_of(1, {order<run_with>(2, 2, large_tensor())});
  cancel(1, {1, 2});
  BOOST_TEST(says(outcomes[1], "not wanted"));
  complete(0);
  check_started({1});
  BOOST_TEST(outcomes[2] == "not wanted");
}

BOOST_FIXTURE_TEST_CASE(a_resource_that_was_released_before_it_came_is_not_kept, workplace) {
  run_orders_of(1, {build(7, large_tensor())});
  cancel(1, {}, {7});
  complete(0);
  run_orders_of(1, {use(1, 7)});
  BOOST_TEST(says(outcomes[1], "it was released before this closure ran"));
}

// F-5
BOOST_FIXTURE_TEST_CASE(a_closure_knows_how_much_time_it_has_left_and_waits_no_longer, workplace) {
  auto late = order<tell_time_left>(1, 1);
  late.deadline_ns = duration{10s}.count();
  auto waits = order<sleep_an_hour>(2, 2);
  waits.deadline_ns = duration{2s}.count();
  run_orders_of(1, {order<sleep_an_hour>(3, 3), late, waits});
  BOOST_TEST(outcomes[1] == "10000");
  advance(2s - 1ns);
  BOOST_TEST(!outcomes.contains(2));
  advance(1ns);
  BOOST_TEST(says(outcomes[2], "is over; it waited for the end of sleep_for"), outcomes[2]);
  advance(59min);
  BOOST_TEST(!outcomes.contains(3));
}

BOOST_FIXTURE_TEST_CASE(the_time_that_an_order_waits_for_its_place_counts, workplace) {
  slots = 1;
  admit(2);
  auto waits = order<tell_time_left>(2, 2);
  waits.deadline_ns = duration{10s}.count();
  run_orders_of(2, {order<wait_for_cancellation>(1, 1), waits});
  advance(4s);
  cancel(2, {1});
  BOOST_TEST(outcomes[2] == "6000");
}

BOOST_FIXTURE_TEST_CASE(orders_run_in_the_order_of_their_sending, workplace) {
  run_orders_of(1, {order<run_with>(1, 1, large_tensor())});
  run_orders_of(1, {order<run_with>(2, 2, tensor::of({1.0f}))});
  run_orders_of(1, {order<run_with>(3, 3, large_tensor())});
  complete(1);
  check_started({});
  complete(0);
  check_started({1, 2, 3});
}

// M-2
BOOST_FIXTURE_TEST_CASE(late_orders_of_an_earlier_session_are_not_run_in_the_next, workplace) {
  run_orders_of(1, {order<run_with>(1, 1, large_tensor())});
  admit(2);
  run_orders_of(2, {order<run_with>(2, 2, tensor::of({1.0f}))});
  check_started({2});
  complete(0);
  run_orders_of(1, {order<run_with>(3, 3, large_tensor())});
  BOOST_TEST(transport->fetches.size() == 1u);  // refused before its tensors are fetched
  check_started({2});
}

// M-2
BOOST_FIXTURE_TEST_CASE(orders_of_an_earlier_session_that_are_lost_do_not_end_the_next, workplace) {
  run_orders_of(1, {order<run_with>(1, 1, large_tensor())});
  admit(2);
  transport->fail(0, {status_code::unavailable, "the sender is gone"});
  run();
  BOOST_TEST(ended_sessions.empty());
  run_orders_of(2, {order<run_with>(2, 2, tensor::of({1.0f}))});
  BOOST_TEST(outcomes[2] == "2");
}

BOOST_FIXTURE_TEST_CASE(orders_that_are_lost_end_the_session_and_what_comes_after_them_is_not_run, workplace) {
  run_orders_of(1, {order<run_with>(1, 1, large_tensor())});
  run_orders_of(1, {order<run_with>(2, 2, tensor::of({1.0f}))});
  transport->fail(0, {status_code::unavailable, "the sender is gone"});
  run();
  BOOST_TEST(says(ended_sessions[1], "orders that did not arrive"));
  check_started({});
}

// C-3
BOOST_FIXTURE_TEST_CASE(what_was_recalled_before_it_began_is_never_run_and_what_was_under_way_is, workplace) {
  slots = 1;
  admit(2);
  run_orders_of(2,
                {order<wait_for_cancellation>(1, 1), order<run_with>(2, 2, tensor{}), order<run_with>(3, 3, tensor{})});
  run_orders_of(2, {order<run_with>(4, 4, large_tensor()), order<run_with>(5, 5, tensor{})});
  BOOST_TEST(recall(2, {.serial = 1, .numbers = {1, 2, 3, 4}}) == "2 3, but 4");
  complete(0);
  BOOST_TEST(recall(1, {.serial = 2, .numbers = {5}}) == "the session of this recall is over");
  cancel(2, {1});
  check_started({1, 4, 5});
  BOOST_TEST(outcomes.contains(4));
  BOOST_TEST(outcomes.contains(5));
  // The worker says that it has heard.
  BOOST_TEST(heard_recall == 1u);
}

// What was recorded can be said again.
BOOST_FIXTURE_TEST_CASE(an_admission_that_comes_again_changes_nothing, workplace) {
  admit(2);
  run_orders_of(2, {order<wait_for_cancellation>(1, 1)});
  admit(2);
  admit(1);
  BOOST_TEST(outcomes_heard == 0);
  last_number = 1;
  run_orders_of(2, {order<run_with>(2, 2, tensor{})});
  BOOST_TEST(outcomes[2] == "2");
  cancel(2, {1});
  BOOST_TEST(says(outcomes[1], "not wanted"), outcomes[1]);
  BOOST_TEST(ended_sessions.empty());
}

// Who lost the worker without a word would wait for it for ever.
BOOST_FIXTURE_TEST_CASE(a_coordinator_whose_worker_is_admitted_by_another_hears_so, workplace) {
  const auto first = coordinator;
  run_orders_of(1, {order<wait_for_cancellation>(1, 1)});
  coordinator = spawn([]() -> outcome_sink::behavior_type {
    return {[](outcome_atom, session_id, std::uint64_t, wire<run_outcomes>&) {},
            [](await_atom, session_id, closure_id, const std::shared_ptr<const closure>&) {}};
  });
  admit(7);
  BOOST_TEST(says(ended_sessions[1], "another coordinator has admitted the worker"), ended_sessions[1]);
}

BOOST_FIXTURE_TEST_CASE(orders_of_a_session_that_is_over_are_answered_once, workplace) {
  admit(2);
  for (auto i = 0; i < 3; ++i)
    caf::send_as(coordinator, worker_handle, run_atom_v, session_id{1}, std::uint64_t{1}, std::uint64_t{1},
                 from_elsewhere(run_orders{.orders = {order<run_with>(1, 1, tensor{})}}));
  run();
  check_started({});
  BOOST_TEST(ended_sessions.size() == 1u);
  BOOST_TEST(ended_sessions.contains(1));
}

// WT-4
BOOST_FIXTURE_TEST_CASE(an_order_that_comes_again_is_ignored_whatever_has_become_of_the_first, workplace) {
  slots = 1;
  admit(2);
  const auto runs = [] { return std::vector{order<wait_for_cancellation>(1, 1)}; };
  const auto waits = [] { return std::vector{order<run_with>(2, 2, tensor{}), order<run_with>(3, 3, tensor{})}; };
  run_orders_of(2, runs());
  run_orders_of(2, waits());
  repeat(2, 1, runs());
  repeat(2, 2, waits());
  check_started({1});
  cancel(2, {1});
  check_started({1, 2, 3});
  repeat(2, 1, runs());
  repeat(2, 2, waits());
  check_started({1, 2, 3});
  BOOST_TEST(outcomes_heard == 3);
  BOOST_TEST(ended_sessions.empty());
  run_orders_of(2, {order<run_with>(4, 4, tensor{})});
  BOOST_TEST(outcomes[4] == "4");
}

// WT-4
BOOST_FIXTURE_TEST_CASE(orders_under_way_that_come_again_are_not_fetched_again, workplace) {
  run_orders_of(1, {order<run_with>(1, 1, large_tensor())});
  repeat(1, 1, {order<run_with>(1, 1, large_tensor())});
  BOOST_TEST(transport->fetches.size() == 1u);
  complete(0);
  check_started({1});
  BOOST_TEST(outcomes[1] == "1");
}

BOOST_FIXTURE_TEST_CASE(an_order_with_the_id_of_a_closure_that_runs_does_not_disturb_it, workplace) {
  run_orders_of(1, {order<sleep_an_hour>(1, 7)});
  run_orders_of(1, {order<run_with>(1, 8, tensor{})});
  BOOST_TEST(outcomes_heard == 0);
  advance(1h);
  BOOST_TEST(outcomes[1] == "7");
  BOOST_TEST(outcomes_heard == 1);
}

BOOST_FIXTURE_TEST_CASE(a_resource_whose_order_comes_again_is_built_once_and_keeps_those_that_wait_for_it, workplace) {
  const auto made = [] {
    auto result = order<waits_to_be_built>(0, 7);
    result.builds = 7;
    return std::vector{result};
  };
  run_orders_of(1, made());
  auto user = order<run_with, int, deferred<tensor>>(1, 1, {.index = 0});
  user.dependencies.push_back({.resource = 7, .content = {}});
  run_orders_of(1, {user});
  run_orders_of(1, made());
  advance(1s);
  run_orders_of(1, made());
  check_started({7});
  BOOST_TEST(outcomes.contains(1));
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_is_sent_more_than_it_takes_gives_its_session_up_and_says_why, narrow_workplace) {
  run_orders_of(2, {order<wait_for_cancellation>(1, 1)});
  run_orders_of(2, {order<run_with>(2, 2, tensor{}), order<run_with>(3, 3, tensor{}), order<run_with>(4, 4, tensor{})});
  BOOST_TEST(ended_sessions.empty());
  run_orders_of(2, {order<run_with>(5, 5, tensor{})});
  BOOST_TEST(says(ended_sessions[2], "worker_options::orders_max"), ended_sessions[2]);
  check_started({1});
  admit(3);
  run_orders_of(3, {order<run_with>(6, 6, tensor{})});
  check_started({1, 6});
}

/// A worker whose closure recalls orders, as a desk does while a worker computes.
struct busy_workplace : workplace {
  busy_workplace() { during = nullptr; }
  ~busy_workplace() { during = nullptr; }

  static inline std::function<void()> during;
  static int recall_after(int number, std::int64_t milliseconds) {
    started.push_back(number);
    if (milliseconds > 0) sleep_for(std::chrono::milliseconds{milliseconds});
    during();
    return number;
  }
  /// What its trays give back while it is in a closure, and before it hears of anything else.
  void give_back_while_it_computes(std::vector<std::uint64_t> numbers, const std::string& expected) {
    during = [this, numbers, expected] { BOOST_TEST(recall(1, {.serial = 1, .numbers = numbers}) == expected); };
  }
};

// WT-1
BOOST_FIXTURE_TEST_CASE(what_a_busy_worker_has_not_heard_of_is_given_back_and_not_even_fetched, busy_workplace) {
  send_orders_of(1, {order<recall_after>(1, 1, std::int64_t{0})});
  send_orders_of(1, {order<run_with>(2, 2, large_tensor())});
  send_orders_of(1, {order<run_with>(3, 3, large_tensor()), order<run_with>(4, 4, large_tensor())});
  give_back_while_it_computes({1, 2, 3}, "2 3");
  run();
  check_started({1});
  BOOST_TEST(transport->fetches.size() == 2u);  // of the message in which one is wanted
  complete(0);
  complete(1);
  check_started({1, 4});
  BOOST_TEST(heard_recall == 1u);
}

BOOST_FIXTURE_TEST_CASE(data_that_has_come_is_given_back_by_a_busy_worker_and_data_that_comes_is_not, busy_workplace) {
  run_orders_of(1, {order<recall_after>(1, 1, std::int64_t{5})});
  for (const auto id : {2, 3, 4}) run_orders_of(1, {order<run_with>(closure_id(id), id, large_tensor())});
  transport->complete(1);
  give_back_while_it_computes({2, 3, 4}, "3, but 2 4");
  advance(5ms);
  complete(0);
  complete(2);
  check_started({1, 2, 4});
}

BOOST_FIXTURE_TEST_CASE(what_was_given_back_may_be_lost_and_what_was_cancelled_is_given_back_at_once, busy_workplace) {
  run_orders_of(1, {order<recall_after>(1, 1, std::int64_t{5})});
  run_orders_of(1, {order<run_with>(2, 2, large_tensor())});
  run_orders_of(1, {order<run_with>(3, 3, large_tensor())});
  during = [this] { BOOST_TEST(recall(1, {.serial = 1, .numbers = {2}, .cancelled = true}) == "2"); };
  advance(5ms);
  transport->fail(0, {status_code::not_found, "nobody keeps it any more"});
  run();
  BOOST_TEST(ended_sessions.empty());
  complete(1);
  check_started({1, 3});
}

BOOST_AUTO_TEST_SUITE_END()
