// Input that is fetched ahead: training steps on a GPU whose batches cross meanwhile, against the same steps without
// input. On a real GPU, and on an emulated one, where the device is one thread and the copy another.
#include "bench_case.hpp"
#include "bench_devices.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/optimizer_kernels.hpp>
#include <troupe/device/kernels/reduction.hpp>
#include <troupe/runtime/dataset.hpp>
#include <troupe/runtime/dataset_sources.hpp>

#include <functional>
#include <utility>

namespace troupe::tools {

namespace {

constexpr std::int64_t variable_elements = 16 * 1024 * 1024;
constexpr std::int64_t batch_elements = 1024 * 1024;

/// Steps that take some milliseconds: an update of 64 MiB, as often as that needs.
class training {
 public:
  training(const std::string& device, int updates)
      : device_(device), updates_(updates), variable_(zeros()), gradient_(zeros()), velocity_(zeros()) {}

  void step(const tensor& batch) {
    for (auto i = 0; i < updates_; ++i) momentum_update(variable_, velocity_, gradient_, 0.1, 0.9, false);
    reduce_sum(batch).item<float>();  // a loss that the program looks at
  }

 private:
  tensor zeros() const { return tensor::zeros(dtype::float32, {variable_elements}, device_); }

  const std::string device_;
  const int updates_;
  tensor variable_, gradient_, velocity_;
};

std::vector<figure> measure(const measuring_plan& plan, const std::string& device, int updates) {
  const auto on_host = tensor::full({batch_elements}, 1.0f);
  const auto batches = range(1).repeat().map([&](std::int64_t) { return on_host.copy_to(device); });
  training model{device, updates};
  const auto steps_per_second = [&](const std::function<tensor()>& next) {
    return
        [&, next](std::chrono::nanoseconds slice) { return items_per_second(slice, 1, [&] { model.step(next()); }); };
  };
  auto row =
      compare(plan, {"steps/s"}, steps_per_second([input = batches.prefetch(2).iterate()] { return input.next(); }),
              "the same steps without input", steps_per_second([fixed = on_host.copy_to(device)] { return fixed; }));
  row.details = {{"batch bytes", static_cast<std::int64_t>(on_host.size_bytes())},
                 {"device", describe_device(device).model}};
  return {row};
}

}  // namespace

std::vector<bench_case> prefetch_cases() {
  return {
      {.bench = "gpu",
       .name = "prefetch",
       .summary = "steps on a GPU whose batches of 4 MiB are copied meanwhile",
       .measure =
           [](const measuring_plan& plan, cluster&) {
             if (const auto why = missing_gpus(1); !why.empty()) return skipped(why);
             return measure(plan, gpu_names().front(), 30);
           }},
      {.bench = "gpu",
       .name = "emulated-prefetch",
       .summary = "steps on an emulated GPU whose batches of 4 MiB are copied meanwhile",
       .measure = [](const measuring_plan& plan, cluster&) { return measure(plan, emulated_devices().front(), 1); }}};
}

}  // namespace troupe::tools
