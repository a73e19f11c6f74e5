// The `troupe` command. Each subcommand registers itself from a file of its own; its callback sets the exit code.
#include "bench_command.hpp"
#include "certs_command.hpp"
#include "chaos_command.hpp"
#include "launch_flags.hpp"
#include "run_command.hpp"
#include "simulate_command.hpp"
#include "why_command.hpp"

#include <troupe/device/base/error.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

int main(int argc, char** argv) {
  CLI::App app{"Runs and measures programs that are built with troupe.", "troupe"};
  app.set_version_flag("--version", TROUPE_VERSION);
  app.require_subcommand(1);
  auto exit_code = EXIT_SUCCESS;
  troupe::tools::add_run_command(app, exit_code);
  troupe::tools::add_chaos_command(app, exit_code);
  troupe::tools::add_simulate_command(app, exit_code);
  troupe::tools::add_why_command(app, exit_code);
  troupe::tools::add_certs_command(app, exit_code);
  troupe::tools::add_bench_command(app);
  try {
    app.parse(troupe::tools::without_separator(argc, argv));
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? EXIT_SUCCESS : troupe::tools::exit_usage;
  } catch (const troupe::error& e) {
    fmt::print(stderr, "troupe: {}\n", e.message());
    return EXIT_FAILURE;
  } catch (const std::filesystem::filesystem_error& e) {
    fmt::print(stderr, "troupe: {}\n", e.what());
    return EXIT_FAILURE;
  }
  return exit_code;
}
