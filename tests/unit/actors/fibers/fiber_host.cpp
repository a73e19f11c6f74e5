#include "fiber_actor.hpp"

#include <troupe/actors/fibers/internal/stack_pool.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(fiber_host_suite)

namespace {

/// The signal that ends a child process in which `work` is done; 0 if it survives.
int signal_that_ends(const std::function<void()>& work) {
  const auto child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    for (const auto number : {SIGSEGV, SIGABRT}) ::signal(number, SIG_DFL);
    ::close(STDERR_FILENO);
    work();
    ::_exit(0);
  }
  auto ended = 0;
  BOOST_REQUIRE(::waitpid(child, &ended, 0) == child);
  return WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
}

// As deep as the stack for a number that is not zero. Each call touches its frame.
[[gnu::noinline]] int recurse(const volatile int* above) {
  const volatile int here[64] = {*above};
  return here[0] == 0 ? 0 : recurse(here) + here[1];
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_fiber_host, virtual_system)

// F-3
BOOST_AUTO_TEST_CASE(unwinds_its_parked_fibers_when_its_actor_ends) {
  struct guard {
    int& count;
    ~guard() { ++count; }
  };
  auto unwound = 0;
  std::vector<std::string> outcomes;
  std::vector<point> points(100);
  fiber_actor actor{*this};
  for (auto i = 0u; i < points.size(); ++i) {
    actor.start(i, [&, i] {
      const guard scope{unwound};
      outcomes.push_back(park_and_tell(points[i]));
      BOOST_CHECK_THROW(park(points[i], now() + 1s), cancelled_error);
    });
  }
  actor.end();
  BOOST_TEST(unwound == 100);
  BOOST_REQUIRE(outcomes.size() == 100u);
  for (const auto& outcome : outcomes) BOOST_TEST(outcome.starts_with("cancelled: "));
}

// F-6
BOOST_AUTO_TEST_CASE(refuses_a_key_that_a_fiber_has_and_leaves_that_alone) {
  std::string outcome;
  auto second_ran = false;
  point here;
  fiber_actor actor{*this};
  actor.start(7, [&] { outcome = park_and_tell(here); });
  actor.act([&] {
    BOOST_CHECK_EXCEPTION(actor.fibers().run(7, [&] { second_ran = true; }), already_exists_error,
                          [](const auto& thrown) { return thrown.message().find("the key 7") != std::string::npos; });
  });
  BOOST_TEST(!second_ran);
  BOOST_TEST(actor.fibers().active() == 1u);
  actor.act([&] { here->complete(); });
  BOOST_TEST(outcome == "completed");
  actor.start(7, [&] { second_ran = true; });
  BOOST_TEST(second_ran);
}

// F-4
BOOST_AUTO_TEST_CASE(keeps_the_exceptions_of_its_fibers_apart) {
  std::vector<std::string> rethrown(2);
  std::vector<point> points(2);
  fiber_actor actor{*this};
  for (auto i = 0u; i < 2; ++i) {
    actor.start(i, [&, i] {
      try {
        try {
          throw std::runtime_error{std::to_string(i)};
        } catch (const std::exception&) {
          park(points[i]);
          throw;
        }
      } catch (const std::exception& mine) {
        rethrown[i] = mine.what();
      }
    });
  }
  BOOST_TEST(!std::current_exception());
  // The first to catch is the first to go on: on one common stack of exceptions it would find the other's on top.
  for (auto i : {0u, 1u}) actor.act([&, i] { points[i]->complete(); });
  BOOST_TEST(rethrown == (std::vector<std::string>{"0", "1"}), boost::test_tools::per_element());
}

// F-4
BOOST_AUTO_TEST_CASE(lets_a_fiber_wait_while_an_exception_unwinds_it) {
  struct waits_at_its_end {
    point& here;
    ~waits_at_its_end() { park(here); }
  };
  auto caught = false;
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] {
    try {
      const waits_at_its_end scope{here};
      throw std::runtime_error{"on its way"};
    } catch (const std::runtime_error&) {
      caught = true;
    }
  });
  BOOST_TEST(std::uncaught_exceptions() == 0);
  BOOST_TEST(!caught);
  actor.start(2, [&] { BOOST_TEST(std::uncaught_exceptions() == 0); });
  actor.act([&] { here->complete(); });
  BOOST_TEST(caught);
}

