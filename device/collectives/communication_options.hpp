// How collectives are performed: hints that never change a result. Semantics: examples/reference/semantics.md 1.5, 3.1.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// Which implementation reduces: `automatic` chooses by the devices of the group. `ring`: through the hosts' memory.
/// `nccl`: NCCL over all GPUs of the group, also those of other processes, where `automatic` has one replica of each
/// process stand for its others; an error where it can't be (communication_plan.hpp).
enum class communication_implementation : std::uint8_t { automatic, ring, nccl };

std::string to_string(communication_implementation which);
/// Whatever the case: "AUTO", "ring", "NCCL". Throws invalid_argument_error that lists the names.
communication_implementation communication_implementation_from_string(std::string_view name);

struct communication_options {
  /// Small tensors travel together in packs of about so many bytes; 0: the implementation chooses.
  std::int64_t bytes_per_pack = 0;
  /// Each collective's deadline; 0: the strategy's own limit.
  std::chrono::nanoseconds timeout{0};
  communication_implementation implementation = communication_implementation::automatic;

  /// Throws invalid_argument_error that names a negative field.
  void check() const;
  /// These options, with those of `other` that are not default taken from there.
  communication_options merge(const communication_options& other) const;

  bool operator==(const communication_options&) const = default;
};

}  // namespace troupe
