#include "unit/actors/fibers/fiber_actor.hpp"

#include <troupe/actors/closures/closure.hpp>
#include <troupe/actors/values/codec.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(closure_suite)

namespace {

/// Far beyond what any test takes: a wait that ends by this limit is an error.
constexpr duration long_enough = 1min;

std::shared_ptr<closure> new_closure() {
  return std::make_shared<closure>(function_id{}, value::of(1), std::vector<closure_input>{{nullptr, 7}},
                                   schedule_options{});
}

const status failure{status_code::internal, "broken"};

/// Lets others run for a while, so that a race is met at another point each time; no test relies on how long it takes.
void yield_for(duration time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_closure)

BOOST_AUTO_TEST_CASE(has_an_end_that_says_how_it_ended) {
  const auto open = new_closure();
  BOOST_TEST(!open->ended());
  BOOST_TEST((open->state() == closure::readiness::not_ready));

  const auto done = new_closure();
  done->finish({}, value::of(5));
  BOOST_TEST((done->state() == closure::readiness::ready));
  BOOST_TEST(done->end_status().ok());
  BOOST_TEST(*done->result().get<int>() == 5);

  const auto failed = new_closure();
  failed->finish(failure);
  BOOST_TEST((failed->state() == closure::readiness::ready));
  BOOST_TEST((failed->end_status() == failure));

  const auto cancelled = new_closure();
  cancelled->finish(stop);
  BOOST_TEST((cancelled->state() == closure::readiness::aborted));
}

BOOST_AUTO_TEST_CASE(has_one_result_for_all_threads_that_decode_it_at_once) {
  constexpr std::size_t threads = 4;
  for (auto round = 0; round < 200; ++round) {
    const auto done = new_closure();
    done->finish({}, decode<value>(encode(value::of(std::vector<int>(100, round)))));
    std::array<const std::vector<int>*, threads> seen{};
    std::latch together{threads};
    std::vector<std::jthread> all;
    for (auto& mine : seen)
      all.emplace_back([&] {
        together.arrive_and_wait();
        mine = &done->object<std::vector<int>>();
      });
    all.clear();
    for (const auto* each : seen) BOOST_TEST(each == seen.front());
    BOOST_TEST(seen.front()->back() == round);
  }
}

// C-1
BOOST_AUTO_TEST_CASE(ends_once) {
  const auto x = new_closure();
  BOOST_TEST(x->finish({}, value::of(5)));
  BOOST_TEST(!x->finish(stop));
  BOOST_TEST(!x->finish({}, value::of(6)));
  BOOST_TEST((x->state() == closure::readiness::ready));
  BOOST_TEST(*x->result().get<int>() == 5);
}

BOOST_AUTO_TEST_CASE(lets_its_arguments_go_when_it_ends) {
  const auto argument = std::make_shared<int>(1);
  const auto producer = new_closure();
  closure x{function_id{}, value::of(argument), {{producer, 0}}, {}};
  BOOST_TEST(argument.use_count() == 2);
  x.finish(failure);
  BOOST_TEST(argument.use_count() == 1);
  BOOST_TEST(producer.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(is_waited_for_no_longer_than_asked) {
  const auto x = new_closure();
  BOOST_TEST(!closure::wait_for(x, 0s));
  BOOST_TEST(!closure::wait_for(x, -1s));
  BOOST_TEST(!closure::wait_for(x, 1ms));
  x->finish({});
  BOOST_TEST(closure::wait_for(x, 0s));
  BOOST_TEST(closure::wait_for(x, -1s));
}

BOOST_AUTO_TEST_CASE(wakes_every_thread_that_waits_for_it) {
  for (auto round = 0; round < 50; ++round) {
    const auto x = new_closure();
    std::latch started{4};
    std::atomic<int> saw_result{0};
    std::vector<std::thread> waiting;
    for (auto i = 0; i < 4; ++i) {
      waiting.emplace_back([&] {
        started.count_down();
        if (closure::wait_for(x, long_enough) && *x->result().get<int>() == 5) ++saw_result;
      });
    }
    started.wait();
    yield_for(round * 10us);
    x->finish({}, value::of(5));
    for (auto& thread : waiting) thread.join();
    BOOST_TEST(saw_result == 4);
  }
}

BOOST_AUTO_TEST_CASE(gives_all_threads_the_same_object_of_a_result_that_came_from_another_process) {
  for (auto round = 0; round < 200; ++round) {
    const auto x = new_closure();
    const auto bytes = encode(value::of(std::string(100, 'x')));
    x->finish({}, decode<value>(bytes));
    std::latch together{4};
    std::array<const std::string*, 4> seen{};
    std::vector<std::thread> asking;
    for (auto& mine : seen)
      asking.emplace_back([&] {
        together.arrive_and_wait();
        mine = &x->object<std::string>();
      });
    for (auto& thread : asking) thread.join();
    for (const auto* each : seen) BOOST_TEST_REQUIRE(each == seen[0]);
    BOOST_TEST(*seen[0] == std::string(100, 'x'));
  }
}

// Both ends meet at each distance from each other: while the waiter looks, goes to sleep, and sleeps.
BOOST_AUTO_TEST_CASE(never_ends_unnoticed) {
  constexpr auto rounds = 3000;
  std::atomic<closure*> current{nullptr};
  std::atomic<int> waits{0};
  std::atomic<int> noticed{0};
  std::thread waiting{[&] {
    for (auto round = 0; round < rounds; ++round) {
      closure* mine = nullptr;
      while ((mine = current.exchange(nullptr)) == nullptr) std::this_thread::yield();
      // The other thread keeps it until then.
      const std::shared_ptr<const closure> borrowed{std::shared_ptr<void>{}, mine};
      if (closure::wait_for(borrowed, round % 2 == 0 ? long_enough : duration::max())) ++noticed;
      ++waits;
    }
  }};
  for (auto round = 0; round < rounds; ++round) {
    const auto x = new_closure();
    current = x.get();
    yield_for(std::chrono::nanoseconds{round * 37 % 100'000});
    x->finish({});
    while (waits <= round) std::this_thread::yield();
  }
  waiting.join();
  BOOST_TEST(noticed == rounds);
}

BOOST_AUTO_TEST_CASE(calls_each_observer_once_after_its_end) {
  const auto x = new_closure();
  std::string order;
  x->on_end([&] {
    BOOST_TEST(x->ended());
    order += "a";
  });
  x->on_end([&] { order += "b"; });
  BOOST_TEST(order == "");
  x->finish({});
  BOOST_TEST(order == "ab");
  x->on_end([&] { order += "c"; });
  BOOST_TEST(order == "abc");
  x->finish(stop);
  BOOST_TEST(order == "abc");
}

BOOST_AUTO_TEST_CASE(calls_an_observer_once_that_comes_while_it_ends) {
  for (auto round = 0; round < 2000; ++round) {
    const auto x = new_closure();
    std::atomic<int> calls{0};
    std::atomic<bool> go{false};
    std::thread observing{[&] {
      while (!go) continue;
      x->on_end([&] { calls += x->ended() ? 1 : 100; });
    }};
    go = true;
    for (auto spin = 0; spin < round % 200; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
    x->finish({});
    observing.join();
    BOOST_REQUIRE(calls == 1);
  }
}

BOOST_AUTO_TEST_CASE(may_be_given_another_observer_by_an_observer) {
  const auto x = new_closure();
  auto calls = 0;
  x->on_end([&] { x->on_end([&] { ++calls; }); });
  x->finish({});
  BOOST_TEST(calls == 1);
}

BOOST_FIXTURE_TEST_CASE(parks_the_fibers_that_wait_for_it, virtual_system) {
  const auto x = new_closure();
  std::vector<std::string> told;
  fiber_actor actor{*this};
  const auto wait = [&](std::uint64_t key, duration limit) {
    actor.start(key, [&, limit] {
      try {
        told.emplace_back(closure::wait_for(x, limit) ? "ended" : "late");
      } catch (const cancelled_error&) {
        told.emplace_back("cancelled");
      }
    });
  };
  wait(1, 1s);
  wait(2, duration::max());
  wait(3, 1h);
  BOOST_TEST(told.empty());
  advance(1s);
  actor.act([&] { actor.fibers().cancel(3, stop); });
  x->finish({});
  // One notification: the others have gone.
  BOOST_TEST(scheduler().jobs.size() == 1u);
  run();
  BOOST_TEST(told == (std::vector<std::string>{"late", "cancelled", "ended"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
