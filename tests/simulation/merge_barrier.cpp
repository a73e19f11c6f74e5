// What the merge barrier promises while all goes well, and for steps that wait for their turn; B-1 of
// merge_barrier.hpp.
#include "company.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;

namespace troupe {

BOOST_AUTO_TEST_SUITE(merge_barrier_suite)

namespace {

const std::vector company_sizes{1, 2, 4};

// --- merging (B-1) --------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(each_generation_merges_once_after_all_have_arrived, company_sizes, count) {
  company world{count};
  auto arrived = 0;
  auto merges = 0;
  const auto& result = world.perform([&](lock_step& step, int replica) {
    auto x = replica;
    for (auto generation = 1; generation <= 5; ++generation) {
      ++arrived;
      x = merge(step, bring(x, [&, generation](const std::vector<int>& numbers) {
                  ++merges;
                  BOOST_TEST(merges == generation);
                  BOOST_TEST(arrived == generation * count);
                  return sum_for_each(numbers);
                }));
    }
    return x + replica;
  });
  BOOST_REQUIRE(result.succeeded());
  BOOST_TEST(merges == 5);
  BOOST_TEST(result.results.back() - result.results.front() == count - 1);
  BOOST_TEST(world.aborts() == 0);
  BOOST_TEST(world.preparations() == 6);
}

BOOST_AUTO_TEST_CASE(replicas_that_disagree_are_named_before_anything_merges) {
  company world{3};
  auto merges = 0;
  const auto counted = [&](const std::vector<int>& numbers) {
    ++merges;
    return numbers;
  };
  require_failure(
      world.perform([&](lock_step& step, int replica) { return merge(step, bring(0, counted, replica == 2 ? 1 : 0)); }),
      status_code::failed_precondition,
      "replica 0 (CPU:0) called merge_call with function 0, but replica 2 (CPU:2) with function 1");
  require_failure(world.perform([&](lock_step& step, int replica) {
    auto brought = bring(0, counted);
    if (replica == 1) brought->arguments_type = "text";
    return merge(step, std::move(brought));
  }),
                  status_code::invalid_argument, "but replica 1 (CPU:1) with text");
  BOOST_TEST(merges == 0);
  BOOST_TEST(world.inside() == 0);
  world.require_usable();
}

BOOST_DATA_TEST_CASE(a_replica_that_returns_early_is_named_whoever_comes_first, std::vector({0, 1}), early) {
  company world{2};
  const auto& result = world.perform(
      [&](lock_step& step, int replica) { return replica == early ? 0 : merge(step, bring(0, sum_for_each)); });
  require_failure(result, status_code::failed_precondition, fmt::format("replica {} (CPU:{})", early, early));
  require_failure(result, status_code::failed_precondition, "different number of merge_call() calls");
  BOOST_TEST(world.inside() == 0);
  world.require_usable();
}

BOOST_AUTO_TEST_CASE(what_waiting_replicas_are_told_names_the_one_that_failed) {
  company world{3};
  std::array<std::optional<status>, 3> told;
  require_failure(world.perform([&](lock_step& step, int replica) {
    if (replica == 1) throw out_of_range_error{"row 7"};
    try {
      return merge(step, bring(0, sum_for_each));
    } catch (const error& thrown) {
      told.at(static_cast<std::size_t>(replica)) = thrown.get_status();
      throw;
    }
  }),
                  status_code::out_of_range, "replica 1 (CPU:1) failed");
  for (const auto replica : {0, 2}) {
    const auto& heard = told.at(static_cast<std::size_t>(replica));
    BOOST_REQUIRE(heard.has_value());
    BOOST_TEST((heard->code() == status_code::aborted));
    BOOST_TEST(heard->render().find("replica 1 (CPU:1) failed") != std::string::npos, heard->render());
  }
  BOOST_TEST(world.aborts() > 0);
}

BOOST_AUTO_TEST_CASE(collectives_that_cannot_be_prepared_fail_the_step) {
  company world{2};
  world.when_preparing = [&] {
    if (world.preparations() == 1) throw unavailable_error{"no network"};
  };
  auto calls = 0;
  require_failure(world.perform([&](lock_step&, int) { return ++calls; }), status_code::unavailable, "no network");
  BOOST_TEST(calls == 0);
  // After a merge.
  world.when_preparing = [&] {
    if (world.preparations() == 3) throw unavailable_error{"no network"};
  };
  require_failure(world.perform([](lock_step& step, int) { return merge(step, bring(0, sum_for_each)); }),
                  status_code::unavailable, "no network");
  BOOST_TEST(world.inside() == 0);
  world.require_usable();
}

// --- turns ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(steps_take_turns_in_the_order_in_which_they_came) {
  company world{2};
  std::string order;
  const auto step_of = [&](char mark) {
    return [&, mark](lock_step& step, int replica) {
      if (replica == 0) order += mark;
      return merge(step, bring(0, [&](const std::vector<int>& numbers) {
                     order += mark;
                     BOOST_TEST(world.inside() == 2);
                     return numbers;
                   }));
    };
  };
  std::vector<outcome*> results;
  for (const auto mark : {'a', 'b', 'c'}) results.push_back(&world.order(step_of(mark)));
  world.send();
  world.run();
  for (const auto* each : results) BOOST_TEST(each->succeeded());
  BOOST_TEST(order == "aabbcc");
}

