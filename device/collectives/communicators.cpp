#include <troupe/device/base/device_name.hpp>
#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/collectives/internal/through_host_communicator.hpp>
#include <troupe/device/collectives/nccl_communicator.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>
#include <troupe/device/cuda/cuda_device.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <set>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

constexpr std::chrono::nanoseconds join_limit = std::chrono::seconds{30};

using communicator_list = std::vector<std::unique_ptr<communicator>>;

bool is_gpu(const std::string& device) { return device_name::parse(device).type == "GPU"; }

void check_devices(std::span<const std::string> devices) {
  if (devices.empty()) throw invalid_argument_error{"a group of no devices has no communicators; name at least one"};
  std::set<std::pair<std::string, int>> seen;
  for (const auto& device : devices) {
    const auto name = device_name::parse(device);
    if (!name.has_device()) {
      throw invalid_argument_error{
          fmt::format("\"{}\" names no device; expected a name like \"CPU:0\" or \"GPU:0\"", device)};
    }
    if (!seen.emplace(name.type, name.index).second) {
      throw invalid_argument_error{
          fmt::format("\"{}\" is named twice among the devices {}; expected another device for each replica", device,
                      fmt::join(devices, ", "))};
    }
  }
}

// Why NCCL cannot serve these devices; empty if it can.
std::string_view reason_against_nccl(std::span<const std::string> devices) {
  if (!std::ranges::all_of(devices, is_gpu)) return "NCCL connects GPUs only";
  std::set<int> physical;
  for (const auto& device : devices) physical.insert(cuda::physical_index_of(device));
  if (physical.size() < devices.size()) return "some of them are logical devices of one GPU, which NCCL refuses";
  return "";
}

communicator_list join_nccl(communicator_list controls, std::span<const std::string> devices,
                            std::chrono::nanoseconds limit) {
  // All ranks join at the same time, each on a thread of its own.
  std::vector<std::future<std::unique_ptr<communicator>>> joining;
  for (auto rank = std::size_t{0}; rank < devices.size(); ++rank) {
    joining.push_back(
        std::async(std::launch::async, make_nccl_communicator, std::move(controls[rank]), devices[rank], limit));
  }
  communicator_list joined;
  for (auto& each : joining) joined.push_back(each.get());
  return joined;
}

}  // namespace

communicator_list make_local_communicators(std::span<const std::string> devices, const communication_options& options) {
  options.check();
  check_devices(devices);
  auto group = make_thread_communicators(static_cast<int>(devices.size()));
  if (options.implementation == communication_implementation::nccl) {
    if (const auto reason = reason_against_nccl(devices); !reason.empty()) {
      throw invalid_argument_error{
          fmt::format("the implementation \"nccl\" cannot serve the devices {}: {}; use \"auto\"",
                      fmt::join(devices, ", "), reason)};
    }
  }
  const auto uses_nccl = options.implementation == communication_implementation::nccl ||
                         (options.implementation == communication_implementation::automatic && is_nccl_built() &&
                          reason_against_nccl(devices).empty());
  if (uses_nccl) {
    return join_nccl(std::move(group), devices, options.timeout.count() > 0 ? options.timeout : join_limit);
  }
  for (auto rank = std::size_t{0}; rank < devices.size(); ++rank) {
    if (is_gpu(devices[rank])) group[rank] = make_through_host_communicator(std::move(group[rank]), devices[rank]);
  }
  return group;
}

}  // namespace troupe
