// GPUs: NCCL through troupe against bare NCCL, and copies to the GPU against a copy from pinned memory.
//
// Where there is no GPU, or troupe was built without CUDA, the rows say so.
#include "bench_case.hpp"
#include "bench_gpu_reference.hpp"

#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/cuda/cuda_device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <thread>

namespace troupe::tools {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::int64_t elements = 16 * 1024 * 1024;
constexpr auto gigabyte = 1e9;

/// A row for what can't be measured on this machine.
std::vector<figure> skipped(const std::string& why) { return {{.unit = "skipped", .reference = why}}; }

/// Why GPUs can't be measured here, or nothing.
std::string missing(int gpus) {
  if (!cuda::is_built()) return "troupe was built without CUDA";
  const auto there = cuda::physical_device_count();
  if (there < gpus) return fmt::format("this machine has {} of {} GPUs", there, gpus);
  return {};
}

// --- push -----------------------------------------------------------------------------------------------------------

std::vector<figure> measure_push(const measuring_plan& plan, cluster&) {
  if (const auto why = missing(1); !why.empty()) return skipped(why);
  const auto device = cuda::device_names().front();
  const auto content = tensor::full({elements}, 1.0f);
  const auto bytes = static_cast<std::int64_t>(content.size_bytes());
  auto row = compare(
      plan, {"GB/s"},
      [&](std::chrono::nanoseconds slice) {
        return items_per_second(slice, bytes,
                                [&] {
                                  const auto copy = content.copy_to(device);
                                  cuda::synchronize(device);
                                }) /
               gigabyte;
      },
      "cudaMemcpy from pinned memory",
      [&](std::chrono::nanoseconds slice) {
        pinned_copy reference{content.size_bytes()};
        return items_per_second(slice, bytes, [&] { reference.copy(); }) / gigabyte;
      });
  row.details.push_back({"device", cuda::describe(device).model});
  return {row};
}

// --- nccl -----------------------------------------------------------------------------------------------------------

double microseconds_per_round(std::chrono::nanoseconds slice, int ranks, const std::function<void(int, int)>& rounds) {
  constexpr auto batch = 20;
  auto done = 0;
  const auto start = clock::now();
  while (clock::now() - start < slice) {
    std::vector<std::jthread> threads;
    for (auto rank = 0; rank < ranks; ++rank) threads.emplace_back([&, rank] { rounds(rank, batch); });
    threads.clear();
    done += batch;
  }
  return std::chrono::duration<double, std::micro>(clock::now() - start).count() / done;
}

std::vector<figure> measure_nccl(const measuring_plan& plan, cluster&) {
  if (const auto why = missing(2); !why.empty()) return skipped(why);
  constexpr auto limit = std::chrono::minutes{1};
  const auto devices = cuda::device_names();
  const auto ranks = static_cast<int>(devices.size());
  const auto ends = make_local_communicators(devices, {.implementation = communication_implementation::nccl});
  std::vector<tensor> values;
  for (const auto& device : devices) values.push_back(tensor::full({elements}, 0.0f).copy_to(device));
  bare_nccl reference{ranks, elements};
  auto row = compare(
      plan, {"us", better::lower},
      [&](std::chrono::nanoseconds slice) {
        return microseconds_per_round(slice, ranks, [&](int rank, int rounds) {
          const auto i = static_cast<std::size_t>(rank);
          for (auto k = 0; k < rounds; ++k) ends[i]->all_reduce(values[i], reduce_op::sum, limit);
          cuda::synchronize(devices[i]);
        });
      },
      fmt::format("bare NCCL on {} GPUs, 64 MiB", ranks),
      [&](std::chrono::nanoseconds slice) {
        return microseconds_per_round(slice, ranks, [&](int rank, int rounds) { reference.all_reduce(rank, rounds); });
      });
  row.details.push_back({"device", cuda::describe(devices.front()).model});
  return {row};
}

}  // namespace

std::vector<bench_case> gpu_cases() {
  return {
      {.bench = "gpu",
       .name = "nccl",
       .summary = "all_reduce of 64 MiB on all GPUs of this machine",
       .measure = measure_nccl},
      {.bench = "gpu", .name = "push", .summary = "copying 64 MiB from the host to a GPU", .measure = measure_push}};
}

}  // namespace troupe::tools