BOOST_AUTO_TEST_CASE(runs_thousands_of_fibers_at_once) {
  constexpr auto count = 5000u;
  std::vector<point> points(count);
  auto completed = 0u;
  fiber_actor actor{*this};
  actor.act([&] {
    for (auto i = 0u; i < count; ++i)
      actor.fibers().run(i, [&, i] {
        park(points[i], now() + 1h);
        ++completed;
      });
  });
  BOOST_TEST(actor.fibers().active() == count);
  actor.act([&] {
    const fiber_host::turn scope{actor.fibers()};
    for (auto i = count; i-- > 0;) points[i]->complete();
  });
  BOOST_TEST(completed == count);
  BOOST_TEST(actor.fibers().active() == 0u);
}

BOOST_AUTO_TEST_CASE(tells_code_whether_it_runs_in_a_fiber) {
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] {
    for (auto i = 0; i < 2; ++i) {
      BOOST_TEST(fiber_host::current() == &actor.fibers());
      BOOST_TEST(fiber_host::current_environment() == &actor->around);
      if (i == 0) park(here);
    }
  });
  BOOST_TEST(fiber_host::current() == nullptr);
  BOOST_TEST(fiber_host::current_environment() == nullptr);
  BOOST_TEST(!fiber_host::cancelled());
  BOOST_CHECK_NO_THROW(fiber_host::throw_if_cancelled());
  actor.act([&] { here->complete(); });
}

BOOST_AUTO_TEST_CASE(gives_each_fiber_its_own_values_from_its_start_to_its_end) {
  static const fiber_local<std::string> name;
  static const fiber_local<std::shared_ptr<int>> kept;
  const auto shared = std::make_shared<int>(7);
  std::vector<point> points(2);
  fiber_actor actor{*this};
  *name = "outside";
  for (auto i = 0u; i < 2; ++i) {
    actor.start(i, [&, i] {
      BOOST_TEST(*name == "");
      *name = std::to_string(i);
      *kept = shared;
      park(points[i]);
      BOOST_TEST(*name == std::to_string(i));
    });
  }
  BOOST_TEST(*name == "outside");
  BOOST_TEST(shared.use_count() == 3);
  for (const auto& here : points) actor.act([&] { here->complete(); });
  BOOST_TEST(shared.use_count() == 1);
  actor.start(3, [&] { BOOST_TEST(*name == ""); });
}

BOOST_AUTO_TEST_CASE(uses_a_stack_again) {
  std::set<const void*> seen;
  fiber_actor actor{*this};
  for (auto i = 0u; i < 1000; ++i) {
    actor.start(i, [&] {
      const auto here = 0;
      seen.insert(&here);
    });
  }
  BOOST_TEST(seen.size() == 1u);
}

BOOST_AUTO_TEST_CASE(ends_a_fiber_that_overflows_its_stack_at_the_guard_page) {
  fiber_actor actor{*this};
  const auto fatal = signal_that_ends([&] {
    actor.start(1, [] {
      const volatile auto not_zero = 1;
      recurse(&not_zero);
    });
  });
  BOOST_TEST(fatal == SIGSEGV);
}

BOOST_AUTO_TEST_CASE(ends_the_process_for_an_exception_that_leaves_a_fiber) {
  fiber_actor actor{*this};
  const auto fatal = signal_that_ends([&] { actor.start(1, [] { throw std::runtime_error{"nobody catches this"}; }); });
  BOOST_TEST(fatal == SIGABRT);
}

