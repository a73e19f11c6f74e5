// A run of `troupe chaos`, from its start to its end, and a program for it that waits for what the faults do.
#pragma once

#include "test_program.hpp"

#include <troupe/runtime/fault_plan.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace troupe {

using words = std::vector<std::string>;
words operator+(words left, const words& right);

struct chaos_run_result {
  /// As a shell would say it.
  int exit_code = 0;
  /// Of standard output and standard error.
  std::string output;
  /// What --report says; null: there is none.
  nlohmann::json report;

  /// "held", "BROKEN", "unknown": of the invariant that has this in its name.
  std::string result_of(std::string_view what) const;
};

/// Runs `troupe chaos` with these arguments, by this launcher, until it ends. It fails the test if that takes longer
/// than 60 s.
chaos_run_result run_chaos(const words& arguments, const words& launcher = {});

/// The same with this plan, and a report.
chaos_run_result run_chaos(const fault_plan& plan, words arguments, const words& launcher = {});

/// The plan that `troupe chaos` draws with these options.
fault_plan plan_drawn_by(const words& options);

/// The arguments for a job that is a shell's program, with this part for the chief; all others wait until they are
/// ended.
words chief_runs(const std::string& script);

/// This test's executable with `waits_for_losses`, which ends when each of so many workers has been lost and has run a
/// closure after that.
words waiting_for_losses_of(int workers);

}  // namespace troupe
