// Lesson 8: tests a protocol of one's own. Searches for a run in which an acknowledged addition is lost, and shows what
// it takes.
#include "counter_protocol.hpp"
#include "search_program.hpp"

#include <troupe/runtime/exploration.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <string>

using namespace std::chrono_literals;

namespace {

using troupe::examples::search_exit;

void write(const std::string& path, const std::string& content) {
  std::ofstream file{path};
  file << content << std::flush;
  if (!file) throw troupe::failed_precondition_error{fmt::format("can't write the picture to {}", path)};
}

search_exit search(bool acknowledges_first, std::uint64_t runs, const std::string& picture) {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = troupe::explore(
      [=](troupe::simulated_world& world) { troupe::replicated_counter::play(world, acknowledges_first); },
      {.runs = runs,
       .faults = troupe::fault_rates{.hosts = {"primary"}, .faults_per_second = 100, .until = 50ms, .most = 20ms}});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (result.found) {
    fmt::print("{}", result.found->report());
    if (!picture.empty()) write(picture, troupe::to_html(result.found->picture, result.found->what));
    return search_exit::found;
  }
  fmt::print("{} runs in {:.1f} s, and no addition was lost\n{}", result.runs, took.count(),
             result.describe_coverage());
  return search_exit::nothing_found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Searches for runs of a replicated counter that lose an acknowledged addition.", "replicated_counter"};
  auto acknowledges_first = false;
  app.add_flag("--acknowledge-first", acknowledges_first, "plant the fault: acknowledge before the backup has it");
  std::uint64_t runs = 1000;
  troupe::examples::add_runs(app, runs);
  std::string picture;
  app.add_option("--picture", picture, "a file for the page that draws the run that was found");
  return troupe::examples::run_search(app, argc, argv, [&] { return search(acknowledges_first, runs, picture); });
}
