// What a job's faults have led to: from what was done to it, what its chief saw, and how it ended.
//
// A fault keeps a member from its chief for a time: from a kill or switch_off to the restart, from a freeze to the
// thaw, from a cut of their link to its heal; a reset of their link for a moment. If the member was in, and that time
// is longer than a silence may be (of a kill, a loss of power and a reset: always), the chief must notice within
// `notice_limit`: that is *noticed after*. From when nothing is in its way any more, the member must be back within
// `return_limit`: that is *back after*, counted from its loss if that came later. Faults that are still open at the
// chief's end, and those of which the chief itself was frozen, are not judged. A fault that by the plan is shorter than
// a silence may be, and is longer only because this machine was too busy to end it in time, and which the chief does
// not notice, makes the answer unknown: the chief may have been late in the same way.
//
// A slow link keeps nobody away, unless it is very slow. One on which a question and its answer take as long as a
// silence may be is like a cut. On one that may be late by a quarter of that each way, a member may be lost or not, and
// need not be back before it is healed.
#pragma once

#include "fault_injector.hpp"

#include <troupe/runtime/cluster/event_file.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::tools {

struct chaos_limits {
  std::chrono::duration<double> job{600};
  /// Shorter silences than this need not be noticed.
  std::chrono::duration<double> silence{3};
  std::chrono::duration<double> notice{10};
  std::chrono::duration<double> back{30};
};

/// How it went.
struct job_record {
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  /// From then on nobody notices anything; nothing: it did not end before the job.
  std::optional<std::chrono::steady_clock::time_point> chief_end;
  /// The chief's; 128 + the number of the signal that ended it.
  std::optional<int> exit_code;
  bool over_limit = false;
  std::vector<task_id> tasks;
  std::vector<injection> injections;
  /// Faults whose time had not come.
  std::size_t left_out = 0;
  /// What the chief saw; nothing: it told nothing, as it is no program of `run`.
  std::optional<std::vector<recorded_event>> events;
  /// Processes of the job's that are there after its end.
  std::vector<pid_t> processes_left;
};

/// Of some durations, in seconds.
struct spread {
  std::size_t count = 0;
  double p50 = 0;
  double p99 = 0;
  double max = 0;
};

struct invariant {
  enum class verdict { held, broken, unknown };
  std::string what;
  verdict result = verdict::held;
  /// Why it is broken or unknown, the first few cases.
  std::string why;
};

struct chaos_report {
  std::map<std::string, std::size_t> injected;
  std::size_t not_done = 0;
  std::size_t left_out = 0;
  double seconds = 0;
  spread noticed_after;
  spread back_after;
  std::uint64_t losses = 0;
  std::uint64_t closures_run_again = 0;
  /// The first is that the job has succeeded.
  std::vector<invariant> invariants;
};

chaos_report examine(const job_record& job, const chaos_limits& limits);

/// What the command exits with.
struct chaos_exit {
  static constexpr int good = 0;
  static constexpr int job_failed = 1;
  static constexpr int usage = 2;
  static constexpr int invariant_broken = 3;
  static constexpr int impossible = 4;
};
int exit_code_of(const chaos_report& report);

/// A table for people, and the same as JSON.
std::string to_text(const chaos_report& report);
std::string to_json(const chaos_report& report, std::optional<std::uint64_t> seed);

}  // namespace troupe::tools
