// Groups over several processes launch one after the other in all of them (D10); internal/launch_turn.hpp. The
// processes here share one, so their devices have names of their own.
#include "thread_ranks.hpp"

#include <troupe/device/collectives/internal/launch_turn.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(launch_turn_suite)

namespace {

using namespace std::chrono_literals;

communicator::clock::time_point after(std::chrono::milliseconds time) { return communicator::clock::now() + time; }

/// One group with a rank in each of these processes, each of which has one device.
struct group {
  explicit group(const std::vector<int>& on) : controls(make_thread_communicators(static_cast<int>(on.size()))) {
    for (auto i = std::size_t{0}; i < on.size(); ++i) {
      here.push_back(std::make_shared<launch_order>(std::vector<std::string>{fmt::format("GPU:{}", on[i])}));
      turns.push_back(std::make_unique<launch_turn>(here[i], *controls[i], static_cast<int>(on.size())));
    }
  }

  /// What begin() said on each rank, or threw.
  std::vector<std::future<bool>> begin(std::chrono::milliseconds limit) {
    std::vector<std::future<bool>> begun;
    for (const auto& turn : turns)
      begun.push_back(std::async(std::launch::async, [&turn, end = after(limit)] { return turn->begin(end); }));
    return begun;
  }
  void end() {
    for (const auto& turn : turns) turn->end();
  }

  std::vector<std::unique_ptr<communicator>> controls;
  std::vector<std::shared_ptr<launch_order>> here;
  std::vector<std::unique_ptr<launch_turn>> turns;
};

/// False, too, when the control has said why not.
bool begins(std::future<bool>& begun) {
  try {
    return begun.get();
  } catch (const error&) {
    return false;
  }
}

bool all_true(std::vector<std::future<bool>> begun) {
  auto all = true;
  for (auto& each : begun) all = each.get() && all;
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_group_waits_for_one_that_launches_in_any_of_its_processes) {
  for (const auto shared : {0, 1}) {
    launch_order other{{fmt::format("GPU:{}", shared)}};
    BOOST_TEST(other.begin(after(1min)));
    group waiting{{0, 1}};
    auto begun = waiting.begin(1min);
    for (const auto& each : begun) BOOST_TEST((each.wait_for(20ms) == std::future_status::timeout));
    other.end();
    BOOST_TEST(all_true(std::move(begun)));
    BOOST_TEST(!other.begin(after(5ms)));
    waiting.end();
    BOOST_TEST(other.begin(after(5ms)));
  }
}

BOOST_AUTO_TEST_CASE(groups_that_share_processes_in_a_ring_never_wait_for_each_other) {
  constexpr auto rounds = 500;
  std::array<std::atomic<int>, 3> launching{};
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> running;
  for (const auto& on : std::vector<std::vector<int>>{{0, 1}, {1, 2}, {0, 2}, {0, 1, 2}})
    running.emplace_back([&, on] {
      group each{on};
      const auto ends = end_of_ranks(each.controls, [&](communicator& control) {
        const auto rank = static_cast<std::size_t>(control.rank());
        auto& others = launching[static_cast<std::size_t>(on[rank])];
        for (auto round = 0; round < rounds; ++round) {
          control.barrier(1min);  // they agree on the next call
          if (!each.turns[rank]->begin(after(1min))) throw deadline_exceeded_error{"it was never this group's turn"};
          if (++others != 1) ++wrong;
          std::this_thread::yield();
          --others;
          each.turns[rank]->end();
        }
      });
      for (const auto& end : ends) wrong += end.ok() ? 0 : 1;
    });
  running.clear();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(a_rank_that_waits_hears_that_another_process_has_ended_the_group) {
  launch_order other{{"GPU:1"}};
  BOOST_TEST(other.begin(after(1min)));
  group waiting{{0, 1}};
  auto begun = waiting.begin(1min);
  BOOST_TEST((begun[1].wait_for(20ms) == std::future_status::timeout));
  const auto started = communicator::clock::now();
  waiting.controls[0]->abort({status_code::cancelled, "enough"});
  for (auto& each : begun) BOOST_TEST(!begins(each));
  BOOST_TEST((communicator::clock::now() - started < 20s));
}

BOOST_AUTO_TEST_CASE(the_limit_of_a_group_ends_its_waiting) {
  launch_order other{{"GPU:0"}};
  BOOST_TEST(other.begin(after(1min)));
  group waiting{{0, 1}};
  auto begun = waiting.begin(50ms);
  for (auto& each : begun) BOOST_TEST(!begins(each));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
