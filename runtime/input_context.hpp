// What a function that makes an input pipeline may know about the others. Semantics:
// examples/reference/semantics.md 1.3 (InputContext).
#pragma once

#include <cstdint>

namespace troupe {

/// Which share of the input a pipeline reads.
struct input_context {
  /// 0 to num_input_pipelines - 1.
  int input_pipeline_id = 0;
  int num_input_pipelines = 1;
  /// Replicas that take part in one step, over all pipelines.
  int num_replicas_in_sync = 1;

  /// The rows that each replica gets of a global batch. Throws invalid_argument_error unless the global batch is
  /// positive and num_replicas_in_sync divides it.
  std::int64_t get_per_replica_batch_size(std::int64_t global_batch_size) const;
  /// Throws invalid_argument_error that names the field that is out of range.
  void check() const;
};

}  // namespace troupe
