// A search whose runs are shared by several processes.
#pragma once

#include <troupe/runtime/exploration.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace troupe {

struct found_in_process {
  /// By all processes together.
  std::uint64_t runs = 0;
  bool fails = false;
  /// How the run ended its process.
  std::optional<std::string> crash;
  /// Of the run that fails or crashed.
  std::uint64_t seed = 0;
};

/// Each of the processes calls `fails` for its share of the seeds, the known ones first; the first that fails ends the
/// others. @throws resource_exhausted_error when no process can be made.
found_in_process explore_in_processes(const std::function<bool(std::uint64_t seed)>& fails,
                                      const exploration_options& options);

}  // namespace troupe
