// A search whose runs are shared by several processes.
#pragma once

#include <troupe/runtime/exploration.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct found_in_process {
  /// By all processes together.
  std::uint64_t runs = 0;
  bool fails = false;
  /// How the run ended its process.
  std::optional<std::string> crash;
  /// Of the run that fails or crashed.
  std::uint64_t seed = 0;
  /// What the processes said that came to their end.
  std::vector<std::string> told;
};

/// Each of the processes calls `fails` for its share of the seeds, the known ones first; the first that fails ends the
/// others. At its end it says what `tell` gives there.
/// @throws resource_exhausted_error when no process can be made.
found_in_process explore_in_processes(const std::function<bool(std::uint64_t seed)>& fails,
                                      const std::function<std::string()>& tell, const exploration_options& options);

}  // namespace troupe
