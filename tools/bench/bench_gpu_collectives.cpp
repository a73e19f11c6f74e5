// Reductions between GPUs: by the communicator and by a strategy, of one tensor and of a model's gradients, against
// bare NCCL; and beside the computation of a backward pass, against that alone. On emulated GPUs what a strategy adds
// to its communicator, and how much of the reductions' time the computation hides.
#include "bench_case.hpp"
#include "bench_devices.hpp"
#include "bench_gpu_reference.hpp"
#include "bench_rounds.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/collectives/packing.hpp>
#include <troupe/device/kernels/custom_kernel.hpp>
#include <troupe/device/kernels/matmul.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::tools {

namespace {

using names = std::vector<std::string>;

constexpr auto limit = std::chrono::minutes{1};
constexpr auto by_nccl = communication_implementation::nccl;

tensor zeros_on(const std::string& device, std::int64_t bytes) {
  return tensor::zeros(dtype::float32, {bytes / static_cast<std::int64_t>(sizeof(float))}, device);
}

figure with_device(figure row, const std::string& device) {
  row.details.push_back({"device", describe_device(device).model});
  return row;
}

// --- one tensor ------------------------------------------------------------------------------------------------------

measurement bare_all_reduce(bare_nccl& reference, int ranks) {
  return [&reference, ranks](std::chrono::nanoseconds slice) {
    return microseconds_per_round(
        slice, [&](int rounds) { on_threads(ranks, 1, [&](int rank) { reference.all_reduce(rank, rounds); }); });
  };
}

measurement all_reduce_by_communicator(const names& devices, std::int64_t bytes) {
  struct group {
    std::vector<std::unique_ptr<communicator>> ends;
    std::vector<tensor> values;
  };
  const auto all = std::make_shared<group>();
  all->ends = make_local_communicators(devices, {.implementation = by_nccl});
  for (const auto& device : devices) all->values.push_back(zeros_on(device, bytes));
  return [all](std::chrono::nanoseconds slice) {
    return microseconds_per_round(slice, [&](int rounds) {
      on_threads(static_cast<int>(all->ends.size()), rounds, [&](int rank) {
        const auto i = static_cast<std::size_t>(rank);
        all->ends[i]->all_reduce(all->values[i], reduce_op::sum, limit);
      });
    });
  };
}

measurement all_reduce_by_strategy(const names& devices, std::int64_t bytes) {
  const mirrored_strategy strategy{devices, {.communication = {.implementation = by_nccl}}};
  std::vector<tensor> values;
  for (const auto& device : devices) values.push_back(zeros_on(device, bytes));
  return [strategy, values = per_replica<tensor>{std::move(values)}](std::chrono::nanoseconds slice) {
    return microseconds_per_round(slice, [&](int rounds) {
      strategy.run(
          [rounds](tensor mine) {
            for (auto i = 0; i < rounds; ++i) mine = replica_context::current().all_reduce(reduce_op::sum, mine);
          },
          values);
    });
  };
}

/// By `ours`, against bare NCCL on all GPUs.
std::vector<figure> compare_with_nccl(const measuring_plan& plan, std::int64_t bytes, std::int64_t reference_bytes,
                                      measurement (*ours)(const names&, std::int64_t)) {
  if (const auto why = missing_gpus(2); !why.empty()) return skipped(why);
  const auto devices = gpu_names();
  const auto ranks = static_cast<int>(devices.size());
  bare_nccl reference{ranks, reference_bytes / static_cast<std::int64_t>(sizeof(float))};
  return {
      with_device(compare(plan, {"us", better::lower}, ours(devices, bytes),
                          fmt::format("bare NCCL on {} GPUs, in one call", ranks), bare_all_reduce(reference, ranks)),
                  devices.front())};
}

struct named_size {
  std::string name;
  std::int64_t bytes;
};

bench_case strategy_case(const named_size& size) {
  return {.bench = "gpu",
          .name = "strategy-" + size.name,
          .summary = fmt::format("a strategy's all_reduce of {} on all GPUs of this machine", size.name),
          .measure = [bytes = size.bytes](const measuring_plan& plan, cluster&) {
            return compare_with_nccl(plan, bytes, bytes, all_reduce_by_strategy);
          }};
}

std::vector<figure> compare_emulated_strategy(const measuring_plan& plan, cluster&) {
  constexpr std::int64_t bytes = 64 << 10;
  const auto devices = emulated_devices();
  return {compare(plan, {"us", better::lower}, all_reduce_by_strategy(devices, bytes), "the bare communicator",
                  all_reduce_by_communicator(devices, bytes))};
}

// --- gradients -------------------------------------------------------------------------------------------------------

constexpr auto gradients = 200;
constexpr std::int64_t gradient_bytes = 2'000'000;

measurement all_reduce_of_gradients(const names& devices, std::int64_t bytes_of_each) {
  struct group {
    std::vector<std::unique_ptr<communicator>> ends;
    std::vector<std::vector<tensor>> gradients_of_ranks;
  };
  const auto all = std::make_shared<group>();
  all->ends = make_local_communicators(devices, {.implementation = by_nccl});
  for (const auto& device : devices) {
    auto& mine = all->gradients_of_ranks.emplace_back();
    for (auto i = 0; i < gradients; ++i) mine.push_back(zeros_on(device, bytes_of_each));
  }
  return [all](std::chrono::nanoseconds slice) {
    return microseconds_per_round(slice, [&](int rounds) {
      on_threads(static_cast<int>(all->ends.size()), rounds, [&](int rank) {
        const auto i = static_cast<std::size_t>(rank);
        all_reduce_packed(*all->ends[i], all->gradients_of_ranks[i], reduce_op::sum, {}, limit);
      });
    });
  };
}

// --- beside the backward pass ----------------------------------------------------------------------------------------

/// What a device computes for one layer; it queues that.
using layer = void (*)(const std::string& device);

/// Some milliseconds of a large GPU.
void multiply(const std::string& device) {
  constexpr std::int64_t extent = 4096;
  const auto x = tensor::zeros(dtype::float32, {extent, extent}, device);
  matmul(x, x);
}

/// Of an emulated GPU which computes without the host's processors, as a real one does.
void pass_time(const std::string& device) {
  auto passed = tensor::uninitialised(dtype::uint8, {1}, device);
  launch({.name = "layer",
          .on_host = [](std::span<tensor>,
                        std::span<const tensor>) { std::this_thread::sleep_for(std::chrono::milliseconds{3}); }},
         {&passed});
}

constexpr auto layers = 10;
constexpr std::int64_t layer_bytes = 8 << 20;

measurement steps(const mirrored_strategy& strategy, layer compute, bool reduces) {
  return [strategy, compute, reduces](std::chrono::nanoseconds slice) {
    return 1e6 / microseconds_in_replicas(slice, strategy, [compute, reduces] {
             const auto context = replica_context::current();
             const auto device = context.devices().front();
             std::vector<started_reduction<tensor>> on_their_way;
             for (auto i = 0; i < layers; ++i) {
               compute(device);
               auto gradient = tensor::uninitialised(dtype::float32,
                                                     {layer_bytes / static_cast<std::int64_t>(sizeof(float))}, device);
               if (reduces) on_their_way.push_back(context.start_all_reduce(reduce_op::sum, gradient));
             }
             for (auto& each : on_their_way) each.get();
             synchronize_device(device);
           });
  };
}

std::vector<figure> measure_overlap(const measuring_plan& plan, const names& devices, layer compute) {
  const mirrored_strategy strategy{devices, {.communication = {.implementation = by_nccl}}};
  return {with_device(compare(plan, {"steps/s"}, steps(strategy, compute, true), "the same computation alone",
                              steps(strategy, compute, false)),
                      devices.front())};
}

}  // namespace

