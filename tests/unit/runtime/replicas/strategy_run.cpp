// What run(), merge_call and the contexts around them promise; examples/reference/semantics.md 1.3, 4 and 5.2.
#include "replica_test.hpp"

#include <troupe/runtime/cluster/reaper.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <latch>
#include <memory>
#include <set>
#include <thread>

namespace troupe {

BOOST_AUTO_TEST_SUITE(strategy_run_suite)

namespace {

BOOST_AUTO_TEST_CASE(run_calls_the_function_once_for_each_replica_and_regroups_the_results) {
  const mirrored_strategy strategy{replica_devices(3)};
  const auto ids = strategy.run([] { return replica_context::current().replica_id_in_sync_group(); });
  BOOST_TEST(all(ids) == (std::vector{0, 1, 2}));
  BOOST_TEST(strategy.num_replicas_in_sync() == 3);
}

BOOST_AUTO_TEST_CASE(the_example_of_the_architecture_gives_each_replica_the_sum_and_its_own_value) {
  mirrored_strategy strategy{replica_devices(2)};
  const auto results = strategy.run(
      [](float three) {
        const auto context = replica_context::current();
        const auto v = three + static_cast<float>(context.replica_id_in_sync_group());
        const auto s = context.merge_call(
            [](auto& here, const per_replica<float>& values) {
              auto sum = 0.0f;
              for (const auto each : here.local_results(values)) sum += each;
              return sum;
            },
            v);
        return s + v;
      },
      3.0f);
  BOOST_TEST(all(results) == (std::vector{10.0f, 11.0f}));
}

BOOST_AUTO_TEST_CASE(replicas_run_at_the_same_time) {
  const mirrored_strategy strategy{replica_devices(3)};
  std::latch all_there{3};
  strategy.run([&] { all_there.arrive_and_wait(); });
}

BOOST_AUTO_TEST_CASE(each_replica_has_a_thread_of_its_own_that_stays_the_same) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto here = [] { return std::this_thread::get_id(); };
  const auto first = strategy.run(here);
  const auto second = strategy.run(here);
  BOOST_TEST((first[0] != first[1]));
  BOOST_TEST((first[0] == second[0] && first[1] == second[1]));
}

BOOST_AUTO_TEST_CASE(distributed_arguments_are_sliced_and_others_passed_as_they_are) {
  const mirrored_strategy strategy{replica_devices(2)};
  const per_replica<int> own{{10, 20}};
  const mirrored<std::string> same{{"x", "x"}};
  const std::tuple<per_replica<int>, int> nested{own, 5};
  const auto results = strategy.run(
      [](int mine, const std::string& text, std::tuple<int, int> pair, double plain) {
        return fmt::format("{} {} {} {} {}", mine, text, std::get<0>(pair), std::get<1>(pair), plain);
      },
      own, same, nested, 0.5);
  BOOST_TEST(results[0] == "10 x 10 5 0.5");
  BOOST_TEST(results[1] == "20 x 20 5 0.5");
}

BOOST_AUTO_TEST_CASE(structures_of_results_are_regrouped_leaf_by_leaf) {
  const mirrored_strategy strategy{replica_devices(2)};
  struct user_struct {
    int number = 0;
  };
  const auto result = strategy.run([] {
    const auto id = replica_context::current().replica_id_in_sync_group();
    return std::tuple{id, std::vector{id, id + 10}, std::map<std::string, int>{{"a", id}}, user_struct{id}};
  });
  BOOST_TEST(all(std::get<0>(result)) == (std::vector{0, 1}));
  BOOST_TEST(all(std::get<1>(result)[1]) == (std::vector{10, 11}));
  BOOST_TEST(all(std::get<2>(result).at("a")) == (std::vector{0, 1}));
  BOOST_TEST(std::get<3>(result)[1].number == 1);
}

BOOST_AUTO_TEST_CASE(results_of_different_structure_are_refused) {
  const mirrored_strategy strategy{replica_devices(2)};
  require_error<invalid_argument_error>("replica 1 has a list of another length (2 instead of 1) than replica 0", [&] {
    strategy.run([] {
      const auto id = replica_context::current().replica_id_in_sync_group();
      return std::vector<int>(static_cast<std::size_t>(id + 1));
    });
  });
}

// --- merge_call -----------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_merge_function_runs_once_in_cross_replica_context_with_the_regrouped_arguments) {
  mirrored_strategy strategy{replica_devices(4)};
  std::atomic<int> calls = 0;
  const auto results = strategy.run([&] {
    const auto context = replica_context::current();
    return context.merge_call(
        [&](troupe::strategy& here, const per_replica<int>& ids, const std::vector<per_replica<int>>& lists) {
          ++calls;
          BOOST_TEST(in_cross_replica_context());
          BOOST_TEST((get_strategy() == here));
          BOOST_TEST(all(ids) == (std::vector{0, 1, 2, 3}));
          BOOST_TEST(lists.at(0)[3] == 6);
          return ids;
        },
        context.replica_id_in_sync_group(), std::vector{2 * context.replica_id_in_sync_group()});
  });
  BOOST_TEST(calls == 1);
  BOOST_TEST(all(results) == (std::vector{0, 1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(a_merge_function_may_return_nothing_and_many_follow_each_other) {
  mirrored_strategy strategy{replica_devices(2)};
  auto rounds = 0;
  strategy.run([&] {
    for (auto i = 0; i < 100; ++i) replica_context::current().merge_call([&](troupe::strategy&) { ++rounds; });
  });
  BOOST_TEST(rounds == 100);
}

BOOST_AUTO_TEST_CASE(a_merge_function_may_run_a_function_on_the_replicas_that_wait) {
  mirrored_strategy strategy{replica_devices(2)};
  const auto results = strategy.run([] {
    const auto id = replica_context::current().replica_id_in_sync_group();
    return replica_context::current().merge_call(
        [](troupe::strategy& here, const per_replica<int>& ids) {
          const auto doubled = here.run(
              [](int mine) {
                // And that may merge again.
                return replica_context::current().merge_call(
                    [](troupe::strategy& inner, const per_replica<int>& all_of_them) {
                      return inner.reduce(reduce_op::sum, all_of_them);
                    },
                    2 * mine);
              },
              ids);
          return doubled;
        },
        id + 1);
  });
  BOOST_TEST(all(results) == (std::vector{6, 6}));
}

BOOST_AUTO_TEST_CASE(different_merge_functions_are_an_error_that_names_both_before_anything_runs) {
  mirrored_strategy strategy{replica_devices(2)};
  std::atomic<int> calls = 0;
  require_error<failed_precondition_error>("all replicas must bring the same merge function", [&] {
    strategy.run([&] {
      const auto context = replica_context::current();
      if (context.replica_id_in_sync_group() == 0)
        context.merge_call([&](troupe::strategy&) { ++calls; });
      else
        context.merge_call([&](troupe::strategy&) { --calls; });
    });
  });
  BOOST_TEST(calls == 0);
}

BOOST_AUTO_TEST_CASE(arguments_of_different_types_are_an_error) {
  mirrored_strategy strategy{replica_devices(2)};
  const auto merge = [](troupe::strategy&, const auto&) {};
  require_error<invalid_argument_error>("all replicas must bring the same structure", [&] {
    strategy.run([&] {
      const auto context = replica_context::current();
      if (context.replica_id_in_sync_group() == 0)
        context.merge_call(merge, 1);
      else
        context.merge_call(merge, std::string{"one"});
    });
  });
}

BOOST_AUTO_TEST_CASE(a_replica_that_returns_without_the_merge_call_of_the_others_is_named) {
  mirrored_strategy strategy{replica_devices(2)};
  require_error<failed_precondition_error>("different number of merge_call() calls", [&] {
    strategy.run([] {
      const auto context = replica_context::current();
      if (context.replica_id_in_sync_group() == 1) context.merge_call([](troupe::strategy&) {});
    });
  });
}

BOOST_AUTO_TEST_CASE(what_a_replica_throws_reaches_the_caller_and_releases_the_others_with_its_name) {
  mirrored_strategy strategy{replica_devices(2)};
  struct own_exception : std::runtime_error {
    using runtime_error::runtime_error;
  };
  std::string seen;
  BOOST_CHECK_THROW(strategy.run([&] {
    const auto context = replica_context::current();
    if (context.replica_id_in_sync_group() == 1) throw own_exception{"too hot"};
    try {
      context.merge_call([](troupe::strategy&) {});
    } catch (const aborted_error& aborted) {
      seen = aborted.what();
      throw;
    }
  }),
                    own_exception);
  BOOST_TEST(seen.find(name_of_replica(1) + " failed") != std::string::npos, seen);
  BOOST_TEST(seen.find("too hot") != std::string::npos, seen);
  BOOST_TEST(all(strategy.run([] { return 1; })) == (std::vector{1, 1}));
}

BOOST_AUTO_TEST_CASE(what_a_merge_function_throws_reaches_the_caller_with_its_type) {
  mirrored_strategy strategy{replica_devices(2)};
  require_error<out_of_range_error>("no row 7", [&] {
    strategy.run(
        [] { replica_context::current().merge_call([](troupe::strategy&) { throw out_of_range_error{"no row 7"}; }); });
  });
}

BOOST_AUTO_TEST_CASE(an_exception_passes_two_levels_of_nested_runs) {
  mirrored_strategy strategy{replica_devices(2)};
  require_error<out_of_range_error>("deep", [&] {
    strategy.run([] {
      replica_context::current().merge_call(
          [](troupe::strategy& here) { here.run([] { throw out_of_range_error{"deep"}; }); });
    });
  });
}

BOOST_AUTO_TEST_CASE(the_deadline_ends_a_run_whose_replicas_do_not_come_and_names_them) {
  mirrored_strategy strategy{replica_devices(2), {.step_limit = std::chrono::milliseconds{50}}};
  // The replica still looks at it when the test has ended.
  const auto may_end = std::make_shared<std::latch>(1);
  require_error<deadline_exceeded_error>(name_of_replica(1), [&] {
    strategy.run([may_end] {
      const auto context = replica_context::current();
      if (context.replica_id_in_sync_group() == 1)
        may_end->wait();
      else
        context.merge_call([](troupe::strategy&) {});
    });
  });
  may_end->count_down();
}

BOOST_AUTO_TEST_CASE(runs_of_several_threads_take_turns) {
  const mirrored_strategy strategy{replica_devices(2)};
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  const auto some_runs = [&] {
    for (auto i = 0; i < 50; ++i)
      strategy.run([&] {
        const auto now = ++inside;
        most = std::max(most.load(), now);
        replica_context::current().all_reduce(reduce_op::sum, 1.0f);
        --inside;
      });
  };
  std::jthread other{some_runs};
  some_runs();
  other.join();
  BOOST_TEST(most <= 2);
}

// --- contexts -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(without_a_strategy_there_is_the_default_one_with_a_single_replica) {
  BOOST_TEST(!has_strategy());
  BOOST_TEST(!in_cross_replica_context());
  const auto context = replica_context::current();
  BOOST_TEST(context.replica_id_in_sync_group() == 0);
  BOOST_TEST(context.num_replicas_in_sync() == 1);
  BOOST_TEST(context.all_reduce(reduce_op::sum, 3.0f) == 3.0f);
  BOOST_TEST(context.merge_call([](troupe::strategy&, const per_replica<int>& x) { return x[0] + 1; }, 4) == 5);
  BOOST_TEST(get_strategy().run([](int x) { return x; }, 7)[0] == 7);
}

BOOST_AUTO_TEST_CASE(contexts_change_from_scope_to_run_to_merge_and_back) {
  mirrored_strategy strategy{replica_devices(2)};
  {
    const auto scope = strategy.scope();
    BOOST_TEST(has_strategy());
    BOOST_TEST(in_cross_replica_context());
    const auto again = strategy.scope();
    strategy.run([] {
      expect(!in_cross_replica_context());
      replica_context::current().merge_call([](troupe::strategy&) { BOOST_TEST(in_cross_replica_context()); });
      expect(!in_cross_replica_context());
    });
  }
  BOOST_TEST(!has_strategy());
}

BOOST_AUTO_TEST_CASE(the_wrong_context_is_an_error_that_says_which_one_is_needed) {
  mirrored_strategy strategy{replica_devices(2)};
  mirrored_strategy other{replica_devices(1)};
  const auto needs = [&](const std::string& text, auto call) {
    require_error<failed_precondition_error>(text, [&] { strategy.run([&] { call(); }); });
  };
  needs("run() needs cross-replica context", [&] { strategy.run([] {}); });
  needs("use replica_context::all_reduce", [&] { strategy.reduce(reduce_op::sum, 1.0f); });
  needs("use replica_context::all_gather", [&] { strategy.gather(tensor::of({1.0f}), 0); });
  needs("scope() was entered in a replica context", [&] { static_cast<void>(strategy.scope()); });
  needs("Mixing different strategies", [&] { static_cast<void>(other.scope()); });
  const auto scope = strategy.scope();
  require_error<failed_precondition_error>("there is no replica context", [] { replica_context::current(); });
  require_error<failed_precondition_error>("Mixing different strategies", [&] { other.run([] {}); });
}

BOOST_AUTO_TEST_CASE(a_context_that_was_kept_is_refused_inside_merge_functions_after_the_run_and_elsewhere) {
  mirrored_strategy strategy{replica_devices(2)};
  std::optional<replica_context> kept;
  strategy.run([&] {
    const auto context = replica_context::current();
    if (context.replica_id_in_sync_group() == 0) kept = context;
    context.merge_call([&](troupe::strategy&) {
      require_error<failed_precondition_error>("merge_call was called on the context of replica 0",
                                               [&] { kept->merge_call([](troupe::strategy&) {}); });
    });
  });
  require_error<failed_precondition_error>("all_reduce was called on the context",
                                           [&] { kept->all_reduce(reduce_op::sum, 1.0f); });
  strategy.run([&] {
    in_turn([&] {
      require_error<failed_precondition_error>("all_reduce was called on the context",
                                               [&] { kept->all_reduce(reduce_op::sum, 1.0f); });
    });
  });
}

// --- devices --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(devices_are_checked_and_belong_to_the_replicas) {
  require_error<invalid_argument_error>("at least one device", [] { mirrored_strategy{std::vector<std::string>{}}; });
  require_error<invalid_argument_error>("named twice", [] { mirrored_strategy{{"CPU:0", "cpu:0"}}; });
  require_error<invalid_argument_error>("names no device", [] { mirrored_strategy{{"/job:worker"}}; });
  const mirrored_strategy strategy{{"CPU:1", "/cpu:0"}};
  const auto devices = strategy.run([] { return replica_context::current().devices().at(0); });
  BOOST_TEST(devices[0] == "CPU:1");
  BOOST_TEST(devices[1] == "CPU:0");
}

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {});
}

