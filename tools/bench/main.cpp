// The program behind `troupe bench`: of its own, since what it measures against needs more to build than the command.
#include "bench_command.hpp"

#include <troupe/device/base/error.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace {

constexpr auto exit_usage = 2;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"", "troupe bench"};
  auto exit_code = EXIT_SUCCESS;
  troupe::tools::add_bench_options(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? EXIT_SUCCESS : exit_usage;
  } catch (const troupe::error& e) {
    fmt::print(stderr, "troupe bench: {}\n", e.message());
    return EXIT_FAILURE;
  } catch (const std::filesystem::filesystem_error& e) {
    fmt::print(stderr, "troupe bench: {}\n", e.what());
    return EXIT_FAILURE;
  }
  return exit_code;
}
