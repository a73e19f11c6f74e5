// One run of a scenario, and the search for the least of it that still fails.
#pragma once

#include <troupe/runtime/exploration.hpp>

#include <optional>
#include <vector>

namespace troupe {

struct run_options_of_world {
  std::uint64_t seed = 1;
  /// All failures of the run.
  fault_plan plan;
  std::uint64_t drawn_choices = 0;
  /// The rest.
  world_options world;
};

/// What a run was like.
struct run_record {
  std::vector<fault_coverage> coverage;
  std::vector<std::size_t> alternatives;
};

/// Nothing: the run is good. `record` is filled in any case.
std::optional<failure> run_once(const scenario& what, run_options_of_world options, run_record* record = nullptr);

/// Makes the failure smaller, in at most so many runs: faults are left out one half, quarter, ... after the other
/// (delta debugging, Zeller and Hildebrandt 2002), then choices are no longer drawn, from the last one on. Another
/// failure than the one that was found counts as well, if it has the same code. A fault goes with its end (`restart`
/// with `kill`): one that never ends would be another fault. At last ends go without which it fails in the same words.
void shrink(const scenario& what, const world_options& world, std::uint64_t runs_max, failure& found);

}  // namespace troupe
