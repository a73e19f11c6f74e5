// Look-ups of host names by a name service that answers when the test wants it to.
#include <troupe/actors/fibers/completion.hpp>
#include <troupe/runtime/sockets/name_service.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(name_service_suite)

namespace {

using namespace std::chrono_literals;

constexpr auto endless = loop_clock::time_point::max();
constexpr auto over = loop_clock::time_point::min();

/// Every host has one address.
class slow_resolver {
 public:
  name_service::resolver function() {
    return [own = own_](const std::string& host) { return own->answer(host); };
  }
  void answer() {
    const std::scoped_lock lock{own_->mutex};
    own_->answers = true;
    own_->changed.notify_all();
  }
  /// Waits until so many look-ups are under way.
  bool has_open(std::size_t count) {
    std::unique_lock lock{own_->mutex};
    return own_->changed.wait_for(lock, 20s, [&] { return own_->open == count; });
  }
  int asked(const std::string& host) {
    const std::scoped_lock lock{own_->mutex};
    return own_->asked[host];
  }
  std::size_t open_at_most() {
    const std::scoped_lock lock{own_->mutex};
    return own_->open_at_most;
  }
  std::size_t threads() {
    const std::scoped_lock lock{own_->mutex};
    return own_->threads.size();
  }

 private:
  struct shared {
    std::vector<socket_address> answer(const std::string& host) {
      std::unique_lock lock{mutex};
      ++asked[host];
      open_at_most = std::max(open_at_most, ++open);
      threads.insert(std::this_thread::get_id());
      changed.notify_all();
      changed.wait(lock, [this] { return answers; });
      --open;
      changed.notify_all();
      if (host == "unknown") throw unavailable_error{"nobody knows it"};
      return {socket_address{}};
    }

    std::mutex mutex;
    std::condition_variable changed;
    bool answers = false;
    std::size_t open = 0;
    std::size_t open_at_most = 0;
    std::map<std::string, int> asked;
    std::set<std::thread::id> threads;
  };
  std::shared_ptr<shared> own_ = std::make_shared<shared>();
};

/// A caller and what it was told.
struct call {
  call(name_service& of, const std::string& host, loop_clock::time_point deadline = endless) {
    of.look_up(host, deadline, [shared = shared](const std::vector<socket_address>& addresses, const status& why) {
      shared->addresses = addresses.size();
      shared->why = why;
      shared->ended.set();
    });
  }
  const status& outcome() const {
    BOOST_TEST_REQUIRE(shared->ended.block_for(20s));
    return shared->why;
  }

  struct result {
    completion ended;
    std::size_t addresses = 0;
    status why;
  };
  std::shared_ptr<result> shared = std::make_shared<result>();
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_name_is_looked_up_once_at_a_time_and_later_callers_join) {
  slow_resolver resolver;
  name_service names{resolver.function()};
  std::vector<call> calls;
  for (auto i = 0; i < 100; ++i) calls.emplace_back(names, "absent.example");
  BOOST_TEST(resolver.has_open(1));
  for (auto i = 0; i < 100; ++i) calls.emplace_back(names, "absent.example");
  resolver.answer();
  for (const auto& each : calls) {
    BOOST_TEST(each.outcome().ok());
    BOOST_TEST(each.shared->addresses == 1u);
  }
  BOOST_TEST(resolver.asked("absent.example") == 1);
  BOOST_TEST(call(names, "absent.example").outcome().ok());
  BOOST_TEST(resolver.asked("absent.example") == 2);
}

BOOST_AUTO_TEST_CASE(any_number_of_names_has_eight_threads) {
  slow_resolver resolver;
  name_service names{resolver.function()};
  std::vector<call> calls;
  for (auto attempt = 0; attempt < 3; ++attempt)
    for (auto i = 0; i < 200; ++i) calls.emplace_back(names, std::to_string(i) + ".example");
  BOOST_TEST(resolver.has_open(8));
  resolver.answer();
  for (const auto& each : calls) BOOST_TEST(each.outcome().ok());
  BOOST_TEST(resolver.open_at_most() == 8u);
  BOOST_TEST(resolver.threads() == 8u);
  for (auto i = 0; i < 200; ++i) BOOST_TEST(resolver.asked(std::to_string(i) + ".example") == 1);
}

BOOST_AUTO_TEST_CASE(a_result_that_comes_after_its_callers_limit_is_kept_for_the_next_attempt) {  // NS-1
  slow_resolver resolver;
  name_service names{resolver.function(), {.threads_max = 1}};
  const call first{names, "slow.example", over};
  const call joined{names, "slow.example", over};
  const call after{names, "other.example"};
  resolver.answer();
  BOOST_TEST(after.outcome().ok());  // so that the one before has ended
  BOOST_TEST(!first.shared->ended.is_set());
  BOOST_TEST(!joined.shared->ended.is_set());
  const call next{names, "slow.example"};
  BOOST_TEST(next.shared->ended.is_set());
  BOOST_TEST(next.outcome().ok());
  BOOST_TEST(resolver.asked("slow.example") == 1);
  BOOST_TEST(call(names, "slow.example").outcome().ok());
  BOOST_TEST(resolver.asked("slow.example") == 2);
}

BOOST_AUTO_TEST_CASE(a_result_is_not_kept_for_long) {
  slow_resolver resolver;
  resolver.answer();
  name_service names{resolver.function(), {.threads_max = 1, .kept_for = 0s}};
  const call late{names, "slow.example", over};
  BOOST_TEST(call(names, "other.example").outcome().ok());
  BOOST_TEST(call(names, "slow.example").outcome().ok());
  BOOST_TEST(resolver.asked("slow.example") == 2);
}

BOOST_AUTO_TEST_CASE(names_over_the_limit_get_an_error_that_says_so_and_names_that_wait_keep_their_places) {
  slow_resolver resolver;
  name_service names{resolver.function(), {.threads_max = 1, .names_max = 3}};
  std::vector<call> waiting;
  for (const auto* host : {"a", "b", "c"}) waiting.emplace_back(names, host);
  const auto refused = call{names, "d"}.outcome();
  BOOST_TEST(to_string(refused.code()) == "resource_exhausted");
  for (const auto* part : {"\"d\"", "3 other names", "name service", "addresses in numbers"})
    BOOST_TEST(refused.message().find(part) != std::string::npos, refused.message());
  waiting.emplace_back(names, "a");
  resolver.answer();
  for (const auto& each : waiting) BOOST_TEST(each.outcome().ok());
  BOOST_TEST(call(names, "d").outcome().ok());
}

BOOST_AUTO_TEST_CASE(a_failure_is_told_to_all_who_wait_for_it) {
  slow_resolver resolver;
  name_service names{resolver.function(), {.idle_time = 0s}};
  const call first{names, "unknown"};
  const call second{names, "unknown"};
  resolver.answer();
  for (const auto* each : {&first, &second}) {
    BOOST_TEST(to_string(each->outcome().code()) == "unavailable");
    BOOST_TEST(each->outcome().message() == "nobody knows it");
  }
  // Threads that have ended since are started again.
  for (auto i = 0; i < 10; ++i) BOOST_TEST(call(names, "known").outcome().ok());
}

BOOST_AUTO_TEST_CASE(nothing_waits_for_a_look_up_that_does_not_end) {
  slow_resolver resolver;
  const auto open = [&] {
    name_service names{resolver.function()};
    const call one{names, "silent.example"};
    BOOST_TEST(resolver.has_open(1));
    return one;
  }();
  resolver.answer();
  BOOST_TEST(resolver.has_open(0));
  BOOST_TEST(!open.shared->ended.is_set());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
