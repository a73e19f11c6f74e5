// What was lost with several workers runs alone.
#include "office.hpp"

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_suspects_suite)

namespace {

/// Closures that were lost together with one worker, and then with others, until they are suspects.
struct suspicious : office {
  explicit suspicious(int workers = 1) : office({.workers = workers, .windows = {.slots = 8, .window_max = 8}}) {
    up(0);
    for (int i = 0; i < 4; ++i) all.push_back(schedule());
    for (int losses = 0; losses < 3; ++losses) {
      BOOST_REQUIRE(orders_now(0) == 4u);
      lose(0);
    }
  }

  void lose(int worker) {
    down(worker);
    up(worker);
  }
  /// Those of its present session.
  std::size_t orders_now(int worker) {
    return static_cast<std::size_t>(std::count_if(heard(worker).orders.begin(), heard(worker).orders.end(),
                                                  [&](const auto& each) { return each.first == session(worker); }));
  }
  void end_last(int worker) { end(worker, heard(worker).orders.size() - 1); }

  std::vector<std::shared_ptr<closure>> all;
};

}  // namespace

BOOST_AUTO_TEST_CASE(innocent_closures_end_though_they_were_lost_with_the_one_that_ends_workers) {
  suspicious here;
  // The first one ends each worker that it runs on.
  for (int losses = 3; losses < 8; ++losses) {
    BOOST_TEST(here.orders_now(0) == 1u);
    here.lose(0);
  }
  BOOST_REQUIRE(here.all[0]->ended());
  BOOST_TEST((here.all[0]->end_status().code() == status_code::aborted));
  BOOST_TEST(here.all[0]->end_status().message().find("it ran alone at last") != std::string::npos);
  for (std::size_t i = 1; i < 4; ++i) {
    BOOST_TEST(here.orders_now(0) == i);
    here.end_last(0);
    BOOST_TEST(here.all[i]->end_status().ok());
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_suspect_waits_for_a_worker_that_is_not_set_apart) {
  suspicious here{2};
  const auto later = here.schedule();
  BOOST_TEST(here.orders_now(0) == 1u);
  here.up(1);
  BOOST_TEST(here.orders_now(1) == 1u);
  here.end_last(1);
  BOOST_TEST(later->ended());
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(!here.all.back()->ended());
    here.end_last(0);
  }
  here.end_last(0);
  BOOST_TEST(here.all.back()->ended());
  // Now it takes several at once again.
  for (int i = 0; i < 6; ++i) here.schedule();
  BOOST_TEST(here.orders_now(0) > 5u);
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_set_apart_ends_what_it_has_before_it_gets_a_suspect) {
  office here{{.workers = 2, .windows = {.slots = 8, .window_max = 8}, .suspected_after = 1}};
  here.up(0);
  here.up(1);
  for (int i = 0; i < 4; ++i) here.schedule();
  here.down(1);
  BOOST_TEST(here.heard(0).orders.size() == 2u);
  const auto later = here.schedule();
  BOOST_TEST(here.heard(0).orders.size() == 2u);
  here.end(0, 0);
  here.end(0, 1);
  BOOST_TEST(here.heard(0).orders.size() == 3u);
  here.end(0, 2);
  BOOST_TEST(here.heard(0).orders.size() == 4u);
  here.end(0, 3);
  here.end(0, 4);
  BOOST_TEST(later->ended());
}

BOOST_AUTO_TEST_CASE(a_suspect_that_waits_for_other_closures_lets_them_run) {
  suspicious here;
  const auto awaited = here.schedule();
  BOOST_TEST(here.orders_now(0) == 1u);
  here.send(here.session(), {.outcomes = {}, .session_ended = {}, .waiting = 1});
  BOOST_REQUIRE(here.orders_now(0) == 2u);
  here.end_last(0);
  BOOST_TEST(awaited->ended());
  // The next suspect comes when this one has ended.
  BOOST_TEST(here.orders_now(0) == 2u);
  here.send(here.session(), {.outcomes = {{.id = here.heard().orders[here.heard().orders.size() - 2].second}}});
  BOOST_TEST(here.all.front()->ended());
  BOOST_TEST(here.orders_now(0) == 3u);
}

BOOST_AUTO_TEST_CASE(suspects_end_by_cancellation_by_an_error_and_with_the_coordinator) {
  suspicious here;
  here.cancel(here.all[1]);
  BOOST_TEST((here.all[1]->state() == closure::readiness::aborted));
  const auto& answer = here.join();
  here.end(0, here.heard().orders.size() - 1, {status_code::internal, "failed"});
  BOOST_TEST(answer.given);
  for (const auto& each : here.all) BOOST_TEST(each->ended());
  here.schedule();
  here.schedule();
  BOOST_TEST(here.orders_now(0) == 3u);
  for (int losses = 0; losses < 3; ++losses) here.lose(0);
  BOOST_TEST(here.orders_now(0) == 1u);
}

BOOST_AUTO_TEST_CASE(half_of_the_workers_are_set_apart_at_most) {
  suspicious here{4};
  here.up(1);
  here.up(2);
  here.up(3);
  for (int i = 0; i < 20; ++i) here.schedule();
  auto with_many = 0;
  for (int worker = 0; worker < 4; ++worker) with_many += here.orders_now(worker) > 1 ? 1 : 0;
  BOOST_TEST(with_many == 2);
}

BOOST_AUTO_TEST_SUITE_END()
