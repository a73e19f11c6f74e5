// Replicas in step: one merge_call, one all_reduce of a strategy, one step of mirrored training.
#include "bench_case.hpp"
#include "bench_rounds.hpp"
#include "fashion_mnist/data.hpp"
#include "fashion_mnist/mirrored_training.hpp"
#include "fashion_mnist/network.hpp"

#include <troupe/device/collectives/thread_communicator.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>

#include <fmt/format.h>

#include <barrier>
#include <functional>
#include <thread>

namespace troupe::tools {

namespace {

namespace example = fashion_mnist;

mirrored_strategy strategy_of(cluster& here, int replicas) {
  std::vector<std::string> devices;
  for (auto i = 0; i < replicas; ++i) devices.push_back(fmt::format("CPU:{}", i));
  return mirrored_strategy{here.system(), devices};
}

// --- merge ----------------------------------------------------------------------------------------------------------

std::vector<figure> measure_merge(const measuring_plan& plan, cluster& here, int replicas) {
  const auto strategy = strategy_of(here, replicas);
  std::barrier<> reference{replicas};
  return {compare(
      plan, {"us", better::lower},
      [&](std::chrono::nanoseconds slice) {
        return microseconds_in_replicas(slice, strategy,
                                        [] { replica_context::current().merge_call([](troupe::strategy&) {}); });
      },
      fmt::format("std::barrier of {} threads", replicas),
      [&](std::chrono::nanoseconds slice) {
        return microseconds_per_round(
            slice, [&](int rounds) { on_threads(replicas, rounds, [&](int) { reference.arrive_and_wait(); }); });
      })};
}

bench_case merge_case(int replicas) {
  return {
      .bench = "merge",
      .name = fmt::format("replicas-{}", replicas),
      .summary = fmt::format("one merge_call of {} replicas in one process", replicas),
      .measure = [replicas](const measuring_plan& plan, cluster& here) { return measure_merge(plan, here, replicas); }};
}

// --- a strategy's all_reduce ----------------------------------------------------------------------------------------

std::vector<figure> measure_strategy_overhead(const measuring_plan& plan, cluster& here) {
  constexpr auto ranks = 2;
  constexpr auto limit = std::chrono::minutes{1};
  constexpr std::int64_t elements = 1024;
  const auto strategy = strategy_of(here, ranks);
  const auto ends = make_thread_communicators(ranks);
  std::vector<tensor> values(ranks, tensor::zeros(dtype::float32, {elements}));
  return {compare(
      plan, {"us", better::lower},
      [&](std::chrono::nanoseconds slice) {
        return microseconds_in_replicas(slice, strategy, [mine = tensor::zeros(dtype::float32, {elements})]() mutable {
          mine = replica_context::current().all_reduce(reduce_op::sum, mine);
        });
      },
      "the bare communicator, 4 KiB",
      [&](std::chrono::nanoseconds slice) {
        return microseconds_per_round(slice, [&](int rounds) {
          on_threads(ranks, rounds, [&](int rank) {
            ends[static_cast<std::size_t>(rank)]->all_reduce(values[static_cast<std::size_t>(rank)], reduce_op::sum,
                                                             limit);
          });
        });
      })};
}

// --- a step of mirrored training ------------------------------------------------------------------------------------

/// Two replicas' parts of one global batch.
per_replica<example::batch> two_halves(const example::labelled_images& images, std::int64_t size) {
  return per_replica<example::batch>{
      {example::batch_of(images, 0, size / 2), example::batch_of(images, size / 2, size)}};
}

/// The parts of a step, one after the other: both replicas' gradients and updates at once, then the bare all_reduce.
struct parts_of_step {
  static constexpr auto replicas = 2;
  const example::recipe& recipe;
  const per_replica<example::batch>& halves;
  std::vector<std::unique_ptr<communicator>> ends = make_thread_communicators(replicas);
  one_device_strategy first{"CPU:0"};
  one_device_strategy second{"CPU:1"};
  example::mirrored_network first_network = example::make_mirrored_network(first, recipe);
  example::mirrored_network second_network = example::make_mirrored_network(second, recipe);
  std::vector<std::vector<tensor>> gradients{
      std::vector<std::vector<tensor>>(replicas, example::initial_parameters(recipe.seed))};

  /// Everything but the reduction: each strategy has one replica, which reduces with nobody.
  void compute(int rounds) {
    const auto train = [&](const strategy& alone, const example::mirrored_network& network, std::size_t half) {
      const per_replica<example::batch> mine{{halves[half]}};
      for (auto i = 0; i < rounds; ++i)
        example::mirrored_step(alone, network, mine, 2 * mine[0].size(), recipe, i, rounds);
    };
    std::jthread other{[&] { train(second, second_network, 1); }};
    train(first, first_network, 0);
  }

  void reduce(int rounds) {
    constexpr auto limit = std::chrono::minutes{1};
    on_threads(replicas, rounds, [&](int rank) {
      for (auto& each : gradients[static_cast<std::size_t>(rank)])
        ends[static_cast<std::size_t>(rank)]->all_reduce(each, reduce_op::mean, limit);
    });
  }
};

std::vector<figure> measure_step(const measuring_plan& plan, cluster& here) {
  const example::recipe recipe{.batch_size = 256};
  const auto images = example::load_dataset().test;
  const auto halves = two_halves(images, recipe.batch_size);
  const auto strategy = strategy_of(here, parts_of_step::replicas);
  const auto network = example::make_mirrored_network(strategy, recipe);
  parts_of_step parts{recipe, halves};
  return {compare(
      plan, {"us", better::lower},
      [&](std::chrono::nanoseconds slice) {
        return microseconds_per_round(slice, [&](int rounds) {
          for (auto i = 0; i < rounds; ++i)
            example::mirrored_step(strategy, network, halves, recipe.batch_size, recipe, i, rounds);
        });
      },
      "compute alone + reduce alone",
      [&](std::chrono::nanoseconds slice) {
        return microseconds_per_round(slice / 2, [&](int rounds) { parts.compute(rounds); }) +
               microseconds_per_round(slice / 2, [&](int rounds) { parts.reduce(rounds); });
      })};
}

}  // namespace

std::vector<bench_case> replica_cases() {
  return {merge_case(2),
          merge_case(4),
          merge_case(8),
          {.bench = "all_reduce",
           .name = "strategy-overhead",
           .summary = "4 KiB all_reduce of a mirrored strategy's two replicas",
           .measure = measure_strategy_overhead},
          {.bench = "replicas",
           .name = "step",
           .summary = "one step of mirrored training of the Fashion-MNIST network, 2 replicas, batch 256",
           .measure = measure_step}};
}

}  // namespace troupe::tools
