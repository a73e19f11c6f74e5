#include "job_credentials.hpp"
#include "launch_flags.hpp"
#include "why_command.hpp"

#include <troupe/actors/messages/task.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/remote_waits.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/system_config.hpp>
#include <troupe/runtime/wait_graph.hpp>

#include <CLI/CLI.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

namespace troupe::tools {

namespace {

constexpr int exit_cycle = 3;

constexpr auto why_description =
    "Says who waits for whom in a job that runs, and why it stands still: each fiber and thread that waits, for what, "
    "for how long, and who has to go on first. What waits in a cycle is marked. The job goes on meanwhile.";

constexpr auto why_footer =
    "ADDRESS is that of any worker, server or other member of a cluster, or of the chief of a process group, as it "
    "stands in TF_CONFIG and in the first lines of their logs. A job with a secret or with certificates is entered "
    "with "
    "those of TROUPE_SECRET_FILE and TROUPE_TLS_CERTIFICATE, _KEY and _CA, or with its own if one of its processes "
    "runs "
    "here and belongs to this user. The same is written to a program's log when one of its waits is over its limit.\n"
    "\n"
    "Exit codes:\n"
    "  0     told\n"
    "  1     nobody told anything\n"
    "  2     wrong usage\n"
    "  3     told, and some wait in a cycle";

struct why_flags {
  std::string address;
  double limit_seconds = 2;
  bool as_json = false;
};

/// With the secret or certificate of the environment, or else with those of the job if it runs here.
void enter_job_of(const task_address& member) {
  auto own = credentials::from_environment();
  if (!own.secret && !own.tls) own = credentials::from_environment(credentials_of_job(member));
  credentials::set_for_process(std::move(own));
}

int tell(const why_flags& flags) {
  try {
    const auto address = task_address::parse(flags.address);
    const auto limit = std::chrono::duration_cast<duration>(std::chrono::duration<double>{flags.limit_seconds});
    enter_job_of(address);
    const system_config config{true};
    caf::actor_system system{config};
    const wait_graph graph{ask_who_waits(system, address, limit)};
    fmt::print("{}", flags.as_json ? graph.to_json() + "\n" : graph.to_string());
    return graph.cycles().empty() ? EXIT_SUCCESS : exit_cycle;
  } catch (const invalid_argument_error& wrong) {
    fmt::print(stderr, "troupe why: {}\n", wrong.message());
    return exit_usage;
  } catch (const error& failed) {
    fmt::print(stderr, "troupe why: {}\n", failed.what());
    return EXIT_FAILURE;
  }
}

}  // namespace

void add_why_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("why", why_description);
  auto flags = std::make_shared<why_flags>();
  command->footer(why_footer);
  command->add_option("ADDRESS", flags->address, "host:port of a member")->required();
  command->add_option("--limit", flags->limit_seconds, "seconds that each process has to answer")
      ->check(CLI::Range(0.01, 60.0))
      ->capture_default_str();
  command->add_flag("--json", flags->as_json, "as JSON");
  command->callback([flags, &exit_code] { exit_code = tell(*flags); });
}

}  // namespace troupe::tools
