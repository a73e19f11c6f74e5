// One GPU: copies to it against a copy from pinned memory, and kernels against what a copy within the GPU reaches of
// its memory's bandwidth.
//
// Where there is no GPU, or troupe was built without CUDA, the rows say so.
#include "bench_case.hpp"
#include "bench_devices.hpp"
#include "bench_gpu_reference.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/optimizer_kernels.hpp>
#include <troupe/device/kernels/reduction.hpp>

#include <functional>

namespace troupe::tools {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::int64_t elements = 16 * 1024 * 1024;
constexpr auto gigabyte = 1e9;

// --- copies ---------------------------------------------------------------------------------------------------------

/// `ours` moves 64 MiB between the host's tensor and the GPU's.
bench_case copy_case(std::string name, std::string summary,
                     std::function<void(const tensor& on_host, const tensor& on_gpu)> ours,
                     void (pinned_copy::*theirs)()) {
  auto measure = [ours = std::move(ours), theirs](const measuring_plan& plan, cluster&) {
    if (const auto why = missing_gpus(1); !why.empty()) return skipped(why);
    const auto device = gpu_names().front();
    const auto on_host = tensor::full({elements}, 1.0f);
    const auto on_gpu = on_host.copy_to(device);
    const auto bytes = static_cast<std::int64_t>(on_host.size_bytes());
    auto row = compare(
        plan, {"GB/s"},
        [&](std::chrono::nanoseconds slice) {
          return items_per_second(slice, bytes, [&] { ours(on_host, on_gpu); }) / gigabyte;
        },
        "cudaMemcpy with pinned memory",
        [&](std::chrono::nanoseconds slice) {
          pinned_copy reference{on_host.size_bytes()};
          return items_per_second(slice, bytes, [&] { (reference.*theirs)(); }) / gigabyte;
        });
    row.details.push_back({"device", describe_device(device).model});
    return std::vector{row};
  };
  return {.bench = "gpu", .name = std::move(name), .summary = std::move(summary), .measure = std::move(measure)};
}

// --- kernels --------------------------------------------------------------------------------------------------------

/// Tensors of 64 MiB on the first GPU.
struct operands {
  std::string device = gpu_names().front();
  tensor variable = of(1);
  tensor x = of(0.5f);
  tensor m = of(0);
  tensor v = of(0);

  tensor of(float value) const { return tensor::full({elements}, value).copy_to(device); }
};

/// So many are queued at once; a GPU's queue holds about a thousand.
constexpr auto launches = 100;

/// The bytes that `kernel` reads and writes, each time it is called, in a second.
bench_case kernel_case(std::string name, std::string summary, int operands_moved,
                       std::function<void(operands&)> kernel) {
  auto measure = [operands_moved, kernel = std::move(kernel)](const measuring_plan& plan, cluster&) {
    if (const auto why = missing_gpus(1); !why.empty()) return skipped(why);
    operands on_gpu;
    const auto bytes = static_cast<std::int64_t>(on_gpu.x.size_bytes());
    auto row = compare(
        plan, {"GB/s"},
        [&](std::chrono::nanoseconds slice) {
          return items_per_second(slice, launches * operands_moved * bytes,
                                  [&] {
                                    for (auto i = 0; i < launches; ++i) kernel(on_gpu);
                                    synchronize_device(on_gpu.device);
                                  }) /
                 gigabyte;
        },
        "a copy within the GPU, its reads and writes",
        [&](std::chrono::nanoseconds slice) {
          bare_gpu reference{on_gpu.x.size_bytes()};
          return items_per_second(slice, launches * 2 * bytes,
                                  [&] {
                                    for (auto i = 0; i < launches; ++i) reference.copy();
                                    reference.synchronize();
                                  }) /
                 gigabyte;
        });
    row.details.push_back({"device", describe_device(on_gpu.device).model});
    return std::vector{row};
  };
  return {.bench = "gpu", .name = std::move(name), .summary = std::move(summary), .measure = std::move(measure)};
}

/// Until `enqueue` returns, on the CPU, while the GPU is not behind.
template <class Enqueue, class Synchronize>
double microseconds_to_enqueue(std::chrono::nanoseconds slice, const Enqueue& enqueue, const Synchronize& synchronize) {
  std::chrono::duration<double, std::micro> enqueuing{};
  auto count = 0;
  const auto end = clock::now() + slice;
  do {
    const auto start = clock::now();
    for (auto i = 0; i < launches; ++i) enqueue();
    enqueuing += clock::now() - start;
    count += launches;
    synchronize();
  } while (clock::now() < end);
  return enqueuing.count() / count;
}

std::vector<figure> measure_launch(const measuring_plan& plan, cluster&) {
  if (const auto why = missing_gpus(1); !why.empty()) return skipped(why);
  const auto device = gpu_names().front();
  auto target = tensor::full({4}, 0.0f).copy_to(device);
  const auto x = tensor::full({4}, 1.0f).copy_to(device);
  auto row = compare(
      plan, {"us", better::lower},
      [&](std::chrono::nanoseconds slice) {
        return microseconds_to_enqueue(
            slice, [&] { add_in_place(target, x); }, [&] { synchronize_device(device); });
      },
      "cudaMemsetAsync",
      [&](std::chrono::nanoseconds slice) {
        bare_gpu reference{target.size_bytes()};
        return microseconds_to_enqueue(
            slice, [&] { reference.set_few_bytes(); }, [&] { reference.synchronize(); });
      });
  row.details.push_back({"device", describe_device(device).model});
  return {row};
}

}  // namespace

std::vector<bench_case> gpu_cases() {
  return {copy_case(
              "push", "copying 64 MiB from the host to a GPU",
              [](const tensor& on_host, const tensor& on_gpu) { on_host.copy_to(on_gpu.device()); },
              &pinned_copy::copy_to_gpu),
          copy_case(
              "pull", "copying 64 MiB from a GPU to the host",
              [](const tensor&, const tensor& on_gpu) { on_gpu.copy_to("CPU:0"); }, &pinned_copy::copy_to_host),
          kernel_case("add", "adding 64 MiB to 64 MiB on a GPU", 3,
                      [](operands& on_gpu) { add_in_place(on_gpu.variable, on_gpu.x); }),
          kernel_case("sum", "summing 64 MiB up on a GPU", 1, [](operands& on_gpu) { reduce_sum(on_gpu.x); }),
          kernel_case("adam", "a step of Adam on a GPU, with 64 MiB of gradients", 7,
                      [](operands& on_gpu) {
                        adam_update(on_gpu.variable, on_gpu.m, on_gpu.v, on_gpu.x, 0.001, 0.9, 0.999, 1e-7, 1);
                      }),
          {.bench = "gpu",
           .name = "launch",
           .summary = "from the call of a kernel until it is queued",
           .measure = measure_launch}};
}

}  // namespace troupe::tools
