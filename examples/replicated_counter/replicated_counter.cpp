// Lesson 8: tests a protocol of one's own. Searches for a run in which an acknowledged addition is lost, and shows what
// it takes.
#include "counter_protocol.hpp"

#include <troupe/runtime/exploration.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <limits>
#include <string>

using namespace std::chrono_literals;

namespace {

namespace exit_code {
constexpr int nothing_found = 0;
constexpr int found = 1;
constexpr int usage_error = 2;
}  // namespace exit_code

constexpr auto exit_codes =
    "Exit codes:\n"
    "  0     no run has lost an addition\n"
    "  1     a run has\n"
    "  2     wrong usage (options, or TROUPE_... variables of a search), or a file can't be written";

void write(const std::string& path, const std::string& content) {
  std::ofstream file{path};
  file << content << std::flush;
  if (!file) throw troupe::failed_precondition_error{fmt::format("can't write the picture to {}", path)};
}

int search(bool acknowledges_first, std::uint64_t runs, const std::string& picture) {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = troupe::explore(
      [=](troupe::simulated_world& world) { troupe::replicated_counter::play(world, acknowledges_first); },
      {.runs = runs,
       .faults = troupe::fault_rates{.hosts = {"primary"}, .faults_per_second = 100, .until = 50ms, .most = 20ms}});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (result.found) {
    fmt::print("{}", result.found->report());
    if (!picture.empty()) write(picture, troupe::to_html(result.found->picture, result.found->what));
    return exit_code::found;
  }
  fmt::print("{} runs in {:.1f} s, and no addition was lost\n{}", result.runs, took.count(),
             result.describe_coverage());
  return exit_code::nothing_found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Searches for runs of a replicated counter that lose an acknowledged addition."};
  auto acknowledges_first = false;
  app.add_flag("--acknowledge-first", acknowledges_first, "plant the fault: acknowledge before the backup has it");
  std::uint64_t runs = 1000;
  app.add_option("--runs", runs, "seeds to try")
      ->check(CLI::Range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max(), "at least 1"))
      ->capture_default_str();
  std::string picture;
  app.add_option("--picture", picture, "a file for the page that draws the run that was found");
  app.footer(exit_codes);
  try {
    app.parse(argc, argv);
    return search(acknowledges_first, runs, picture);
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? exit_code::nothing_found : exit_code::usage_error;
  } catch (const std::exception& failed) {
    fmt::print(stderr, "replicated_counter: {}\n", failed.what());
    return exit_code::usage_error;
  }
}
