// Why, and for how long, each member was kept from its chief, and for how long it was out.
#pragma once

#include "chaos_report.hpp"

#include <chrono>
#include <optional>
#include <vector>

namespace troupe::tools {

using time_point = std::chrono::steady_clock::time_point;

/// A time in which something keeps a member from its chief.
struct hindrance {
  const injection* cause = nullptr;
  time_point begin;
  /// Nothing: until the job's end.
  std::optional<time_point> end;
  /// How long it lasts by the plan, of what a later fault ended.
  std::optional<duration> planned;
  /// However short it is, the chief hears of it.
  bool is_sure = false;
  /// However long it is, the chief may bear it.
  bool is_bearable = false;
};

/// All that kept this member from its chief, by their beginnings. Slow links do if answers over them are so late that a
/// silence of this length comes near.
std::vector<hindrance> hindrances_of(const task_id& member, const job_record& job,
                                     std::chrono::duration<double> silence);
/// When the chief itself was frozen.
std::vector<hindrance> stops_of_chief(const job_record& job);

/// A time in which the chief did without a member.
struct absence {
  time_point begin;
  /// Nothing: it was never back.
  std::optional<time_point> end;
  /// Before it came for the first time.
  bool is_first = false;
};

/// What the chief saw of this member. It begins with the one before the member came.
std::vector<absence> absences_of(const task_id& member, const job_record& job);

}  // namespace troupe::tools
