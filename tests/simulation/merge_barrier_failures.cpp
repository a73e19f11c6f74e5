// A script with nested steps, disturbed everywhere: whoever throws, freezes, or is lost whenever, nobody waits any
// longer, and everybody hears who it was; B-2 of merge_barrier.hpp.
#include "company.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;

namespace troupe {

BOOST_AUTO_TEST_SUITE(merge_barrier_failures_suite)

namespace {

/// Merges twice, with a step of its own inside of the second, and passes `visit` at each place where user code runs;
/// a replica of -1 is the merge function.
class script {
 public:
  script(company& world, std::function<void(int replica, int place)> visit) : world_(world), visit_(std::move(visit)) {}

  int operator()(lock_step& step, int replica) const {
    visit_(replica, 0);
    const auto sum = merge(step, bring(replica + 1, [this](const std::vector<int>& numbers) {
                             visit_(-1, 1);
                             return sum_for_each(numbers);
                           }));
    visit_(replica, 2);
    const auto doubled = merge(step, bring(sum, [this](const std::vector<int>& numbers) {
                                 visit_(-1, 3);
                                 auto results = world_.nested([this, numbers](lock_step& inner, int inner_replica) {
                                   visit_(inner_replica, 4);
                                   const auto x = merge(inner, bring(numbers.front(), [this](const auto& all) {
                                                          visit_(-1, 5);
                                                          return sum_for_each(all);
                                                        }));
                                   visit_(inner_replica, 6);
                                   return x;
                                 });
                                 visit_(-1, 7);
                                 return results;
                               }));
    visit_(replica, 8);
    return doubled;
  }

  static constexpr int places = 9;
  static bool in_merge_function(int place) { return place % 2 == 1; }
  static std::vector<int> results(int count) {
    return std::vector(static_cast<std::size_t>(count), count * count * (count + 1) / 2);
  }

