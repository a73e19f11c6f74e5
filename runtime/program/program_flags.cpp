#include <troupe/device/accelerators/emulation_setting.hpp>
#include <troupe/runtime/files/text_file.hpp>
#include <troupe/runtime/launch/terminal.hpp>
#include <troupe/runtime/program/program_flags.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <charconv>

namespace troupe {

namespace {

constexpr auto help =
    "Flags of every troupe program:\n"
    "  --troupe-workers N        workers of a cluster inside this process (2)\n"
    "  --troupe-servers N        parameter servers of a cluster inside this process (1)\n"
    "  --troupe-role NAME=N      members of another role inside this process; may be given again\n"
    "  --troupe-encode           in a cluster inside this process, too, all that members send each other is made into\n"
    "                            bytes and back, under the limits that hold between processes\n"
    "  --troupe-config FILE      in place of TF_CONFIG, a file with what it would hold\n"
    "  --troupe-secret-file FILE the cluster's secret, in place of TROUPE_SECRET_FILE: at least 16 bytes, in a file\n"
    "                            that nobody else can read\n"
    "  --troupe-tls-certificate FILE, --troupe-tls-key FILE, --troupe-tls-ca FILE\n"
    "                            what this process shows and whom it believes, in place of TROUPE_TLS_CERTIFICATE,\n"
    "                            TROUPE_TLS_KEY and TROUPE_TLS_CA; all is encrypted then (troupe certs makes them)\n"
    "  --troupe-cluster NAME     the cluster's name, in place of TROUPE_CLUSTER: processes of others are kept out\n"
    "  --troupe-insecure         without a secret, too, ports are open to other machines; like TROUPE_INSECURE=1\n"
    "  --troupe-caf-config FILE  options of CAF's, and of the program's own config class, as an INI file\n"
    "  --troupe-log-level LEVEL  trace, debug, info, warning, error, critical or off (info)\n"
    "  --troupe-log-file FILE    log lines are added to this file, not written to standard error\n"
    "  --troupe-log-json         log lines are JSON objects\n"
    "  --troupe-stop-grace S     seconds for an orderly end after SIGTERM or SIGINT (10); under troupe run\n"
    "                            no more than its --stop-grace\n"
    "  --troupe-help             print this and exit\n"
    "Without TF_CONFIG and --troupe-config the whole cluster runs inside this process. The first four flags are for\n"
    "that alone: elsewhere they have no effect, and a warning says so.\n"
    "\n"
    "Environment variables, beside those that the flags replace:\n"
    "  TF_CONFIG                 the cluster and this process's task, as JSON\n"
    "  TROUPE_EMULATED_GPUS=N    N emulated GPUs, 1 to 64, in place of real ones\n"
    "  TROUPE_PROGRESS           bar or lines: how progress is shown; if not set, as a bar on terminals\n"
    "  NO_COLOR                  troupe run and troupe chaos print no colours\n"
    "All variables: examples/reference/configuration.md in troupe's sources, and in an installed package\n"
    "share/doc/troupe/examples/reference/configuration.md.\n"
    "\n"
    "Exit codes:\n"
    "  0       the program has succeeded; a member was ended by its chief\n"
    "  1       the program threw\n"
    "  2       wrong usage\n"
    "  3       the chief was lost\n"
    "  4       the cluster did not start\n"
    "  5       the chief gave this worker up, because a closure did not react to its cancellation\n"
    "  6       a closure ended each worker that ran it\n"
    "  7       a supervisor of the program's actors gave up\n"
    "  128 + n the process was told to end by signal n: 143 by SIGTERM, 130 by SIGINT\n"
    "  other   the program's own\n";

/// What the program would find wrong later, or not at all.
void check_environment() {
  emulated_gpus_of_environment();
  check_progress_setting();
}

}  // namespace

void add_role(const std::string& text, std::map<std::string, int>& roles) {
  const auto equals = text.find('=');
  const auto name = text.substr(0, equals);
  auto count = 0;
  const auto* const begin = text.data() + std::min(text.size(), equals == std::string::npos ? text.size() : equals + 1);
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(begin, end, count);
  if (equals == std::string::npos || read.ec != std::errc{} || read.ptr != end || count < 0)
    throw invalid_argument_error{fmt::format("a role is \"{}\" but must be NAME=N, as in evaluator=1", text)};
  check_role_name(name, "the command line");
  roles[name] = count;
}

std::optional<program_flags> parse_program_flags(int argc, char** argv, const local_cluster& size) {
  program_flags result;
  result.size = size;
  std::string config_file;
  std::vector<std::string> roles;
  auto stop_grace_seconds = -1.0;
  std::string secret_file;
  tls_files tls;
  std::string cluster;
  auto insecure = false;
  CLI::App flags{"Flags of every troupe program (the program's own follow its own rules)"};
  flags.set_help_flag("--troupe-help", "Print these flags and exit");
  flags.allow_extras();
  flags.prefix_command(false);
  flags.add_option("--troupe-workers", result.size.workers)->check(CLI::Range(1, local_cluster::members_max));
  flags.add_option("--troupe-servers", result.size.servers)->check(CLI::Range(0, local_cluster::members_max));
  // One value each time: a vector's option would take the program's own arguments, too.
  flags.add_option("--troupe-role", roles)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  flags.add_flag("--troupe-encode", result.size.encode);
  flags.add_option("--troupe-config", config_file);
  flags.add_option("--troupe-secret-file", secret_file);
  flags.add_option("--troupe-tls-certificate", tls.certificate);
  flags.add_option("--troupe-tls-key", tls.key);
  flags.add_option("--troupe-tls-ca", tls.authority);
  flags.add_option("--troupe-cluster", cluster);
  flags.add_flag("--troupe-insecure", insecure);
  flags.add_option("--troupe-caf-config", result.caf_config)->check(CLI::ExistingFile);
  flags.add_option("--troupe-log-level", result.log.level);
  flags.add_option("--troupe-log-file", result.log.file);
  flags.add_flag("--troupe-log-json", result.log.json);
  flags.add_option("--troupe-stop-grace", stop_grace_seconds)->check(CLI::Range(0.1, 86'400.0));
  try {
    flags.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help);
    return std::nullopt;
  }
  result.program = flags.remaining();
  // What stands behind "--" is the program's own, whatever it is called.
  const std::vector<std::string_view> given{argv, argv + argc};
  const auto behind = std::max<std::ptrdiff_t>(given.end() - std::find(given.begin(), given.end(), "--") - 1, 0);
  for (auto argument = result.program.begin(); argument != result.program.end() - behind; ++argument)
    if (argument->starts_with("--troupe-"))
      throw invalid_argument_error{fmt::format("{} is no flag of troupe's; --troupe-help lists them", *argument)};
  for (const auto* flag : {"--troupe-workers", "--troupe-servers", "--troupe-role", "--troupe-encode"})
    if (flags.count(flag) != 0) result.size_flag = flag;
  for (const auto& role : roles) add_role(role, result.size.roles);
  if (stop_grace_seconds > 0)
    result.stop_grace = std::chrono::duration_cast<duration>(std::chrono::duration<double>{stop_grace_seconds});
  check_environment();
  result.who = credentials::from_environment({secret_file, tls});
  check_cluster_name(cluster, "--troupe-cluster");
  if (!cluster.empty()) result.who.cluster = cluster;
  result.who.insecure |= insecure;
  result.config_source = config_file.empty() ? "TF_CONFIG" : config_file;
  result.config = config_file.empty() ? tf_config_from_environment()
                                      : parse_tf_config(read_text_file(config_file, "--troupe-config"), config_file);
  return result;
}

}  // namespace troupe
