// How `troupe bench` measures: troupe and its reference alternately, in the same process, several times.
//
// Machines are shared and change their speed, so a figure alone says little: what counts is the ratio to a reference
// that was measured between the same moments. Rates are the median of the repetitions; latencies are percentiles over
// the calls of all repetitions. Each side runs once, unmeasured, before.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe::tools {

/// A further column of a row, for benches that have an established table.
struct detail {
  std::string name;
  std::variant<std::int64_t, double, std::string> value;
  bool operator==(const detail&) const = default;
};

/// What the figures of cases are compared with that nothing else does the like of: the reference is a fixed target.
inline constexpr auto the_goal = "the goal";

/// The unit of a row that could not be measured; its reference is the reason.
inline constexpr auto skipped_unit = "skipped";

/// One row of the output. A ratio above 1 means that troupe is better than the reference.
struct figure {
  double value = 0;
  std::string unit;
  std::string reference;
  double reference_value = 0;
  double ratio = 0;
  /// Percentiles of troupe's latencies, in `unit`.
  std::optional<double> p50, p99;
  std::vector<detail> details = {};
};

/// One object with the keys that issue trackers and plots rely on: bench, case, value, unit, reference,
/// reference_value, ratio, and where they apply p50, p99, and an object with the details.
std::string to_json(const figure& row, const std::string& bench, const std::string& name);
/// The inverse, without the two names. @throws data_loss_error for a text that to_json did not write.
figure figure_from_json(const std::string& text);

/// How long a case measures.
struct measuring_plan {
  double seconds = 5;
  int repetitions = 5;

  /// The time of one repetition of one side.
  std::chrono::nanoseconds slice() const;
};

enum class better { higher, lower };

struct quantity {
  std::string unit;
  better direction = better::higher;
};

/// What was measured in about `slice`.
using measurement = std::function<double(std::chrono::nanoseconds slice)>;
/// The latency of each call that was made in about `slice`.
using latency_measurement = std::function<std::vector<double>(std::chrono::nanoseconds slice)>;

/// A figure with the medians of both sides.
figure compare(const measuring_plan& plan, const quantity& what, const measurement& ours, std::string reference,
               const measurement& theirs);
/// A figure with the given percentile (0 to 1) of both sides.
figure compare_latencies(const measuring_plan& plan, std::string unit, double percentile,
                         const latency_measurement& ours, std::string reference, const latency_measurement& theirs);

/// The value below which this share of the values lies (nearest rank). At least one value.
double percentile_of(std::vector<double> values, double share);

/// Repeats `round`, which does `items` things, for the time; returns things per second.
template <class Round>
double items_per_second(std::chrono::nanoseconds slice, std::int64_t items, Round round) {
  const auto start = std::chrono::steady_clock::now();
  std::int64_t done = 0;
  std::chrono::duration<double> elapsed{};
  do {
    round();
    done += items;
    elapsed = std::chrono::steady_clock::now() - start;
  } while (elapsed < slice);
  return static_cast<double>(done) / elapsed.count();
}

/// Repeats `call` for the time; returns how long each took, in the period's unit (std::micro: microseconds).
template <class Period, class Call>
std::vector<double> latencies(std::chrono::nanoseconds slice, Call call) {
  using clock = std::chrono::steady_clock;
  std::vector<double> result;
  const auto end = clock::now() + slice;
  for (auto before = clock::now(); before < end || result.empty();) {
    call();
    const auto after = clock::now();
    result.push_back(std::chrono::duration<double, Period>(after - before).count());
    before = after;
  }
  return result;
}

}  // namespace troupe::tools
