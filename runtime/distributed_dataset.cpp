#include <troupe/device/base/device_name.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/distributed_dataset.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe::detail {

row_range divide_rows(std::int64_t rows, std::int64_t parts, std::int64_t index) {
  const auto least = rows / parts;
  const auto remainder = rows % parts;
  const auto begin = index * least + std::min(index, remainder);
  return {begin, begin + least + (index < remainder ? 1 : 0)};
}

void check_distribution_from_function(const std::vector<std::string>& devices, const input_context& context,
                                      const input_options& options) {
  if (devices.empty()) {
    throw invalid_argument_error{"a distributed dataset needs the device of at least one replica; none was given"};
  }
  for (const auto& each : devices) {
    if (device_name::parse(each).has_device()) continue;
    throw invalid_argument_error{fmt::format("\"{}\" names no device; expected a name such as \"CPU:0\"", each)};
  }
  context.check();
  options.check();
}

void check_distribution(const std::vector<std::string>& devices, const input_context& context,
                        const input_options& options) {
  check_distribution_from_function(devices, context, options);
  if (options.replication_mode == input_replication_mode::per_replica) {
    throw unimplemented_error{
        "distribute_dataset: one dataset cannot be a pipeline for each replica; use replication_mode per_worker, or "
        "distribute_datasets_from_function"};
  }
  const auto replicas = devices.size() * static_cast<std::size_t>(context.num_input_pipelines);
  if (replicas != static_cast<std::size_t>(context.num_replicas_in_sync)) {
    throw invalid_argument_error{
        fmt::format("distribute_dataset: {} input pipelines with {} replicas each are {} replicas, but "
                    "num_replicas_in_sync is {}; every process must have the same number of replicas",
                    context.num_input_pipelines, devices.size(), replicas, context.num_replicas_in_sync)};
  }
}

}  // namespace troupe::detail
