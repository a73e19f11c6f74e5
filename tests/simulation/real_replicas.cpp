// Replicas in step in a simulation: strategies as a program of `run` makes them, in one thread and in virtual time.
#include "probe.hpp"

#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/run.hpp>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(real_replicas_suite)

using namespace troupe;

namespace {

const std::vector<std::string> three_devices{"CPU:0", "CPU:1", "CPU:2"};

int this_replica() { return replica_context::current().replica_id_in_sync_group(); }

/// Runs it as the program of a chief without members. Gives the virtual time that it took.
duration run_program(std::function<void()> body, std::uint64_t seed = 1) {
  simulated_world world{{.seed = seed}};
  run_options options;
  options.size = {.workers = 1, .servers = 0};
  options.program = [body = std::move(body)](cluster&) { body(); };
  BOOST_TEST(simulate(world, options) == 0);
  return world.now();
}

auto says(std::string text) {
  return [text](const error& failed) { return contains(failed.what(), text); };
}

/// Everything that replicas do together, with large tensors and small ones.
std::vector<float> use_collectives() {
  const mirrored_strategy strategy{three_devices};
  const auto sums = strategy.run([] {
    const auto here = replica_context::current();
    const auto mine = static_cast<float>(this_replica() + 1);
    sleep_for(std::chrono::milliseconds{10 * (this_replica() + 1)});
    auto large = tensor::zeros(dtype::float32, {1000});
    for (auto& x : large.mutable_values<float>()) x = mine;
    const auto sum = here.all_reduce(reduce_op::sum, large);
    const auto all = here.all_gather(tensor::of({mine, mine}), 0);
    const auto merged = here.merge_call(
        [](auto& cross, const per_replica<float>& values) {
          auto total = 0.0f;
          for (const auto each : cross.local_results(values)) total += each;
          return total;
        },
        mine);
    return sum.values<float>()[999] + 10 * all.values<float>()[4] + 100 * merged;
  });
  return strategy.local_results(sums);
}

}  // namespace

BOOST_AUTO_TEST_CASE(collectives_and_merge_calls_give_what_threads_give) {  // B-1
  const std::vector<float> expected(3, 6 + 10 * 3 + 100 * 6);
  BOOST_TEST(use_collectives() == expected, boost::test_tools::per_element());
  std::vector<float> simulated;
  const auto took = run_program([&] { simulated = use_collectives(); });
  BOOST_TEST(simulated == expected, boost::test_tools::per_element());
  // The slowest sleeps for 30 ms.
  BOOST_TEST((took > 30ms && took < 100ms));
}

BOOST_AUTO_TEST_CASE(a_dataset_is_read_in_step_and_variables_are_updated) {
  float sum = 0;
  run_program([&] {
    const mirrored_strategy strategy{three_devices};
    const auto total = strategy.variable("total", 0.0f, {.aggregation = variable_aggregation::sum});
    const auto batches = from_tensor_slices(tensor::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f})).batch(3).prefetch(2);
    const auto iterator = strategy.distribute_dataset(batches).iterate();
    while (const auto inputs = iterator.next_or_end())
      strategy.run([&](const tensor& mine) { total.assign_add(mine.reshape({})); }, *inputs);
    sum = total.item<float>();
  });
  BOOST_TEST(sum == 21);
}

BOOST_AUTO_TEST_CASE(a_replica_that_throws_ends_the_others_which_wait_for_it) {  // B-2, D-1
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    run_program(
        [] {
          const mirrored_strategy strategy{three_devices};
          const auto fails = [] {
            if (this_replica() == 1) throw data_loss_error{"on purpose"};
            replica_context::current().all_reduce(reduce_op::sum, 1.0f);
          };
          BOOST_CHECK_EXCEPTION(strategy.run(fails), data_loss_error, says("on purpose"));
          // What was broken is made anew.
          const auto sums = strategy.run([] { return replica_context::current().all_reduce(reduce_op::sum, 1.0f); });
          BOOST_TEST(strategy.local_results(sums)[0] == 3);
        },
        seed);
}

BOOST_AUTO_TEST_CASE(a_replica_that_hangs_or_calls_something_else_is_named) {  // D-1
  const auto took = run_program([] {
    const mirrored_strategy strategy{three_devices, {.step_limit = 5s}};
    const auto hangs = [] {
      if (this_replica() == 2) sleep_for(1h);
      replica_context::current().all_reduce(reduce_op::sum, 1.0f);
    };
    BOOST_CHECK_EXCEPTION(strategy.run(hangs), deadline_exceeded_error, says("replica 2"));
    const auto differs = [] {
      if (this_replica() == 0)
        replica_context::current().all_reduce(reduce_op::sum, tensor::of({1.0f, 2.0f}));
      else
        replica_context::current().all_reduce(reduce_op::sum, tensor::of({1.0f, 2.0f, 3.0f}));
    };
    BOOST_CHECK_EXCEPTION(strategy.run(differs), failed_precondition_error, says("called different collectives"));
  });
  BOOST_TEST((took > 5s && took < 10s));
}

BOOST_AUTO_TEST_CASE(a_strategy_may_end_while_its_functions_run_and_so_may_its_process) {
  run_program([] {
    {
      const mirrored_strategy strategy{three_devices, {.step_limit = 1s}};
      const auto stays = [] {
        if (this_replica() == 0) replica_context::current().all_reduce(reduce_op::sum, 1.0f);
        sleep_for(10s);
      };
      BOOST_CHECK_THROW(strategy.run(stays), deadline_exceeded_error);
    }
    sleep_for(20s);
  });
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    simulated_world world{{.seed = seed}};
    world.host("trainer", [](simulated_host&) {
      const mirrored_strategy strategy{three_devices};
      for (;;)
        strategy.run([] {
          sleep_for(std::chrono::milliseconds{this_replica()});
          replica_context::current().all_reduce(reduce_op::sum, 1.0f);
        });
    });
    world.advance(std::chrono::milliseconds{10 + seed});
    BOOST_TEST(world.running("trainer"));
    world.kill("trainer");
    world.restart("trainer");
    world.advance(10ms);
    BOOST_TEST(world.running("trainer"));
  }
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_run_of_replicas_again) {  // S-1
  const auto difference = find_difference([](simulated_world& world) {
    world.host("trainer", [](simulated_host&) { use_collectives(); });
    world.advance(1s);
  });
  BOOST_TEST(!difference.has_value(), difference.value_or(""));
}

BOOST_AUTO_TEST_CASE(a_thread_that_no_seed_controls_ends_the_run) {
  const auto ends_with = [](auto spawn_on) {
    simulated_world world{{.seed = 1}};
    world.host("server", [spawn_on](simulated_host& here) {
      spawn_on(here.system());
      sleep_for(1s);
    });
    BOOST_CHECK_EXCEPTION(world.advance(2s), failed_precondition_error, says("server has started a thread"));
  };
  ends_with([](caf::actor_system& system) { system.spawn<caf::detached>([](caf::event_based_actor*) {}); });
  ends_with([](caf::actor_system& system) { system.spawn([](caf::blocking_actor*) {}); });
  // It has ended before the step has.
  ends_with([](caf::actor_system& system) {
    system.spawn([](caf::blocking_actor*) {});
    system.await_detached_threads();
  });
}

BOOST_AUTO_TEST_SUITE_END()
