#include <troupe/device/base/error.hpp>
#include <troupe/runtime/simulation/found_folder.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace troupe {

namespace {

void write(const std::filesystem::path& path, const std::string& content) {
  std::ofstream file{path};
  file << content << std::flush;
  if (!file)
    throw failed_precondition_error{
        fmt::format("{} can't be written; it was to hold what the search has found "
                    "(TROUPE_FOUND)",
                    path.string())};
}

/// With the plan's place, one variable in a line.
std::string environment_of(const failure& found, const std::filesystem::path& plan) {
  std::istringstream all{found.reproduction()};
  std::string result;
  for (std::string each; all >> each;)
    result += (each.starts_with("TROUPE_PLAN=") ? "TROUPE_PLAN=" + plan.string() : each) + "\n";
  return result;
}

}  // namespace

void keep_found(const failure& found) {
  const auto* const named = std::getenv("TROUPE_FOUND");
  if (named == nullptr) return;
  std::error_code problem;
  std::filesystem::create_directories(named, problem);
  const auto folder = std::filesystem::absolute(named);
  const auto plan = folder / "plan.json";
  std::filesystem::remove(plan, problem);
  if (!found.plan.faults.empty()) write(plan, found.plan.to_json() + "\n");
  write(folder / "report.txt", found.report());
  write(folder / "environment", environment_of(found, plan));
  write(folder / "run.html", to_html(found.picture, found.what));
  write(folder / "run.mmd", to_mermaid(found.picture));
}

}  // namespace troupe
