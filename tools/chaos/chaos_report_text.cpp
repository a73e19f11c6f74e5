#include "chaos_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>

namespace troupe::tools {

namespace {

using verdict = invariant::verdict;

std::string_view text_of(verdict result) {
  switch (result) {
    case verdict::held:
      return "held";
    case verdict::broken:
      return "BROKEN";
    default:
      return "unknown";
  }
}

std::string line_of(std::string_view name, const spread& times) {
  if (times.count == 0) return fmt::format("  {:<20} {:>6}        -        -        -\n", name, 0);
  return fmt::format("  {:<20} {:>6} {:>8.3f} {:>8.3f} {:>8.3f}\n", name, times.count, times.p50, times.p99, times.max);
}

nlohmann::json json_of(const spread& times) {
  return {{"count", times.count}, {"p50_s", times.p50}, {"p99_s", times.p99}, {"max_s", times.max}};
}

}  // namespace

std::string to_text(const chaos_report& report) {
  auto result = fmt::format("chaos: the job took {:.1f} s\n", report.seconds);
  for (const auto& [kind, count] : report.injected) result += fmt::format("  {:<20} {:>6}\n", kind, count);
  if (report.not_done != 0)
    result += fmt::format("  {:<20} {:>6}  (nothing to break or to mend)\n", "not done", report.not_done);
  if (report.left_out != 0) result += fmt::format("  {:<20} {:>6}  (the job had ended)\n", "left out", report.left_out);
  result += fmt::format("  {:<20} {:>6} {:>8} {:>8} {:>8}\n", "seconds", "count", "p50", "p99", "max");
  result += line_of("noticed after", report.noticed_after);
  result += line_of("back after", report.back_after);
  result += fmt::format("  {:<20} {:>6}\n", "members lost", report.losses);
  result += fmt::format("  {:<20} {:>6}\n", "closures run again", report.closures_run_again);
  for (const auto& each : report.invariants)
    result += fmt::format("  {:<8} {}{}{}\n", text_of(each.result), each.what, each.why.empty() ? "" : ": ", each.why);
  return result;
}

std::string to_json(const chaos_report& report, std::optional<std::uint64_t> seed) {
  auto invariants = nlohmann::json::array();
  for (const auto& each : report.invariants)
    invariants.push_back({{"what", each.what}, {"result", text_of(each.result)}, {"why", each.why}});
  nlohmann::json all{{"seconds", report.seconds},
                     {"injected", report.injected},
                     {"not_done", report.not_done},
                     {"left_out", report.left_out},
                     {"noticed_after", json_of(report.noticed_after)},
                     {"back_after", json_of(report.back_after)},
                     {"members_lost", report.losses},
                     {"closures_run_again", report.closures_run_again},
                     {"invariants", invariants},
                     {"exit_code", exit_code_of(report)}};
  if (seed) all["seed"] = *seed;
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace troupe::tools
