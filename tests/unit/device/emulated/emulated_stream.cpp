// The order of an emulated device's work, and its errors.
#include <troupe/device/base/error.hpp>
#include <troupe/device/emulated/internal/emulated_stream.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <functional>
#include <future>
#include <numeric>
#include <vector>

namespace troupe::emulation {

BOOST_AUTO_TEST_SUITE(emulated_stream_suite)

namespace {

using namespace std::chrono_literals;

constexpr stream_options late{.delay_max = 200us, .seed = 7};

/// Tests that reach it have found a hang.
time_point soon() { return std::chrono::steady_clock::now() + 1min; }

void enqueue(stream& work, std::function<void()> piece) { BOOST_REQUIRE(work.enqueue(std::move(piece), soon())); }
void synchronize(stream& work) { BOOST_REQUIRE(work.synchronize(soon())); }

}  // namespace

BOOST_AUTO_TEST_CASE(work_is_done_in_the_order_of_the_calls) {
  stream work{late};
  std::vector<int> done;
  for (auto i = 0; i < 100; ++i) enqueue(work, [&done, i] { done.push_back(i); });
  synchronize(work);
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  BOOST_TEST(done == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_call_returns_before_the_work_is_done) {
  stream work{{}};
  std::promise<void> go_on;
  std::atomic<bool> is_done = false;
  enqueue(work, [&] {
    go_on.get_future().wait();
    is_done = true;
  });
  BOOST_TEST(!is_done);
  go_on.set_value();
  synchronize(work);
  BOOST_TEST(is_done);
}

BOOST_AUTO_TEST_CASE(a_stream_waits_for_a_point_of_another_one_and_no_longer) {
  stream first{late};
  stream second{{}};
  std::promise<void> go_on;
  std::atomic<int> value = 0;
  enqueue(first, [&] { value = 1; });
  const auto point = first.record();
  enqueue(first, [wait = go_on.get_future().share()] { wait.wait(); });
  second.wait_for(point);
  auto seen = 0;
  enqueue(second, [&] { seen = value; });
  synchronize(second);  // the first one's last piece of work has not ended
  BOOST_TEST(seen == 1);
  go_on.set_value();
  synchronize(first);
}

BOOST_AUTO_TEST_CASE(an_error_is_thrown_by_who_waits_next_once_and_the_work_behind_it_is_done) {
  stream work{{}};
  auto done = false;
  enqueue(work, [] { throw invalid_argument_error{"no such thing"}; });
  enqueue(work, [] { throw invalid_argument_error{"another one"}; });
  enqueue(work, [&] { done = true; });
  BOOST_CHECK_EXCEPTION(synchronize(work), invalid_argument_error,
                        [](const error& e) { return e.message() == "no such thing"; });
  BOOST_TEST(done);
  BOOST_CHECK_NO_THROW(synchronize(work));
}

BOOST_AUTO_TEST_CASE(who_queues_more_than_fits_waits_until_some_of_it_is_done) {
  stream work{{}};
  std::promise<void> go_on;
  enqueue(work, [wait = go_on.get_future().share()] { wait.wait(); });
  std::atomic<std::size_t> queued = 0;
  std::atomic<std::size_t> done = 0;
  constexpr auto count = 2 * stream::queued_max;
  std::jthread queueing{[&] {
    for (auto i = std::size_t{0}; i < count; ++i) {
      if (work.enqueue([&] { ++done; }, soon())) ++queued;
    }
  }};
  while (queued < stream::queued_max) std::this_thread::yield();
  BOOST_TEST(queued <= stream::queued_max + 1);
  BOOST_TEST(done == 0u);
  go_on.set_value();
  queueing.join();
  synchronize(work);
  BOOST_TEST(done == count);
}

BOOST_AUTO_TEST_CASE(work_that_hangs_is_waited_for_until_the_deadline_and_so_is_room_behind_it) {
  stream work{{}};
  std::promise<void> go_on;
  enqueue(work, [wait = go_on.get_future().share()] { wait.wait(); });
  const auto shortly = [] { return std::chrono::steady_clock::now() + 5ms; };
  BOOST_TEST(!work.synchronize(shortly()));
  for (auto room = stream::queued_max - 1; room > 0; --room) enqueue(work, [] {});
  BOOST_TEST(!work.enqueue([] {}, shortly()));
  auto freed = false;
  work.enqueue_in_any_case([&] { freed = true; });
  go_on.set_value();
  synchronize(work);
  BOOST_TEST(freed);
}

BOOST_AUTO_TEST_CASE(memory_that_is_withdrawn_from_work_is_not_used_any_more) {
  host_memory_claim claim;
  auto used = 0;
  claim.use([&] { ++used; });
  claim.withdraw();
  claim.use([&] { ++used; });
  BOOST_TEST(used == 1);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_stream_waits_for_its_work) {
  auto done = 0;
  {
    stream work{late};
    for (auto i = 0; i < 20; ++i) enqueue(work, [&] { ++done; });
  }
  BOOST_TEST(done == 20);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::emulation