std::vector<bench_case> gpu_collective_cases() {
  std::vector<bench_case> cases{
      {.bench = "gpu",
       .name = "nccl",
       .summary = "all_reduce of 64 MiB on all GPUs of this machine",
       .measure =
           [](const measuring_plan& plan, cluster&) {
             constexpr std::int64_t bytes = 64 << 20;
             return compare_with_nccl(plan, bytes, bytes, all_reduce_by_communicator);
           }},
      {.bench = "gpu",
       .name = "gradients",
       .summary = "the sum of 400 MB in 200 tensors on all GPUs of this machine",
       .measure =
           [](const measuring_plan& plan, cluster&) {
             return compare_with_nccl(plan, gradient_bytes, gradients * gradient_bytes, all_reduce_of_gradients);
           }},
      {.bench = "gpu",
       .name = "overlap",
       .summary = "a backward pass of 10 layers, of 8 MiB each, that are reduced on all GPUs meanwhile",
       .measure =
           [](const measuring_plan& plan, cluster&) {
             if (const auto why = missing_gpus(2); !why.empty()) return skipped(why);
             return measure_overlap(plan, gpu_names(), multiply);
           }},
      {.bench = "gpu",
       .name = "emulated-overlap",
       .summary = "a backward pass of 10 layers, of 3 ms and 8 MiB each, that are reduced on emulated GPUs meanwhile",
       .measure = [](const measuring_plan& plan,
                     cluster&) { return measure_overlap(plan, emulated_devices(), pass_time); }},
      {.bench = "gpu",
       .name = "emulated-strategy",
       .summary = "a strategy's all_reduce of 64 KiB on emulated GPUs",
       .measure = compare_emulated_strategy}};
  for (const auto& size : {named_size{"8B", 8}, {"64KiB", 64 << 10}, {"64MiB", 64 << 20}, {"1GiB", 1 << 30}})
    cases.push_back(strategy_case(size));
  return cases;
}

}  // namespace troupe::tools
