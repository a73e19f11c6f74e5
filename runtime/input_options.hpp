// How a distributed dataset brings its elements to the replicas. Semantics: examples/reference/semantics.md 1.3
// (InputOptions).
#pragma once

#include <cstdint>

namespace troupe {

/// Whether the replicas of a process share one input pipeline, or have one each.
enum class input_replication_mode : std::uint8_t { per_worker, per_replica };

struct input_options {
  /// Elements lie on their replica's device when the iterator gives them; else in host memory.
  bool fetch_to_device = true;
  /// `per_replica` is for distribute_datasets_from_function only.
  input_replication_mode replication_mode = input_replication_mode::per_worker;
  /// Each replica's pipeline ends on the replica's device. For `per_replica` and without fetch_to_device only.
  bool place_dataset_on_device = false;
  /// Steps that are prepared ahead of the replicas by a thread of the iterator's own; 0: none, and no thread.
  int per_replica_buffer_size = 1;

  /// Throws invalid_argument_error that names the field or the combination at fault.
  void check() const;
};

}  // namespace troupe
