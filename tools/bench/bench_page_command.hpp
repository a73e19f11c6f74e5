// `troupe bench --markdown`: measures cases several times and makes a page of the figures.
#pragma once

#include "bench_case.hpp"

#include <string>
#include <vector>

namespace troupe::tools {

struct page_options {
  /// As it stands on the page.
  std::string command;
  int runs = 3;
  measuring_plan plan;
  /// The file that becomes the page when all is measured; empty: standard output.
  std::string output;
};

/// Why the file can't become the page, or nothing. Known before the measuring, which takes long.
std::string obstacle_to_output(const std::string& path);

/// Measures those of the cases that are not left out. Failures are reported on standard error, and on the page.
/// @returns the exit code: EXIT_FAILURE if a case failed in a run. @throws what atomic_file throws.
int make_page(const page_options& options, const std::vector<bench_case>& cases);

}  // namespace troupe::tools
