#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/crash_report.hpp>
#include <troupe/device/base/exception_types.hpp>
#include <troupe/runtime/bulk/tcp_bulk.hpp>
#include <troupe/runtime/cluster/event_file.hpp>
#include <troupe/runtime/cluster/event_log.hpp>
#include <troupe/runtime/cluster/missed_deadline_log.hpp>
#include <troupe/runtime/cluster/own_address.hpp>
#include <troupe/runtime/cluster/publish.hpp>
#include <troupe/runtime/program/process_end.hpp>
#include <troupe/runtime/program/program_flags.hpp>
#include <troupe/runtime/program/stop_request.hpp>
#include <troupe/runtime/program/stop_signal.hpp>
#include <troupe/runtime/program/system_end.hpp>
#include <troupe/runtime/run.hpp>
#include <troupe/runtime/system_config.hpp>

#include <CLI/CLI.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace troupe {

namespace {

/// What the code of every role is given.
struct process {
  const program_flags& flags;
  stop_request& stop;
};

/// What the exception that is being handled says; of one that came from elsewhere, where it was thrown, too.
std::string text_of_exception() {
  try {
    throw;
  } catch (const error& failed) {
    return failed.what();
  } catch (const std::exception&) {
    return status_of(std::current_exception()).message();
  } catch (...) {
    return "it threw something that is no std::exception: " + status_of(std::current_exception()).message();
  }
}

/// Says in the log what the exception says that is being handled, unless it is what `stop` has ended a wait with.
void log_failure(const stop_request& stop, const std::string& what) {
  try {
    throw;
  } catch (const cancelled_error&) {
    if (stop.is_known()) return;
  } catch (...) {
  }
  log_error(what + text_of_exception());
}

/// Calls what the application wrote, in this thread, which a signal interrupts. Nothing: it threw, and the log says
/// what.
template <class Body>
std::optional<int> run_body(stop_request& stop, const Body& body) {
  const stop_request::interrupted scope{stop};
  try {
    return body();
  } catch (...) {
    log_failure(stop, "the program failed: ");
  }
  return std::nullopt;
}

std::unique_ptr<cluster> make_cluster(caf::actor_system& system, const process& here, const cluster_options& options) {
  auto made = here.flags.config ? std::make_unique<cluster>(system, *here.flags.config, options)
                                : std::make_unique<cluster>(system, here.flags.size, options);
  made->set_arguments(here.flags.program);
  if (const auto log = spdlog::get(program_log_name); log && here.flags.config) log_events(system, made->events(), log);
  if (const auto* const path = std::getenv(event_file_variable); path != nullptr && here.flags.config)
    write_events(system, made->events(), path);
  return made;
}

/// A closure that ends its workers is told from other failures by the exit code.
int run_program(const program_function& program, cluster& here) {
  try {
    return program(here);
  } catch (const aborted_error& failed) {
    log_error(fmt::format("the program failed: {}", failed.what()));
    return exit_code::closure_ends_workers;
  }
}

int run_program_on_cluster(caf::actor_system& system, const process& here, const run_options& options,
                           const cluster_options& chosen) {
  std::unique_ptr<cluster> made;
  std::optional<missed_deadline_log> tells;
  try {
    const stop_request::interrupted scope{here.stop};
    made = make_cluster(system, here, chosen);
    tells.emplace(system, caf::actor_cast<caf::actor>(made->membership()), log_warning);
    made->wait_until_ready();
  } catch (const error&) {
    log_failure(here.stop, "");
    return exit_code::start_failed;
  }
  if (options.on_stop)
    here.stop.set_last_act([&] {
      try {
        options.on_stop(*made);
      } catch (...) {
        log_error("on_stop failed: " + text_of_exception());
      }
    });
  const auto code = run_body(here.stop, [&] { return run_program(options.program, *made); });
  if (here.stop.why()) here.stop.do_last_act();
  here.stop.set_last_act(nullptr);
  return code.value_or(exit_code::program_failed);
}

int run_chief(caf::actor_system& system, const process& here, const run_options& options) {
  auto chosen = options.cluster;
  if (!chosen.on_failure) chosen.on_failure = [&stop = here.stop](const status& why) { stop.fail(why); };
  const auto code = run_program_on_cluster(system, here, options, chosen);
  const auto failure = here.stop.failure();
  if (!failure) return code;
  log_error("the program was ended: " + failure->render());
  return exit_code::supervisor_gave_up;
}

int code_of(const member_end& end, const task_id& task) {
  if (end.how == member_end::kind::retired) return exit_code::success;
  const auto say = [line = fmt::format("{} ends itself: {}", to_string(task), end.why.render())] { log_error(line); };
  // A thread is in the user's code and may stay there.
  if (end.how == member_end::kind::dismissed) end_process(exit_code::dismissed, say);
  say();
  if (end.how == member_end::kind::gave_up) return exit_code::supervisor_gave_up;
  return end.how == member_end::kind::failed ? exit_code::program_failed : exit_code::chief_lost;
}

void wait_for_chief(cluster_node& member, const task_config& config) {
  constexpr auto interval = std::chrono::seconds{5};
  const auto& own = config.cluster.address(config.task);
  const auto is_everywhere = listen_address(own.host) != own.host;
  const auto what = fmt::format("{} listens on {} and waits for its chief of {}", to_string(config.task),
                                is_everywhere ? fmt::format("port {} of all its addresses", own.port) : to_string(own),
                                to_string(config.cluster.address({"chief", 0})));
  log_info(what);
  if (is_everywhere && own_numbers_of(own.host).empty())
    log_warning(
        fmt::format("{} is no name of this machine's as far as it knows; if others don't reach this task under "
                    "it, correct its address",
                    own.host));
  for (auto waited = interval; !member.wait_for(interval) && !member.is_adopted(); waited += interval)
    log_warning(fmt::format("{}, since {} s", what, waited.count()));
}

int run_member(caf::actor_system& system, const process& here, const node_options& options) {
  const auto& config = *here.flags.config;
  try {
    cluster_node member{system, config, options};
    const missed_deadline_log tells{system, caf::actor_cast<caf::actor>(member.door()), log_warning};
    try {
      const stop_request::interrupted scope{here.stop};
      wait_for_chief(member, config);
      return code_of(member.wait(), config.task);
    } catch (const cancelled_error& told) {
      member.leave(told.get_status());
      return exit_code::success;
    }
  } catch (const error& failed) {
    log_error(failed.what());
    return exit_code::start_failed;
  }
}

bool is_chief(const program_flags& flags) { return !flags.config || flags.config->task.job == "chief"; }
bool is_server(const program_flags& flags) { return flags.config && flags.config->task.job == "ps"; }

int run_role(caf::actor_system& system, const process& here, const run_options& options) {
  return is_chief(here.flags) ? run_chief(system, here, options) : run_member(system, here, options.cluster.members);
}

int run_participant(caf::actor_system& system, const process& here, const std::function<int(process_group&)>& program,
                    const process_group_options& options) {
  std::unique_ptr<process_group> group;
  auto chosen = options;
  if (!chosen.report) chosen.report = log_warning;
  try {
    const stop_request::interrupted scope{here.stop};
    group = here.flags.config ? std::make_unique<process_group>(system, *here.flags.config, chosen)
                              : std::make_unique<process_group>(system);
  } catch (const error&) {
    log_failure(here.stop, "");
    return exit_code::start_failed;
  }
  group->set_arguments(here.flags.program);
  return run_body(here.stop, [&] { return program(*group); }).value_or(exit_code::program_failed);
}

/// The hosts of all tasks, that of the chief first.
std::vector<std::string> hosts_of(const cluster_spec& cluster) {
  std::vector<std::string> hosts;
  for (const auto& task : cluster.tasks()) hosts.push_back(cluster.address(task).host);
  std::ranges::reverse(hosts);
  return hosts;
}

/// Large tensors travel beside the messages, between processes, for as long as somebody holds it. By the same door, if
/// this process is reached by messages of others and so has one.
std::shared_ptr<tcp_bulk> install_transport(const program_flags& flags, bool is_reached) {
  if (!flags.config) return nullptr;
  const auto& own = flags.config->cluster.address(flags.config->task);
  const auto number = advertised_number(own.host, hosts_of(flags.config->cluster));
  tcp_bulk_options options{.self = {.task = flags.config->task},
                           .listen_host = own.host == "localhost" ? number : listen_address(own.host),
                           .port = own.port,
                           .advertised_host = number};
  auto transport = std::make_shared<tcp_bulk>(options);
  if (is_reached) transport->served_at({number, own.port});
  bulk_transport::install(transport);
  return transport;
}

struct role {
  std::function<int(caf::actor_system&, const process&)> play;
  /// Whether it opens a door for messages at the task's address.
  std::function<bool(const program_flags&)> is_reached;
};

struct end_of_role {
  int code = 0;
  /// A worker in a closure that does not end: nobody can wait for it.
  bool is_stuck = false;
};

/// Makes the actor system of this process and plays the role in it.
end_of_role run_in_system(const program_flags& flags, stop_request& stop, const run_options& options,
                          const role& plays) {
  const auto networked = flags.config.has_value();
  auto config = options.config ? std::make_unique<system_config>(options.config(), networked)
                               : std::make_unique<system_config>(networked);
  try {
    if (!flags.caf_config.empty()) config->read(flags.caf_config);
  } catch (const error& wrong) {
    fmt::print(stderr, "{}\n", wrong.message());
    return {exit_code::usage_error};
  }
  const auto transport = install_transport(flags, plays.is_reached(flags));
  auto system = std::make_unique<caf::actor_system>(*config);
  // CAF's own.
  const auto threads = system->detached_actors();
  const auto code = plays.play(*system, {flags, stop});
  const auto ended = end_system(std::move(config), std::move(system), threads);
  return {code, !ended && !is_chief(flags)};
}

/// One command line may serve all four ways to run a program: what sizes a cluster is not refused where there is none
/// to size, but it is not passed over in silence.
void warn_of_flags_without_effect(const program_flags& flags) {
  if (flags.config && !flags.size_flag.empty())
    log_warning(
        fmt::format("{} has no effect: it is for a cluster inside this process, but this process is {}, one of "
                    "the tasks that {} names",
                    flags.size_flag, to_string(flags.config->task), flags.config_source));
}

/// Others would not let it in.
void check_certificate(const program_flags& flags) {
  if (!flags.who.tls) return;
  // This also announces the certificate's end: there was no log yet when it was read.
  const auto role = flags.who.tls->current()->own_role();
  if (!flags.config) return;
  const auto& own = flags.config->task;
  const auto& file = flags.who.tls->files().certificate;
  if (role.job != own.job)
    throw invalid_argument_error{fmt::format("this process is {} by {}, and its certificate \"{}\" is that of a {}",
                                             to_string(own), flags.config_source, file, role.job)};
  if (role.cluster != flags.who.cluster)
    throw invalid_argument_error{
        fmt::format("this process is of the cluster \"{}\", and its certificate \"{}\" of "
                    "\"{}\"",
                    flags.who.cluster, file, role.cluster)};
}

/// Reads the command line, hears signals, plays the role; every failure becomes an exit code.
int run_process(int argc, char** argv, const run_options& options, const role& plays) {
  std::optional<program_flags> flags;
  try {
    flags = parse_program_flags(argc, argv, options.size);
    if (!flags) return exit_code::success;
    open_program_log(flags->log);
    check_certificate(*flags);
    credentials::set_for_process(flags->who);
    warn_of_flags_without_effect(*flags);
  } catch (const CLI::ParseError& wrong) {
    fmt::print(stderr, "{} (--troupe-help lists troupe's flags)\n", wrong.what());
    return exit_code::usage_error;
  } catch (const error& wrong) {
    fmt::print(stderr, "{}\n", wrong.message());
    return exit_code::usage_error;
  }
  report_crashes();
  // What a task says is of use when it says it, through a launcher's pipe, too.
  if (flags->config) std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  const auto grace = flags->stop_grace.value_or(options.stop_grace);
  stop_request stop;
  try {
    const stop_signal signal{grace,
                             {.on_signal =
                                  [&](const std::string& name) {
                                    stop.announce(name);
                                    // A server's variables may be wanted for a last checkpoint.
                                    if (!is_server(*flags)) stop.interrupt();
                                    do_without_waiting([name, grace] {
                                      log_info(fmt::format("{}: ending within {} ms; a second signal ends at once",
                                                           name, in_milliseconds(grace)));
                                    });
                                  },
                              .on_late =
                                  [&] {
                                    stop.interrupt();
                                    stop.do_last_act();
                                  },
                              .on_end = [](const std::string& why) { log_error("the process ends now: " + why); }}};
    const auto end = run_in_system(*flags, stop, options, plays);
    const auto code = signal.exit_code().value_or(end.code);
    if (end.is_stuck) end_process(code, [] {});
    return code;
  } catch (...) {
    log_error("the start failed: " + text_of_exception());
    return exit_code::start_failed;
  }
}

}  // namespace

int run(int argc, char** argv, run_options options) {
  if (!options.program) {
    fmt::print(stderr, "run() was given no program\n");
    return exit_code::usage_error;
  }
  if (options.on_member) options.cluster.members.on_member = options.on_member;
  const auto play = [&](caf::actor_system& system, const process& here) { return run_role(system, here, options); };
  return run_process(argc, argv, options, {play, [](const program_flags& flags) { return !is_chief(flags); }});
}

int run_group(int argc, char** argv, std::function<int(process_group&)> program, process_group_options options) {
  const auto play = [&](caf::actor_system& system, const process& here) -> int {
    if (!here.flags.config && !here.flags.size_flag.empty()) {
      fmt::print(stderr, "{} has no use for a group of processes: without TF_CONFIG the group is this process alone\n",
                 here.flags.size_flag);
      return exit_code::usage_error;
    }
    return run_participant(system, here, program, options);
  };
  // All meet at the chief.
  return run_process(argc, argv, {}, {play, is_chief});
}

}  // namespace troupe
