// Lesson 4: functions that run on several replicas in step. See README.md beside this file.
#include "program_arguments.hpp"

#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/strategy_extended.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace troupe;

namespace {

template <class T>
std::vector<T> all(const strategy& here, const per_replica<T>& values) {
  return here.local_results(values);
}

/// All replicas bring a value; one function sees all of them.
void merge() {
  const mirrored_strategy strategy{{"CPU:0", "CPU:1"}};
  const auto results = strategy.run(
      [](float three) {
        const auto context = replica_context::current();
        const auto v = three + static_cast<float>(context.replica_id_in_sync_group());
        const auto sum = context.merge_call(
            [](auto& here, const per_replica<float>& values) {
              auto total = 0.0f;
              for (const auto each : here.local_results(values)) total += each;
              return total;
            },
            v);
        return sum + v;
      },
      3.0f);
  fmt::print("merge_call:  {}\n", all(strategy, results));
}

/// A dataset's batches are divided over the replicas; their results are reduced.
void run_and_reduce() {
  const mirrored_strategy strategy{{"CPU:0", "CPU:1"}};
  const auto batches = from_tensor_slices(tensor::of({5.0f, 6.0f, 7.0f, 8.0f})).batch(2);
  const auto iterator = strategy.distribute_dataset(batches).iterate();
  while (const auto inputs = iterator.next_or_end()) {
    const auto doubled = strategy.run(
        [](tensor mine) {
          add_in_place(mine, mine);
          return mine;
        },
        *inputs);
    const auto sum = strategy.reduce(reduce_op::sum, doubled, 0).item<float>();
    fmt::print("run, reduce: {} and {} make {}\n", doubled[0].item<float>(), doubled[1].item<float>(), sum);
  }
}

/// How optimizers update a variable: reduce what the replicas have, then update each copy.
void update() {
  const mirrored_strategy strategy{{"CPU:0", "CPU:1"}};
  const auto v = strategy.variable("v", 1.0f);
  strategy.run([&] {
    const auto context = replica_context::current();
    const auto gradient = static_cast<float>(1 + context.replica_id_in_sync_group());
    context.merge_call(
        [&](auto& here, const per_replica<float>& gradients) {
          const auto extended = here.extended();
          const auto sum = extended.reduce_to(variable_aggregation::sum, gradients, v);
          extended.update(
              v, [](const variable_component& mine, float total) { mine.assign_sub(0.1f * total); }, sum);
        },
        gradient);
  });
  fmt::print("update:      {:.2f}\n", v.item<float>());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App options{"Runs functions on two replicas of this process, in step", "replicas"};
  options.footer(
      "Exit codes:\n"
      "  0     done\n"
      "  2     wrong usage");
  if (const auto code = examples::read_arguments(options, {argv + 1, argv + argc})) return *code;
  merge();
  run_and_reduce();
  update();
  return exit_code::success;
}
