// What the lessons that search for runs that go wrong have in common: their option --runs, their exit codes, their
// main.
#pragma once

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>

namespace troupe::examples {

enum class search_exit { nothing_found = 0, found = 1, usage_error = 2 };

inline constexpr auto footer_of_search =
    "Exit codes:\n"
    "  0     all runs did what they must\n"
    "  1     a run did not\n"
    "  2     wrong usage (options, or TROUPE_... variables of a search), or a file can't be read or written";

/// Adds --runs. `runs` holds its default.
inline void add_runs(CLI::App& options, std::uint64_t& runs) {
  options.add_option("--runs", runs, "seeds to try")
      ->check(CLI::Range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max(), "at least 1"))
      ->capture_default_str();
}

/// Reads the command line into `options`, and exits with what `search` returns. What it throws is a search that can't
/// be, as findings are no exceptions.
template <class Search>
int run_search(CLI::App& options, int argc, char** argv, const Search& search) {
  options.footer(footer_of_search);
  auto end = search_exit::usage_error;
  try {
    options.parse(argc, argv);
    end = search();
  } catch (const CLI::ParseError& stop) {
    if (options.exit(stop) == 0) end = search_exit::nothing_found;
  } catch (const std::exception& failed) {
    fmt::print(stderr, "{}: {}\n", options.get_name(), failed.what());
  }
  return static_cast<int>(end);
}

}  // namespace troupe::examples
