// Variables that a server keeps on its GPU: written and read from the host, against copies from and to pinned memory.
// On an emulated GPU, against copies of the host's.
#include "bench_case.hpp"
#include "bench_devices.hpp"
#include "bench_gpu_reference.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/variable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace troupe::tools {

namespace {

constexpr std::int64_t elements = 16 * 1024 * 1024;
constexpr auto bytes = elements * static_cast<std::int64_t>(sizeof(float));

measurement gigabytes_per_second(std::function<void()> move) {
  return
      [move = std::move(move)](std::chrono::nanoseconds slice) { return items_per_second(slice, bytes, move) / 1e9; };
}

enum class direction { push, pull };

/// `device`: of this process, which is the server.
std::vector<figure> measure(const measuring_plan& plan, cluster& here, direction where, const std::string& device,
                            std::string reference, const measurement& theirs) {
  parameter_server_strategy strategy{here, {.server_device = device}};
  const auto content = tensor::full({elements}, 1.0f);
  const auto large = strategy.variable("large", content);
  auto row =
      compare(plan, {"GB/s"},
              gigabytes_per_second([&] { where == direction::push ? large.assign(content) : void(large.read()); }),
              std::move(reference), theirs);
  row.details.push_back({"device", describe_device(device).model});
  return {row};
}

bench_case real_case(direction where) {
  return {.bench = "gpu",
          .name = where == direction::push ? "server-push" : "server-pull",
          .summary = where == direction::push ? "assigning 64 MiB to a variable on a server's GPU"
                                              : "reading a variable of 64 MiB on a server's GPU",
          .measure = [where](const measuring_plan& plan, cluster& here) {
            if (const auto why = missing_gpus(1); !why.empty()) return skipped(why);
            pinned_copy reference{static_cast<std::size_t>(bytes)};
            return measure(plan, here, where, gpu_names().front(), "cudaMemcpy with pinned memory",
                           gigabytes_per_second(
                               [&] { where == direction::push ? reference.copy_to_gpu() : reference.copy_to_host(); }));
          }};
}

bench_case emulated_case(direction where) {
  return {.bench = "gpu",
          .name = where == direction::push ? "emulated-server-push" : "emulated-server-pull",
          .summary = where == direction::push ? "assigning 64 MiB to a variable on a server's emulated GPU"
                                              : "reading a variable of 64 MiB on a server's emulated GPU",
          .measure = [where](const measuring_plan& plan, cluster& here) {
            const auto device = emulated_devices().front();
            const auto content = tensor::full({elements}, 1.0f);
            return measure(plan, here, where, device, "a copy in the host's memory", gigabytes_per_second([&] {
                             auto copy = content;
                             copy.mutable_values<float>().front() = 2;
                           }));
          }};
}

}  // namespace

std::vector<bench_case> gpu_server_cases() {
  std::vector<bench_case> cases;
  for (const auto where : {direction::push, direction::pull}) {
    cases.push_back(real_case(where));
    cases.push_back(emulated_case(where));
  }
  return cases;
}

}  // namespace troupe::tools
