// A cluster that works for long while its workers are killed: `troupe-soak --minutes 30`. It is its own cluster's
// program: started without TF_CONFIG it starts itself once for each task and watches them.
#include "../scratch_folder.hpp"
#include "soak_job.hpp"
#include "soak_watch.hpp"

#include <troupe/runtime/run.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <malloc.h>
#include <unistd.h>

namespace {

using namespace troupe;

constexpr auto footer =
    "Exit codes:\n"
    "  0     the job has succeeded, and no process has grown too much\n"
    "  1     a process has grown too much, or the job has failed, or could not be started\n"
    "  2     wrong usage\n"
    "  other the chief's own, or 128 + the number of the signal that ended it";

struct soak_options {
  double minutes = 30;
  int checkpoint_every = 20;
  int restore_every = 60;
  int kill_every = 5;
  int report_every = 10;
  tools::soak_watch_options watch;
  std::string checkpoint;
};

tools::soak_job_options job_of(const soak_options& options) {
  return {.time = std::chrono::seconds{static_cast<int>(options.minutes * 60)},
          .checkpoint_every = std::chrono::seconds{options.checkpoint_every},
          .restore_every = std::chrono::seconds{options.restore_every},
          .checkpoint = options.checkpoint};
}

/// What the C library keeps of freed blocks, and of how large ones, depends on which thread freed what when. With this
/// limit, which it does not raise by itself any more, the system gets large ones back at once: what is left is in use.
void give_large_blocks_back() {
  constexpr int kept_bytes_max = 128 << 10;
  ::mallopt(M_MMAP_THRESHOLD, kept_bytes_max);
}

int watch(soak_options options, int argc, char** argv) {
  const tools::scratch_folder folder{"troupe-soak"};
  auto& watched = options.watch;
  watched.program = std::filesystem::read_symlink("/proc/self/exe").string();
  watched.arguments.assign(argv + 1, argv + argc);
  watched.arguments.push_back("--checkpoint=" + folder.file("checkpoint.safetensors"));
  watched.kill_every = std::chrono::seconds{options.kill_every};
  watched.report_every = std::chrono::seconds{options.report_every};
  return tools::watch_soak(watched);
}

int watch_or_say_why_not(const soak_options& options, int argc, char** argv) {
  try {
    return watch(options, argc, argv);
  } catch (const error& failed) {
    fmt::print(stderr, "troupe-soak: {}\n", failed.message());
  } catch (const std::filesystem::filesystem_error& failed) {
    fmt::print(stderr, "troupe-soak: {}\n", failed.what());
  }
  return tools::soak_exit::failed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A job that runs for long while its workers are killed; prints what every process holds.",
               "troupe-soak"};
  soak_options options;
  const auto seconds = CLI::Range(1, 86'400);
  app.add_option("--minutes", options.minutes, "how long")->check(CLI::Range(0.1, 100'000.0))->capture_default_str();
  app.add_option("--workers", options.watch.workers, "workers")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--ps", options.watch.servers, "parameter servers")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--kill-every", options.kill_every, "seconds between kills of a worker")
      ->check(seconds)
      ->capture_default_str();
  app.add_option("--checkpoint-every", options.checkpoint_every, "seconds")->check(seconds)->capture_default_str();
  app.add_option("--restore-every", options.restore_every, "seconds")->check(seconds)->capture_default_str();
  app.add_option("--report-every", options.report_every, "seconds")->check(seconds)->capture_default_str();
  app.add_option("--growth-max", options.watch.growth_max,
                 "how much a process may hold at the end, times what it held after five minutes; not measured in a "
                 "shorter run")
      ->check(CLI::Range(1.0, 100.0))
      ->capture_default_str();
  app.add_option("--checkpoint", options.checkpoint, "a file for checkpoints; chosen by itself")->group("");
  app.footer(footer);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? tools::soak_exit::good : tools::soak_exit::usage;
  }
  if (std::getenv("TF_CONFIG") == nullptr) return watch_or_say_why_not(options, argc, argv);
  give_large_blocks_back();
  return run(1, argv, [job = job_of(options)](cluster& here) { tools::run_soak_job(here, job); });
}
