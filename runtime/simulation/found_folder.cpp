#include <troupe/device/base/error.hpp>
#include <troupe/runtime/simulation/found_folder.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
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

/// Made if need be; nothing: nobody wants one.
std::optional<std::filesystem::path> folder_of_environment() {
  const auto* const named = std::getenv("TROUPE_FOUND");
  if (named == nullptr) return std::nullopt;
  std::error_code problem;
  std::filesystem::create_directories(named, problem);
  return std::filesystem::absolute(named);
}

}  // namespace

void keep_coverage(const exploration& of) {
  const auto text = of.describe_coverage();
  if (text.empty()) return;
  if (const auto folder = folder_of_environment()) write(*folder / "coverage.txt", text);
}

void keep_found(const failure& found) {
  const auto named = folder_of_environment();
  if (!named) return;
  const auto& folder = *named;
  const auto plan = folder / "plan.json";
  std::error_code problem;
  std::filesystem::remove(plan, problem);
  if (!found.plan.faults.empty()) write(plan, found.plan.to_json() + "\n");
  write(folder / "report.txt", found.report());
  write(folder / "environment", environment_of(found, plan));
  write(folder / "run.html", to_html(found.picture, found.what));
  write(folder / "run.mmd", to_mermaid(found.picture));
}

}  // namespace troupe
