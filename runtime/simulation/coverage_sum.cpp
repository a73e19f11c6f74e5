#include <troupe/runtime/simulation/coverage_sum.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace troupe {

void coverage_sum::add(const std::vector<fault_coverage>& of_run, bool is_good) {
  // A site counts once for a run, however many of its faults are in the plan.
  std::map<std::string, site_coverage> run;
  for (const auto& each : of_run) {
    auto& site = run[each.site];
    site.site = each.site;
    site.is_point = each.is_point;
    site.runs = 1;
    site.reached += each.reached;
    site.fired += each.fired;
    if (is_good) site.survived += each.fired;
  }
  for (const auto& [_, site] : run) add(site);
}

void coverage_sum::add(const site_coverage& more) {
  auto& site = sites_[more.site];
  site.site = more.site;
  site.is_point = more.is_point;
  site.runs += more.runs;
  site.reached += more.reached;
  site.fired += more.fired;
  site.survived += more.survived;
}

std::string coverage_sum::write() const {
  auto all = nlohmann::json::array();
  for (const auto& [name, site] : sites_)
    all.push_back({name, site.is_point, site.runs, site.reached, site.fired, site.survived});
  // Names come from the application, in any encoding.
  const auto bytes = nlohmann::json::to_msgpack(all);
  return {bytes.begin(), bytes.end()};
}

void coverage_sum::add_written(const std::string& text) {
  // It had no room to say anything.
  if (text.empty()) return;
  for (const auto& each : nlohmann::json::from_msgpack(text))
    add(site_coverage{.site = each.at(0),
                      .is_point = each.at(1),
                      .runs = each.at(2),
                      .reached = each.at(3),
                      .fired = each.at(4),
                      .survived = each.at(5)});
}

std::vector<site_coverage> coverage_sum::sites() const {
  std::vector<site_coverage> result;
  for (const auto& [_, site] : sites_) result.push_back(site);
  return result;
}

// --- as text --------------------------------------------------------------------------------------------------------

std::string exploration::describe_coverage() const {
  std::string faults;
  std::string points;
  std::string unreached;
  for (const auto& each : coverage) {
    if (each.is_point) {
      points += fmt::format("  {} in {} runs: reached {} times\n", each.site, each.runs, each.reached);
      continue;
    }
    faults +=
        fmt::format("  {:>9} {:>9} {:>9} {:>9}  {}\n", each.runs, each.reached, each.fired, each.survived, each.site);
    if (each.reached == 0) unreached += "  " + each.site + "\n";
  }
  std::string result;
  if (!faults.empty())
    result += fmt::format("  {:>9} {:>9} {:>9} {:>9}\n{}", "runs", "reached", "fired", "survived", faults);
  if (!points.empty()) result += "fault points of the program:\n" + points;
  if (!unreached.empty()) result += "never reached:\n" + unreached;
  return result;
}

}  // namespace troupe
