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

/// Makes the failure smaller, in at most `runs_max` runs:
/// - Faults are left out one half, quarter, ... after the other (delta debugging, Zeller and Hildebrandt 2002). A fault
///   and its end (`restart` of `kill`) are one unit: without its end it would be another fault. A run counts if it
///   fails with the same code.
/// - Single faults of a unit are left out, as ends that make no difference. A run counts if it is the same failure: the
///   code, the message, and the code of the first cause are the same, but for digits in the message. The messages of
///   causes may differ, since one loss can be noticed in several ways.
/// - Choices are no longer drawn, from the last one on. A run counts if it fails with the same code.
/// All of it is repeated until nothing more can be left out. So, unless `runs_max` ends it, a run without any one unit
/// of the plan is good or fails with another code.
void shrink(const scenario& what, const world_options& world, std::uint64_t runs_max, failure& found);

}  // namespace troupe
