// Groups over the same devices launch one after the other (D10); internal/launch_order.hpp.
#include <troupe/device/collectives/internal/launch_order.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>

namespace troupe {

BOOST_AUTO_TEST_SUITE(launch_order_suite)

namespace {

using namespace std::chrono_literals;

std::chrono::steady_clock::time_point after(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_group_that_shares_a_device_launches_when_all_ranks_of_the_other_have) {
  launch_order first{{"GPU:0", "GPU:1"}};
  launch_order second{{"GPU:1", "GPU:2"}};
  BOOST_TEST(first.begin(after(1min)));
  BOOST_TEST(!second.begin(after(5ms)));
  first.end();
  BOOST_TEST(!second.begin(after(5ms)));
  BOOST_TEST(first.begin(after(1min)));  // the other rank
  auto waiting = std::async(std::launch::async, [&] { return second.begin(after(1min)); });
  first.end();
  BOOST_TEST(waiting.get());
  BOOST_TEST(!first.begin(after(5ms)));
}

BOOST_AUTO_TEST_CASE(groups_over_different_devices_do_not_wait_for_each_other) {
  launch_order first{{"GPU:0", "GPU:1"}};
  launch_order second{{"GPU:2", "GPU:3"}};
  BOOST_TEST(first.begin(after(1min)));
  BOOST_TEST(second.begin(after(1min)));
}

BOOST_AUTO_TEST_CASE(a_group_that_is_closed_or_gone_gives_its_turn_back_and_begins_nothing) {
  launch_order second{{"GPU:0"}};
  {
    launch_order first{{"GPU:0", "GPU:1"}};
    BOOST_TEST(first.begin(after(1min)));
    first.close();
    BOOST_TEST(!first.begin(after(1min)));
    BOOST_TEST(second.begin(after(1min)));
    second.end();
  }
  {
    launch_order another{{"GPU:0", "GPU:1"}};
    BOOST_TEST(another.begin(after(1min)));
  }
  BOOST_TEST(second.begin(after(1min)));
}

BOOST_AUTO_TEST_CASE(a_turn_that_is_free_can_be_taken_and_given_back_without_waiting) {
  launch_order first{{"GPU:0", "GPU:1"}};
  launch_order second{{"GPU:1"}};
  BOOST_TEST(first.try_begin());
  BOOST_TEST(first.try_begin());  // the other rank
  BOOST_TEST(!second.try_begin());
  second.withdraw();  // has none
  BOOST_TEST(!second.try_begin());
  first.withdraw();
  BOOST_TEST(second.try_begin());
  BOOST_TEST(!first.try_begin());
  second.end();
  first.close();
  BOOST_TEST(!first.try_begin());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