BOOST_AUTO_TEST_CASE(says_so_when_there_is_no_memory_for_a_stack_and_goes_on) {
  auto ran = false;
  fiber_actor actor{*this};
  actor.act([&] {
    fiber_host greedy{actor->clock, {.stack_bytes = std::size_t{1} << 47}};
    BOOST_CHECK_EXCEPTION(greedy.run(1, [&] { ran = true; }), resource_exhausted_error, [](const auto& thrown) {
      return thrown.message().find("no stack of ") != std::string::npos;
    });
    BOOST_TEST(greedy.active() == 0u);
  });
  BOOST_TEST(!ran);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(the_end_of_a_turn, virtual_system)

BOOST_AUTO_TEST_CASE(comes_once_after_the_fibers_that_the_outermost_turn_resumed) {
  std::string order;
  std::vector<point> points(2);
  fiber_actor actor{*this};
  for (auto i = 0u; i < 2; ++i) {
    actor.start(i, [&, i] {
      park(points[i]);
      order += "f";
    });
  }
  actor.fibers().at_turn_end([&] { order += "e"; });
  actor.act([&] {
    const fiber_host::turn outer{actor.fibers()};
    for (const auto& here : points) {
      const fiber_host::turn inner{actor.fibers()};
      here->complete();
    }
    order += "o";
  });
  BOOST_TEST(order == "offe");
}

BOOST_AUTO_TEST_CASE(comes_again_when_it_resumed_fibers) {
  std::string order;
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] {
    park(here);
    order += "f";
  });
  actor.act([&] {
    actor.fibers().at_turn_end([&] {
      order += "e";
      here->complete();
    });
    const fiber_host::turn scope{actor.fibers()};
  });
  BOOST_TEST(order == "efe");
}

// Others may have been told that the actor hears.
BOOST_AUTO_TEST_CASE(is_followed_by_another_begin_when_it_resumed_fibers) {
  std::string order;
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] {
    park(here);
    order += "f";
  });
  actor.act([&] {
    actor.fibers().at_turn_begin([&] { order += "b"; });
    actor.fibers().at_turn_end([&] {
      order += "e";
      here->complete();
    });
    const fiber_host::turn scope{actor.fibers()};
  });
  BOOST_TEST(order == "bebfe");
}

BOOST_AUTO_TEST_CASE(may_start_fibers) {
  std::string order;
  auto queued = 3u;
  point here;
  fiber_actor actor{*this};
  actor.start(100, [&] {
    park(here);
    order += "w";
  });
  actor.act([&] {
    actor.fibers().at_turn_end([&] {
      for (; queued > 0; --queued) {
        actor.fibers().run(queued, [&] {
          order += "s";
          here->complete();
        });
      }
      order += "e";
    });
    const fiber_host::turn scope{actor.fibers()};
  });
  BOOST_TEST(order == "sssewe");
  BOOST_TEST(actor.fibers().active() == 0u);
}

// F-3
BOOST_AUTO_TEST_CASE(that_throws_leaves_a_host_that_can_still_end_its_fibers) {
  std::string outcome;
  point here;
  fiber_actor actor{*this};
  actor.start(1, [&] { outcome = park_and_tell(here); });
  actor.act([&] {
    actor.fibers().at_turn_end([] { throw std::runtime_error{"a broken end"}; });
    const auto one_turn = [&] { const fiber_host::turn scope{actor.fibers()}; };
    BOOST_CHECK_THROW(one_turn(), std::runtime_error);
  });
  actor.end();
  BOOST_TEST(outcome.starts_with("cancelled: "));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_pool_of_stacks)

BOOST_AUTO_TEST_CASE(puts_a_page_below_each_stack_that_nobody_can_write) {
  stack_pool pool{64 * 1024, 1};
  auto stack = pool.allocate();
  auto* const lowest = static_cast<volatile char*>(stack.sp) - stack.size;
  BOOST_TEST(signal_that_ends([&] { lowest[0] = 1; }) == 0);
  BOOST_TEST(signal_that_ends([&] { lowest[-1] = 1; }) == SIGSEGV);
  pool.deallocate(stack);
}

BOOST_AUTO_TEST_CASE(rounds_sizes_up_to_pages_and_keeps_no_more_stacks_than_it_should) {
  stack_pool pool{64 * 1024 - 1, 1};
  auto first = pool.allocate();
  auto second = pool.allocate();
  BOOST_TEST(first.size == 64u * 1024);
  const auto* const kept = first.sp;
  pool.deallocate(first);
  pool.deallocate(second);
  auto again = pool.allocate();
  BOOST_TEST(again.sp == kept);
  pool.deallocate(again);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
