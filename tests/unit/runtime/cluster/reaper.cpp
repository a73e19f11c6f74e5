// Objects that end elsewhere than where they were dropped.
#include <troupe/runtime/cluster/reaper.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>

namespace troupe {

BOOST_AUTO_TEST_SUITE(reaper_suite)

namespace {

using namespace std::chrono_literals;

constexpr auto patience = 20s;

/// Says where it ended, and ends when it may.
struct slow_end {
  slow_end(std::latch& until, std::atomic<std::thread::id>& where) : until_(until), where_(where) {}
  ~slow_end() {
    until_.wait();
    where_ = std::this_thread::get_id();
  }
  slow_end(const slow_end&) = delete;

  std::latch& until_;
  std::atomic<std::thread::id>& where_;
};

BOOST_AUTO_TEST_CASE(what_it_takes_ends_on_another_thread_while_the_giver_goes_on) {
  std::latch may_end{1};
  std::atomic<std::thread::id> where;
  reaper ends;
  ends.take(std::make_shared<slow_end>(may_end, where));
  BOOST_TEST(ends.open() == 1);
  BOOST_TEST(!ends.wait_until_idle(1ms));
  may_end.count_down();
  BOOST_TEST(ends.wait_until_idle(patience));
  BOOST_TEST(ends.open() == 0);
  BOOST_TEST((where.load() != std::thread::id{}));
  BOOST_TEST((where.load() != std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(an_end_waits_for_no_other_one) {
  std::latch may_end{1}, at_once{0};
  std::atomic<std::thread::id> slow, fast;
  reaper ends;
  ends.take(std::make_shared<slow_end>(may_end, slow));
  ends.take(std::make_shared<slow_end>(at_once, fast));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (ends.open() == 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  BOOST_TEST(ends.open() == 1);
  BOOST_TEST((fast.load() != std::thread::id{}));
  BOOST_TEST((slow.load() == std::thread::id{}));
  may_end.count_down();
  BOOST_TEST(ends.wait_until_idle(patience));
}

BOOST_AUTO_TEST_CASE(what_somebody_else_still_holds_goes_on) {
  std::latch at_once{0};
  std::atomic<std::thread::id> where;
  reaper ends;
  auto held = std::make_shared<slow_end>(at_once, where);
  ends.take(held);
  BOOST_TEST(ends.wait_until_idle(patience));
  BOOST_TEST((where.load() == std::thread::id{}));
  held.reset();
  BOOST_TEST((where.load() == std::this_thread::get_id()));
  ends.take(nullptr);
  BOOST_TEST(ends.open() == 0);
}

BOOST_AUTO_TEST_CASE(an_end_may_hand_over_another_one) {
  std::latch at_once{0};
  std::atomic<std::thread::id> where;
  reaper ends;
  struct owner {
    reaper& ends;
    std::shared_ptr<slow_end> owned;
    ~owner() { ends.take(std::move(owned)); }
  };
  ends.take(std::shared_ptr<owner>{new owner{ends, std::make_shared<slow_end>(at_once, where)}});
  BOOST_TEST(ends.wait_until_idle(patience));
  BOOST_TEST((where.load() != std::thread::id{}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