BOOST_AUTO_TEST_CASE(nested_steps_run_inside_of_their_merge_function_before_those_that_wait) {
  company world{2};
  std::string order;
  world.order([&](lock_step& step, int replica) {
    return merge(step, bring(replica, [&](const std::vector<int>&) {
                   return world.nested([&](lock_step& inner, int inner_replica) {
                     order += 'n';
                     return merge(inner, bring(inner_replica + 1, sum_for_each));
                   });
                 }));
  });
  const auto& second = world.order([&](lock_step&, int) {
    order += 's';
    return 0;
  });
  world.send();
  world.run();
  BOOST_TEST(second.succeeded());
  BOOST_TEST(order == "nnss");
}

// --- deadlines and cancellation of steps that wait for their turn
// -----------------------------------------------------

BOOST_AUTO_TEST_CASE(a_step_whose_deadline_passes_while_it_waits_for_its_turn_never_starts) {
  company world{2};
  auto calls = 0;
  const auto start = world.now();
  const auto& first = world.order([](lock_step&, int) { return wait_for_ever(), 0; }, 20s);
  const auto& second = world.order([&](lock_step&, int) { return ++calls; }, 5s);
  const auto& third = world.order([](lock_step&, int replica) { return replica; }, 60s);
  world.send();
  world.advance(5s);
  require_failure(second, status_code::deadline_exceeded, "the deadline passed");
  BOOST_TEST((second.at == start + 5s));
  BOOST_TEST(!first.ended);
  world.advance(15s);
  require_failure(first, status_code::deadline_exceeded, "replica 0 (CPU:0), replica 1 (CPU:1)");
  BOOST_TEST(third.succeeded());
  BOOST_TEST(calls == 0);
}

BOOST_AUTO_TEST_CASE(a_step_that_is_cancelled_while_it_waits_for_its_turn_never_starts) {
  company world{2};
  auto calls = 0;
  const auto& first = world.order([](lock_step&, int) { return wait_for_ever(), 0; }, 20s);
  const auto& second = world.order([&](lock_step&, int) { return ++calls; });
  world.send();
  world.run();
  world.cancel(world.last(), {status_code::cancelled, "no longer wanted"});
  world.run();
  require_failure(second, status_code::cancelled, "no longer wanted");
  BOOST_TEST(!first.ended);
  world.cancel(world.last(), {status_code::cancelled, "nobody knows it any more"});
  world.advance(20s);
  BOOST_TEST(first.ended);
  BOOST_TEST(calls == 0);
  world.require_usable();
}

BOOST_AUTO_TEST_CASE(after_its_deadline_a_step_keeps_the_replicas_until_they_have_ended) {
  company world{2};
  auto overlaps = false;
  // Takes no notice of its cancellation for some time.
  const auto& first = world.order(
      [&](lock_step&, int) {
        for (auto i = 0; i < 3; ++i) {
          try {
            wait_for_ever();
          } catch (const cancelled_error&) {
            continue;
          }
        }
        return 0;
      },
      5s);
  const auto& second = world.order([&](lock_step&, int) {
    overlaps = world.inside() > 2;
    return 0;
  });
  world.send();
  world.advance(5s);
  require_failure(first, status_code::deadline_exceeded, "replica 0");
  BOOST_TEST(second.succeeded());
  BOOST_TEST(!overlaps);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
