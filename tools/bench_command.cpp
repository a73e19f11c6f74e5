#include "bench_command.hpp"

#include <troupe/device/base/error.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

namespace troupe::tools {

namespace {

[[noreturn]] void become_bench(std::vector<std::string> arguments) {
  const auto program = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "troupe-bench").string();
  arguments.insert(arguments.begin(), program);
  std::vector<char*> pointers;
  for (auto& each : arguments) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  throw not_found_error{
      fmt::format("the benchmarks are a program of their own, which is not at {}: build its target, troupe_bench, or "
                  "install it there",
                  program)};
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("bench",
                         "Measures troupe against raw CAF, TCP, memcpy or a plain loop, and makes a page of the "
                         "figures.");
  command->prefix_command();
  command->set_help_flag();  // it has the help
  command->callback([command] { become_bench(command->remaining()); });
}

}  // namespace troupe::tools
