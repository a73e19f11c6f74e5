// Whoever waits for a replica that will not come finds out at once; L-1 of collective_ledger.hpp.
#include <troupe/actors/replicas/internal/collective_ledger.hpp>
#include <troupe/device/base/error.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <string>
#include <thread>

namespace troupe {

BOOST_AUTO_TEST_SUITE(collective_ledger_suite)

namespace {

/// What the call throws, or nothing.
template <class Call>
std::string complaint(Call call) {
  try {
    call();
    return {};
  } catch (const failed_precondition_error& thrown) {
    return thrown.message();
  }
}

BOOST_AUTO_TEST_CASE(replicas_that_call_the_same_collectives_are_fine_in_any_order_of_time) {
  collective_ledger ledger{3};
  const auto all_enter = [&](std::initializer_list<int> replicas) {
    for (const auto replica : replicas) BOOST_TEST(complaint([&] { ledger.enter(replica); }).empty());
  };
  const auto all_park = [&](std::initializer_list<int> replicas, const char* where) {
    for (const auto replica : replicas) BOOST_TEST(complaint([&] { ledger.park(replica, where); }).empty());
  };
  all_enter({0, 0, 1, 1, 2, 2});
  all_park({2, 0, 1}, "waits in merge_call");
  ledger.unpark_all();
  all_enter({1, 0, 2});
  all_park({0, 1, 2}, "has returned");
  // It has counted all of it: who goes on alone is in the fourth.
  const auto text = complaint([&] { ledger.enter(1); });
  BOOST_TEST(text.starts_with("replica 1 is in its collective number 4, but replica"), text);
}

BOOST_AUTO_TEST_CASE(who_enters_a_collective_that_a_parked_replica_has_not_called_is_told) {
  collective_ledger ledger{3};
  for (const auto replica : {0, 1, 2}) ledger.enter(replica);
  ledger.park(1, "has returned");
  const auto text = complaint([&] { ledger.enter(2); });
  BOOST_TEST(text.starts_with("replica 2 is in its collective number 2, but replica 1 has returned"), text);
}

BOOST_AUTO_TEST_CASE(who_parks_before_a_collective_that_another_has_entered_is_told) {
  collective_ledger ledger{2};
  ledger.enter(0);
  const auto text = complaint([&] { ledger.park(1, "waits in merge_call"); });
  BOOST_TEST(text.starts_with("replica 0 is in its collective number 1, but replica 1 waits in merge_call"), text);
}

BOOST_AUTO_TEST_CASE(after_a_merge_the_first_replica_may_be_ahead_of_those_that_have_not_heard_of_it) {
  collective_ledger ledger{2};
  for (const auto replica : {0, 1}) ledger.park(replica, "waits in merge_call");
  ledger.unpark_all();
  BOOST_TEST(complaint([&] { ledger.enter(0); }).empty());
  BOOST_TEST(complaint([&] { ledger.enter(1); }).empty());
}

BOOST_AUTO_TEST_CASE(of_two_replicas_that_miss_each_other_one_at_least_is_told) {  // L-1
  for (auto round = 0; round < 2000; ++round) {
    collective_ledger ledger{2};
    std::atomic<int> ready = 0;
    std::atomic<int> told = 0;
    const auto at_once = [&](auto call) {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      if (!complaint(call).empty()) ++told;
    };
    std::jthread other{[&] { at_once([&] { ledger.park(1, "has returned"); }); }};
    at_once([&] { ledger.enter(0); });
    other.join();
    BOOST_REQUIRE(told >= 1);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
