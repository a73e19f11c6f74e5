#include "bench_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace troupe::tools {

namespace {

// --- numbers ---------------------------------------------------------------------------------------------------------

std::string with_separators(std::string digits) {
  for (auto place = static_cast<std::ptrdiff_t>(digits.size()) - 3; place > 0; place -= 3)
    digits.insert(static_cast<std::size_t>(place), 1, ',');
  return digits;
}

/// At least three significant digits, four of thousands; whole numbers without a decimal point.
std::string number_text(double x) {
  if (x == 0 || !std::isfinite(x)) return fmt::format("{:g}", x);
  const auto magnitude = static_cast<int>(std::floor(std::log10(std::abs(x))));
  const auto last_digit = std::pow(10.0, magnitude - 2);
  const auto rounded = std::round(x / last_digit) * last_digit;
  if (rounded >= 1000 && rounded < 10'000) return with_separators(fmt::format("{:.0f}", x));
  if (rounded >= 1000) return with_separators(fmt::format("{:.0f}", rounded));
  const auto decimals = x == std::floor(x) ? 0 : std::clamp(2 - magnitude, 0, 9);
  return fmt::format("{:.{}f}", rounded, decimals);
}

std::string with_unit(const std::string& text, const std::string& unit) {
  if (unit.empty()) return text;
  return unit == "/s" || unit == "1/s" ? text + "/s" : text + ' ' + unit;
}

// --- rows ------------------------------------------------------------------------------------------------------------

/// Row `index` of each run that has it.
std::vector<figure> rows_of(const page_case& which, std::size_t index) {
  std::vector<figure> rows;
  for (const auto& run : which.runs)
    if (index < run.size()) rows.push_back(run[index]);
  return rows;
}

std::size_t row_count(const page_case& which) {
  std::size_t count = 0;
  for (const auto& run : which.runs) count = std::max(count, run.size());
  return count;
}

std::vector<double> values_of(const std::vector<figure>& rows, double figure::*member) {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const auto& row : rows) values.push_back(row.*member);
  return values;
}

/// Which percentile a latency is; nothing for other quantities, and where both percentiles are the same.
std::string percentile_name(const std::vector<figure>& rows) {
  const auto is_always = [&](std::optional<double> figure::*percentile) {
    return std::all_of(rows.begin(), rows.end(), [&](const figure& row) { return row.*percentile == row.value; });
  };
  const auto is_p50 = is_always(&figure::p50);
  const auto is_p99 = is_always(&figure::p99);
  if (is_p50 == is_p99) return {};
  return is_p50 ? "p50 " : "p99 ";
}

std::string row_text(const page_case& which, std::size_t index) {
  const auto rows = rows_of(which, index);
  const auto& first = rows.front();
  return fmt::format("| `{}` | {} | {}{} | {} | {} | {} |\n", escape_cell(which.name), escape_cell(which.summary),
                     percentile_name(rows), format_runs(values_of(rows, &figure::value), first.unit),
                     format_runs(values_of(rows, &figure::reference_value), first.unit),
                     first.reference == the_goal ? "goal" : escape_cell(first.reference),
                     format_runs(values_of(rows, &figure::ratio), {}));
}

bool is_skipped(const page_case& which) {
  return !which.runs.empty() && !which.runs.front().empty() && which.runs.front().front().unit == skipped_unit;
}

std::string table_of(const page_section& section) {
  std::string rows;
  for (const auto& each : section.cases)
    for (std::size_t i = 0; !is_skipped(each) && i < row_count(each); ++i) rows += row_text(each, i);
  if (rows.empty()) return {};
  return "| case | what is measured | troupe | reference | what the reference is | ratio |\n"
         "|---|---|---|---|---|---|\n" +
         rows + '\n';
}

// --- what is not in a table ------------------------------------------------------------------------------------------

/// Names of cases that share a reason.
struct reason_group {
  std::string reason;
  std::vector<std::string> names;
};

void add_to_groups(std::vector<reason_group>& groups, const std::string& reason, const std::string& name) {
  auto found =
      std::find_if(groups.begin(), groups.end(), [&](const reason_group& each) { return each.reason == reason; });
  if (found == groups.end()) found = groups.insert(groups.end(), {reason, {}});
  found->names.push_back(name);
}

/// The names, or how many there are.
std::string names_text(const reason_group& group) {
  constexpr std::size_t names_max = 12;
  if (group.names.size() > names_max) return fmt::format("{} more cases", group.names.size());
  return fmt::format("`{}`", fmt::join(group.names, "`, `"));
}

std::string remarks_of(const page_section& section, int runs) {
  std::vector<reason_group> skipped;
  std::vector<reason_group> left_out;
  std::string text;
  for (const auto& each : section.cases) {
    if (is_skipped(each)) add_to_groups(skipped, each.runs.front().front().reference, each.name);
    if (!each.left_out_because.empty()) add_to_groups(left_out, each.left_out_because, each.name);
    if (each.runs_failed > 0)
      text += fmt::format("- `{}` failed in {} of {} runs.\n", each.name, each.runs_failed, runs);
  }
  for (const auto& each : skipped) text += fmt::format("- Skipped: {}: {}.\n", names_text(each), each.reason);
  for (const auto& each : left_out)
    text += fmt::format("- Not measured here: {}: {}. Command: `troupe bench {} --case {}`.\n", names_text(each),
                        each.reason, section.bench, each.names.size() == 1 ? each.names.front() : "CASE");
  return text.empty() ? text : text + '\n';
}

// --- the head --------------------------------------------------------------------------------------------------------

std::string machine_text(const page_head& head) {
  auto text = fmt::format("| | |\n|---|---|\n| commit | `{}` |\n| date | {} |\n", head.commit, head.date);
  for (const auto& [name, value] : head.machine)
    text += fmt::format("| {} | {} |\n", escape_cell(name), escape_cell(value));
  text += fmt::format("| runs | {} of each case, each for about {:g} s unless the case has a fixed amount of work |\n",
                      head.runs, head.seconds);
  return text;
}

std::string rules_text() {
  return fmt::format(
      "- Each run measures troupe and its reference one after the other, several times.\n"
      "- A ratio above 1 means that troupe is better than its reference, for rates and for times.\n"
      "- A number is the median of the runs. Where the runs differ by more than {:g} % of their median, the smallest "
      "and\n"
      "  the largest value stand in its place.\n"
      "- \"p50\" and \"p99\" are percentiles over all calls of a run, for troupe and for the reference.\n"
      "- The reference \"goal\" is a fixed target, not a measurement.\n"
      "- A machine that does other work at the same time changes times more than ratios: compare ratios.\n",
      page_spread_max * 100);
}

std::string contents_text(const std::vector<page_section>& sections) {
  constexpr std::size_t links_in_line = 5;
  std::string text = "Benches:";
  for (std::size_t i = 0; i < sections.size(); ++i)
    text += fmt::format("{0}[{1}](#{1}){2}", i > 0 && i % links_in_line == 0 ? '\n' : ' ', sections[i].bench,
                        i + 1 < sections.size() ? "," : ".\n");
  return text;
}

}  // namespace

std::string format_runs(std::vector<double> values, const std::string& unit) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const auto median = percentile_of(values, 0.5);
  if (*most - *least > page_spread_max * std::abs(median))
    return with_unit(fmt::format("{} to {}", number_text(*least), number_text(*most)), unit);
  return with_unit(number_text(median), unit);
}

std::string escape_cell(std::string_view text) {
  std::string result;
  for (const auto c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string to_markdown(const page_head& head, const std::vector<page_section>& sections) {
  auto text = fmt::format(
      "# Figures\n\nThis page is the output of the command below, which measures troupe and its references. To change "
      "the page, run "
      "the\ncommand.\n\n```sh\n{}\n```\n\n{}\n{}\n{}\n",
      head.command, machine_text(head), rules_text(), contents_text(sections));
  for (const auto& each : sections)
    text +=
        fmt::format("## {}\n\n{}\n\n{}{}", each.bench, each.description, table_of(each), remarks_of(each, head.runs));
  text.pop_back();  // one line break ends the page
  return text;
}

}  // namespace troupe::tools