 private:
  company& world_;
  std::function<void(int, int)> visit_;
};

void visit_nothing(int, int) {}

const std::vector script_sizes{2, 3, 4};

BOOST_DATA_TEST_CASE(the_script_gives_its_results_when_nothing_happens, script_sizes, count) {
  company world{count};
  const auto& result = world.perform(script{world, visit_nothing});
  BOOST_REQUIRE(result.succeeded());
  BOOST_TEST(result.results == script::results(count));
}

BOOST_DATA_TEST_CASE(whoever_throws_wherever_all_are_released_at_once_and_hear_who_it_was, script_sizes, count) {
  for (auto place = 0; place < script::places; ++place) {
    for (auto culprit = script::in_merge_function(place) ? -1 : 0;
         culprit < (script::in_merge_function(place) ? 0 : count); ++culprit) {
      BOOST_TEST_CONTEXT("replica " << culprit << " throws at place " << place) {
        company world{count};
        const auto start = world.now();
        const auto& result = world.perform(script{world, [&](int replica, int here) {
                                                    if (replica == culprit && here == place)
                                                      throw data_loss_error{"thrown by the script"};
                                                  }});
        require_failure(result, status_code::data_loss, "thrown by the script");
        if (culprit >= 0)
          require_failure(result, status_code::data_loss, fmt::format("replica {0} (CPU:{0}) failed", culprit));
        BOOST_TEST((world.now() == start));
        BOOST_TEST(world.inside() == 0);
        world.require_usable();
      }
    }
  }
}

BOOST_DATA_TEST_CASE(a_replica_that_freezes_anywhere_is_named_at_the_deadline_and_releases_all, script_sizes, count) {
  for (auto place = 0; place < script::places; ++place) {
    const auto culprit = script::in_merge_function(place) ? -1 : count - 1;
    BOOST_TEST_CONTEXT("replica " << culprit << " freezes at place " << place) {
      company world{count};
      const auto start = world.now();
      const auto& result = world.perform(script{world,
                                                [&](int replica, int here) {
                                                  if (replica == culprit && here == place) wait_for_ever();
                                                }},
                                         10s);
      BOOST_TEST(!result.ended);
      world.advance(10s);
      // Whoever waits in a nested step has its outer merge function named.
      const auto in_nested = place >= 3 && place <= 7;
      require_failure(result, status_code::deadline_exceeded,
                      culprit < 0 || in_nested ? "the merge function" : fmt::format("replica {0} (CPU:{0})", culprit));
      BOOST_TEST((result.at == start + 10s));
      BOOST_TEST(world.inside() == 0);
      world.require_usable();
    }
  }
}

/// How many messages it takes to run the script so many times when nothing happens.
std::size_t messages_of_script(int count, int times = 1) {
  company world{count};
  for (auto i = 0; i < times; ++i) world.order(script{world, visit_nothing});
  world.send();
  auto messages = std::size_t{0};
  while (world.scheduler().try_run_once()) ++messages;
  return messages;
}

BOOST_DATA_TEST_CASE(whichever_replica_is_lost_whenever_all_are_released_at_once_and_hear_who_it_was, script_sizes,
                     count) {
  const auto messages = messages_of_script(count);
  BOOST_TEST(messages > 20u);
  for (auto when = std::size_t{0}; when <= messages; ++when) {
    for (auto victim = 0; victim < count; ++victim) {
      BOOST_TEST_CONTEXT("replica " << victim << " is killed after " << when << " messages") {
        company world{count};
        const auto start = world.now();
        const auto& result = world.order(script{world, visit_nothing});
        const auto& queued = world.order(script{world, visit_nothing});
        world.send();
        for (auto i = std::size_t{0}; i < when; ++i) world.scheduler().try_run_once();
        caf::anon_send_exit(world.replica_at(victim), caf::exit_reason::kill);
        world.run();
        if (!result.succeeded())
          require_failure(result, status_code::unavailable, fmt::format("replica {0} (CPU:{0}) is lost", victim));
        else
          BOOST_TEST(result.results == script::results(count));
        require_failure(queued, status_code::unavailable, fmt::format("replica {0} (CPU:{0}) is lost", victim));
        require_failure(world.perform(script{world, visit_nothing}), status_code::unavailable,
                        fmt::format("replica {0} (CPU:{0}) is lost", victim));
        BOOST_TEST((world.now() == start));
        BOOST_TEST(world.inside() == 0);
      }
    }
  }
}

BOOST_DATA_TEST_CASE(whenever_the_barrier_is_lost_all_that_it_knew_ends_at_once_and_the_rest_by_the_deadline,
                     script_sizes, count) {
  const auto messages = messages_of_script(count);
  for (auto when = std::size_t{0}; when <= messages; ++when) {
    BOOST_TEST_CONTEXT("the barrier is killed after " << when << " messages") {
      company world{count};
      const auto& result = world.order(script{world, visit_nothing}, 10s);
      const auto& queued = world.order(script{world, visit_nothing}, 20s);
      world.send();
      for (auto i = std::size_t{0}; i < when; ++i) world.scheduler().try_run_once();
      caf::anon_send_exit(world.barrier(), caf::exit_reason::kill);
      world.run();
      BOOST_TEST(world.inside() == 0);
      // What the barrier knew of ends with it; what it never received ends by the callers' patience.
      BOOST_TEST((when <= 1 || (result.ended && queued.ended)));
      world.advance(23s);
      BOOST_TEST(result.ended);
      BOOST_TEST(queued.ended);
      BOOST_TEST(!queued.succeeded());
      if (when > 1) {
        BOOST_TEST((result.succeeded() || result.failure->code() == status_code::cancelled));
        BOOST_TEST((queued.failure->code() == status_code::cancelled));
      }
    }
  }
}

BOOST_DATA_TEST_CASE(whenever_a_step_is_cancelled_it_ends_at_once_and_the_next_one_runs, script_sizes, count) {
  const auto messages = messages_of_script(count);
  for (auto when = std::size_t{0}; when <= messages; ++when) {
    BOOST_TEST_CONTEXT("cancelled after " << when << " messages") {
      company world{count};
      const auto start = world.now();
      const auto& result = world.order(script{world, visit_nothing});
      world.send();
      for (auto i = std::size_t{0}; i < when; ++i) world.scheduler().try_run_once();
      world.cancel(world.last(), {status_code::cancelled, "no longer wanted"});
      world.run();
      BOOST_REQUIRE(result.ended);
      if (result.failure) require_failure(result, status_code::cancelled, "no longer wanted");
      BOOST_TEST((world.now() == start));
      BOOST_TEST(world.inside() == 0);
      world.require_usable();
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
