#include <troupe/actors/fibers/completion.hpp>
#include <troupe/runtime/bulk/tcp_bulk.hpp>
#include <troupe/runtime/cluster/event_log.hpp>
#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/run.hpp>
#include <troupe/runtime/system_config.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

namespace troupe {

namespace {

struct arguments {
  local_cluster size;
  std::optional<task_config> config;
  std::vector<std::string> program;
};

std::string read_file(const std::string& path) {
  std::ifstream file{path};
  if (!file) throw not_found_error{fmt::format("--troupe-config: the file {} can't be read", path)};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Troupe's flags are taken out; everything else is the program's.
arguments parse(int argc, char** argv) {
  arguments result;
  std::string config_file;
  CLI::App flags{"Flags of every troupe program (the program's own follow its own rules)"};
  flags.set_help_flag("--troupe-help", "Print these flags and exit");
  flags.allow_extras();
  flags.prefix_command(false);
  flags.add_option("--troupe-workers", result.size.workers, "Workers of a cluster inside this process")
      ->check(CLI::Range(1, local_cluster::members_max))
      ->capture_default_str();
  flags.add_option("--troupe-servers", result.size.servers, "Parameter servers of a cluster inside this process")
      ->check(CLI::Range(0, local_cluster::members_max))
      ->capture_default_str();
  flags.add_option("--troupe-config", config_file,
                   "A file that holds what TF_CONFIG would: the cluster and this process's task");
  flags.parse(argc, argv);
  result.program = flags.remaining();
  for (const auto& argument : result.program)
    if (argument.starts_with("--troupe-"))
      throw invalid_argument_error{fmt::format("{} is no flag of troupe's; --troupe-help lists them", argument)};
  result.config = config_file.empty() ? tf_config_from_environment() : parse_tf_config(read_file(config_file));
  return result;
}

spdlog::logger& log() {
  static const auto logger = [] {
    auto made = spdlog::stderr_logger_mt(program_log_name);
    made->set_pattern("%H:%M:%S.%e troupe %l: %v");
    return made;
  }();
  return *logger;
}

/// Ends the process if leaving takes too long: CAF 0.17 can hang when detached actors end together with their system.
class exit_guard {
 public:
  explicit exit_guard(int code) : watch_([this, code] { run(code); }) {}
  ~exit_guard() {
    left_.set();
    watch_.join();
  }

 private:
  void run(int code) {
    constexpr auto limit = std::chrono::seconds{5};
    if (left_.block_for(limit)) return;
    std::fflush(nullptr);
    std::_Exit(code);
  }

  completion left_;
  std::thread watch_;
};

template <class Surroundings>
int run_program(const std::function<int(Surroundings&)>& program, Surroundings& here) {
  try {
    return program(here);
  } catch (const std::exception& failed) {
    log().error("the program failed: {}", failed.what());
    return program_failed;
  }
}

int run_chief(caf::actor_system& system, const arguments& given, const std::function<int(cluster&)>& program,
              const cluster_options& options) {
  try {
    const auto here = given.config ? std::make_unique<cluster>(system, *given.config, options)
                                   : std::make_unique<cluster>(system, given.size, options);
    here->set_arguments(given.program);
    if (given.config) log_events(here->system(), here->events(), log());
    here->wait_until_ready();
    return run_program(program, *here);
  } catch (const error& failed) {
    log().error("{}", failed.what());
    return start_failed;
  }
}

/// A worker's thread is in the user's code and may stay there: nobody can wait for it.
[[noreturn]] void end_in_spite_of_closures() {
  log().flush();
  std::fflush(nullptr);
  std::_Exit(dismissed);
}

int run_member(caf::actor_system& system, const task_config& config, const cluster_options& options) {
  try {
    node here{system, config, options.members};
    const auto end = here.wait();
    if (end.how == member_end::kind::retired) return success;
    log().error("{} ends itself: {}", to_string(config.task), end.why.render());
    if (end.how == member_end::kind::dismissed) end_in_spite_of_closures();
    return end.how == member_end::kind::failed ? program_failed : chief_lost;
  } catch (const error& failed) {
    log().error("{}", failed.what());
    return start_failed;
  }
}

/// Makes the actor system of this process and runs `body` in it.
int run_in_system(const arguments& given, const std::function<int(caf::actor_system&)>& body) {
  std::optional<exit_guard> guard;
  system_config config{given.config.has_value()};
  auto code = 0;
  std::shared_ptr<tcp_bulk> transport;
  if (given.config) {
    const auto& host = given.config->cluster.address(given.config->task).host;
    transport =
        std::make_shared<tcp_bulk>(tcp_bulk_options{.listen_host = listen_address(host), .advertised_host = host});
    bulk_transport::install(transport);
  }
  {
    caf::actor_system system{config};
    code = body(system);
    guard.emplace(code);
  }
  return code;
}

int run_role(caf::actor_system& system, const arguments& given, const std::function<int(cluster&)>& program,
             const cluster_options& options) {
  return !given.config || given.config->task.job == "chief" ? run_chief(system, given, program, options)
                                                            : run_member(system, *given.config, options);
}

int run_participant(caf::actor_system& system, const arguments& given,
                    const std::function<int(process_group&)>& program, const process_group_options& options) {
  std::unique_ptr<process_group> group;
  try {
    group = given.config ? std::make_unique<process_group>(system, *given.config, options)
                         : std::make_unique<process_group>(system);
  } catch (const error& failed) {
    log().error("{}", failed.what());
    return start_failed;
  }
  group->set_arguments(given.program);
  return run_program(program, *group);
}

/// Reads the command line, makes the actor system, calls `body`; every failure becomes an exit code.
int run_main(int argc, char** argv, const std::function<int(caf::actor_system&, const arguments&)>& body) {
  arguments given;
  try {
    given = parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print(
        "Flags of every troupe program:\n"
        "  --troupe-workers N      workers of a cluster inside this process (2)\n"
        "  --troupe-servers N      parameter servers of a cluster inside this process (1)\n"
        "  --troupe-config FILE    what TF_CONFIG would hold: the cluster and this process's task\n"
        "  --troupe-help           print this and exit\n"
        "Without TF_CONFIG and --troupe-config the whole cluster runs inside this process.\n"
        "Exit codes: the program's own; 1 it threw; 2 usage; 3 the chief was lost; 4 the cluster did not start;\n"
        "5 the chief gave this worker up, because a closure did not react to its cancellation.\n");
    return success;
  } catch (const CLI::ParseError& wrong) {
    fmt::print(stderr, "{} (--troupe-help lists troupe's flags)\n", wrong.what());
    return usage_error;
  } catch (const error& wrong) {
    fmt::print(stderr, "{}\n", wrong.message());
    return usage_error;
  }
  try {
    return run_in_system(given, [&](caf::actor_system& system) { return body(system, given); });
  } catch (const std::exception& failed) {
    log().error("{}", failed.what());
    return start_failed;
  }
}

}  // namespace

int run(int argc, char** argv, std::function<int(cluster&)> program, cluster_options options) {
  return run_main(argc, argv, [&](caf::actor_system& system, const arguments& given) {
    return run_role(system, given, program, options);
  });
}

int run_group(int argc, char** argv, std::function<int(process_group&)> program, process_group_options options) {
  return run_main(argc, argv, [&](caf::actor_system& system, const arguments& given) {
    return run_participant(system, given, program, options);
  });
}

}  // namespace troupe
