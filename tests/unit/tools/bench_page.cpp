// What the page of figures shows of runs: medians, ranges, goals, and what was not measured.
#include "../tools/bench/bench_descriptions.hpp"
#include "../tools/bench/bench_page.hpp"

#include <troupe/device/base/error.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(bench_page_suite)

namespace {

using namespace troupe;
using namespace troupe::tools;

figure row_with(double value) {
  return {.value = value, .unit = "us", .reference = "raw CAF", .reference_value = 10, .ratio = 10 / value};
}

/// A page of one bench with this one case.
std::string page_of(page_case which) {
  return to_markdown({.command = "troupe bench --markdown", .commit = "abc", .date = "today", .runs = 3, .seconds = 2},
                     {{"call", "Calls.", {std::move(which)}}});
}

bool contains(const std::string& text, const std::string& part) {
  const auto found = text.find(part) != std::string::npos;
  if (!found) BOOST_TEST_MESSAGE("\"" << part << "\" is not in:\n" << text);
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(runs_that_are_close_are_shown_as_their_median) {
  BOOST_TEST(format_runs({95, 100, 104}, "us") == "100 us");
  BOOST_TEST(format_runs({7}, "us") == "7 us");
}

BOOST_AUTO_TEST_CASE(runs_that_differ_by_more_than_ten_percent_of_their_median_are_shown_as_a_range) {
  BOOST_TEST(format_runs({95, 100, 105}, "us") == "100 us");  // just as much
  BOOST_TEST(format_runs({106, 95, 100}, "us") == "95 to 106 us");
  BOOST_TEST(format_runs({0, 0, 1}, "lost") == "0 to 1 lost");
}

BOOST_AUTO_TEST_CASE(numbers_have_three_significant_digits_and_separators) {
  BOOST_TEST(format_runs({1'695'502}, "1/s") == "1,700,000/s");
  BOOST_TEST(format_runs({12'345}, "/s") == "12,300/s");
  BOOST_TEST(format_runs({2153.4}, "ms") == "2,153 ms");
  BOOST_TEST(format_runs({999.96}, "ms") == "1,000 ms");
  BOOST_TEST(format_runs({2.0449}, {}) == "2.04");
  BOOST_TEST(format_runs({0.00390625}, "MiB") == "0.00391 MiB");
  BOOST_TEST(format_runs({0}, "B") == "0 B");
}

BOOST_AUTO_TEST_CASE(a_row_has_value_reference_and_ratio) {
  const auto page = page_of({.name = "processes", .summary = "one call", .runs = {{row_with(5)}, {row_with(5)}}});
  BOOST_TEST(contains(page, "| `processes` | one call | 5 us | 10 us | raw CAF | 2 |\n"));
}

BOOST_AUTO_TEST_CASE(each_number_is_a_range_of_its_own) {
  const auto page = page_of({.name = "processes", .summary = "one call", .runs = {{row_with(5)}, {row_with(8)}}});
  BOOST_TEST(contains(page, "| 5 to 8 us | 10 us | raw CAF | 1.25 to 2 |\n"));
}

BOOST_AUTO_TEST_CASE(a_fixed_target_is_named_a_goal) {
  auto row = row_with(5);
  row.reference = the_goal;
  BOOST_TEST(contains(page_of({.name = "freeze", .summary = "p99", .runs = {{row}}}), "| 5 us | 10 us | goal | 2 |"));
}

BOOST_AUTO_TEST_CASE(a_latency_says_which_percentile_it_is) {
  auto row = row_with(5);
  row.p50 = 5;
  row.p99 = 9;
  BOOST_TEST(contains(page_of({.name = "a", .summary = "b", .runs = {{row}}}), "| p50 5 us |"));
  row.value = 9;
  BOOST_TEST(contains(page_of({.name = "a", .summary = "b", .runs = {{row}}}), "| p99 9 us |"));
  row.p50 = 9;  // of a single call
  BOOST_TEST(contains(page_of({.name = "a", .summary = "b", .runs = {{row}}}), "| 9 us |"));
}

BOOST_AUTO_TEST_CASE(all_figures_of_a_case_have_a_row) {
  const auto page = page_of({.name = "a", .summary = "b", .runs = {{row_with(5), row_with(1)}, {row_with(5)}}});
  BOOST_TEST(contains(page, "| `a` | b | 5 us |"));
  BOOST_TEST(contains(page, "| `a` | b | 1 us |"));
}

BOOST_AUTO_TEST_CASE(a_skipped_case_has_its_reason_and_no_row) {
  const figure skipped{.unit = skipped_unit, .reference = "this machine has 0 of 2 GPUs"};
  const auto page = page_of({.name = "nccl", .summary = "all GPUs", .runs = {{skipped}, {skipped}}});
  BOOST_TEST(contains(page, "- Skipped: `nccl`: this machine has 0 of 2 GPUs.\n"));
  BOOST_TEST(!contains(page, "| `nccl`"));
  BOOST_TEST(!contains(page, "| case |"));
}

BOOST_AUTO_TEST_CASE(cases_that_are_left_out_share_a_line_with_their_command) {
  const auto page =
      to_markdown({}, {{"all_reduce",
                        "Sums.",
                        {{.name = "a", .summary = "b", .left_out_because = "other sizes"},
                         {.name = "c", .summary = "d", .left_out_because = "other sizes"}}},
                       {"recovery", "Kills.", {{.name = "e", .summary = "f", .left_out_because = "long"}}}});
  BOOST_TEST(
      contains(page, "- Not measured here: `a`, `c`: other sizes. Command: `troupe bench all_reduce --case CASE`.\n"));
  BOOST_TEST(contains(page, "- Not measured here: `e`: long. Command: `troupe bench recovery --case e`.\n"));
}

BOOST_AUTO_TEST_CASE(many_cases_that_are_left_out_are_counted) {
  page_section section{"all_reduce", "Sums.", {}};
  for (auto i = 0; i < 13; ++i)
    section.cases.push_back({.name = "a", .summary = "b", .left_out_because = "other sizes"});
  BOOST_TEST(contains(to_markdown({}, {section}), "- Not measured here: 13 more cases: other sizes."));
}

BOOST_AUTO_TEST_CASE(a_failed_run_is_named_and_the_others_count) {
  const auto page = page_of({.name = "a", .summary = "b", .runs = {{row_with(5)}}, .runs_failed = 2});
  BOOST_TEST(contains(page, "| `a` | b | 5 us |"));
  BOOST_TEST(contains(page, "- `a` failed in 2 of 3 runs.\n"));
}

BOOST_AUTO_TEST_CASE(a_cell_stays_a_cell_whatever_is_in_it) {
  BOOST_TEST(escape_cell("a | b\nc") == "a \\| b c");
  auto row = row_with(5);
  row.reference = "this | that";
  BOOST_TEST(
      contains(page_of({.name = "a", .summary = "x|y", .runs = {{row}}}), "| x\\|y | 5 us | 10 us | this \\| that |"));
}

BOOST_AUTO_TEST_CASE(the_head_names_command_commit_and_machine) {
  const auto page = to_markdown({.command = "troupe bench --markdown --runs 2",
                                 .commit = "1234567-dirty",
                                 .date = "2025-01-31 (UTC)",
                                 .machine = {{"memory", "8 GiB"}},
                                 .runs = 2,
                                 .seconds = 0.5},
                                {{"call", "Calls.", {}}});
  BOOST_TEST(contains(page, "```sh\ntroupe bench --markdown --runs 2\n```\n"));
  BOOST_TEST(contains(page, "| commit | `1234567-dirty` |\n"));
  BOOST_TEST(contains(page, "| memory | 8 GiB |\n"));
  BOOST_TEST(contains(page, "| runs | 2 of each case"));
  BOOST_TEST(contains(page, "more than 10 % of their median"));
  BOOST_TEST(contains(page, "[call](#call)"));
}

BOOST_AUTO_TEST_CASE(a_bench_without_a_description_is_refused_by_its_name) {
  BOOST_TEST(!describe_bench("schedule").empty());
  BOOST_CHECK_EXCEPTION(describe_bench("nothing"), internal_error,
                        [](const error& wrong) { return wrong.message().find("nothing") != std::string::npos; });
}

BOOST_AUTO_TEST_SUITE_END()
