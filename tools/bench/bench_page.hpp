// The page that `troupe bench --markdown` makes of figures that were measured several times.
//
// Pure functions: they measure nothing and know nothing of this machine.
#pragma once

#include "bench_harness.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::tools {

/// Runs that differ by more than this share of their median are shown as a range.
inline constexpr double page_spread_max = 0.1;

/// What the page states before its tables.
struct page_head {
  std::string command;
  std::string commit;
  std::string date;
  /// Name and value, such as "memory" and "8 GiB".
  std::vector<std::pair<std::string, std::string>> machine;
  int runs = 1;
  double seconds = 0;
};

/// One case, measured several times.
struct page_case {
  std::string name;
  std::string summary;
  /// The figures of each run that did not fail.
  std::vector<std::vector<figure>> runs = {};
  int runs_failed = 0;
  /// Not empty: it was not measured.
  std::string left_out_because = {};
};

/// One bench.
struct page_section {
  std::string bench;
  std::string description;
  std::vector<page_case> cases;
};

/// The median of the runs with its unit; the smallest and the largest value instead where they differ by more than
/// `page_spread_max` of the median. Three significant digits, four for thousands. At least one value.
std::string format_runs(std::vector<double> values, const std::string& unit);

/// The text as a cell of a Markdown table.
std::string escape_cell(std::string_view text);

/// The whole page.
std::string to_markdown(const page_head& head, const std::vector<page_section>& sections);

}  // namespace troupe::tools
