#include <troupe/device/base/error.hpp>
#include <troupe/runtime/input_context.hpp>
#include <troupe/runtime/input_options.hpp>

#include <fmt/format.h>

namespace troupe {

std::int64_t input_context::get_per_replica_batch_size(std::int64_t global_batch_size) const {
  check();
  if (global_batch_size <= 0 || global_batch_size % num_replicas_in_sync != 0) {
    throw invalid_argument_error{
        fmt::format("a global batch of {} cannot be divided among {} replicas; expected a positive multiple of {}",
                    global_batch_size, num_replicas_in_sync, num_replicas_in_sync)};
  }
  return global_batch_size / num_replicas_in_sync;
}

void input_context::check() const {
  if (num_input_pipelines < 1) {
    throw invalid_argument_error{
        fmt::format("input_context: num_input_pipelines is {}; expected 1 or more", num_input_pipelines)};
  }
  if (input_pipeline_id < 0 || input_pipeline_id >= num_input_pipelines) {
    throw invalid_argument_error{
        fmt::format("input_context: input_pipeline_id is {}; expected 0 or more and less than the {} input pipelines",
                    input_pipeline_id, num_input_pipelines)};
  }
  if (num_replicas_in_sync < 1) {
    throw invalid_argument_error{
        fmt::format("input_context: num_replicas_in_sync is {}; expected 1 or more", num_replicas_in_sync)};
  }
}

void input_options::check() const {
  if (per_replica_buffer_size < 0) {
    throw invalid_argument_error{fmt::format(
        "input_options: per_replica_buffer_size is {}; expected 0 (no prefetching) or more", per_replica_buffer_size)};
  }
  if (!place_dataset_on_device) return;
  if (replication_mode != input_replication_mode::per_replica) {
    throw invalid_argument_error{
        "input_options: place_dataset_on_device needs replication_mode per_replica: a pipeline that replicas share "
        "has no device of its own; set per_replica, or use fetch_to_device"};
  }
  if (fetch_to_device) {
    throw invalid_argument_error{
        "input_options: place_dataset_on_device and fetch_to_device exclude each other: elements of a pipeline on the "
        "device need not be fetched to it; set one of them to false"};
  }
}

}  // namespace troupe