BOOST_AUTO_TEST_CASE(strategies_that_are_dropped_right_after_a_run_leave_no_thread_behind) {
  const auto before = threads_of_this_process();
  for (auto i = 0; i < 100; ++i) {
    const mirrored_strategy strategy{replica_devices(2)};
    strategy.run([] { replica_context::current().merge_call([](troupe::strategy&) {}); });
  }
  // A thread that has said its last word is seen for another moment; those of earlier tests may have ended meanwhile.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (threads_of_this_process() > before && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  BOOST_TEST(threads_of_this_process() <= before);
}

// --- ends: who lets go of a strategy last, and on which thread
// --------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_function_may_hold_its_own_strategy_which_still_ends_with_the_callers_handle) {
  for (auto i = 0; i < 50; ++i) {
    mirrored_strategy strategy{replica_devices(2)};
    const std::weak_ptr<strategy_state> watched = strategy.state();
    strategy.run([strategy] {
      replica_context::current().merge_call([strategy](troupe::strategy&) { static_cast<void>(strategy); });
    });
    strategy = mirrored_strategy{replica_devices(1)};
    BOOST_TEST(watched.expired());
  }
}

BOOST_AUTO_TEST_CASE(a_replica_that_goes_on_after_the_deadline_may_be_the_last_who_holds_the_strategy) {
  const auto before = threads_of_this_process();
  for (auto i = 0; i < 10; ++i) {
    std::latch dropped{1};
    std::weak_ptr<strategy_state> watched;
    {
      const mirrored_strategy strategy{replica_devices(2), {.step_limit = std::chrono::milliseconds{10}}};
      watched = strategy.state();
      BOOST_CHECK_THROW(strategy.run([&dropped, strategy] { dropped.wait(); }), deadline_exceeded_error);
    }
    BOOST_TEST(!watched.expired());
    dropped.count_down();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (!watched.expired() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    BOOST_TEST(watched.expired());
    BOOST_TEST(reaper::instance().wait_until_idle(std::chrono::seconds{20}));
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (threads_of_this_process() > before && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  BOOST_TEST(threads_of_this_process() <= before);
}

BOOST_AUTO_TEST_CASE(an_applications_system_outlives_a_strategy_that_its_replica_drops_last) {
  for (auto i = 0; i < 5; ++i) {
    std::latch dropped{1};
    {
      system_config config{false};
      caf::actor_system system{config};
      {
        const mirrored_strategy strategy{system, replica_devices(2), {.step_limit = std::chrono::milliseconds{10}}};
        BOOST_CHECK_THROW(strategy.run([&dropped, strategy] { dropped.wait(); }), deadline_exceeded_error);
      }
      dropped.count_down();
    }
    BOOST_TEST(reaper::instance().wait_until_idle(std::chrono::seconds{20}));
  }
}

BOOST_AUTO_TEST_CASE(a_strategy_lives_in_an_applications_actor_system_too) {
  system_config config{false};
  caf::actor_system system{config};
  const mirrored_strategy strategy{system, replica_devices(2)};
  BOOST_TEST(strategy.reduce("SUM", strategy.run([] { return 2; })) == 4);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
