#include <troupe/runtime/files/text_file.hpp>
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
    "  --troupe-config FILE      what TF_CONFIG would hold: the cluster and this process's task\n"
    "  --troupe-secret-file FILE the cluster's secret, in place of TROUPE_SECRET_FILE: at least 16 bytes, in a file "
    "that\n"
    "                            nobody else can read\n"
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
    "Exit codes: the program's own; 1 it threw; 2 usage; 3 the chief was lost; 4 the cluster did not start;\n"
    "5 the chief gave this worker up, because a closure did not react to its cancellation; 6 a closure ended each\n"
    "worker that ran it; 7 a supervisor of the program's actors gave up; 128 + the number of the signal (SIGTERM 15,\n"
    "SIGINT 2) that it was told to end with.\n";

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
  result.who = credentials::from_environment({secret_file, tls});
  if (!cluster.empty()) result.who.cluster = cluster;
  result.who.insecure |= insecure;
  result.config_source = config_file.empty() ? "TF_CONFIG" : config_file;
  result.config = config_file.empty() ? tf_config_from_environment()
                                      : parse_tf_config(read_text_file(config_file, "--troupe-config"), config_file);
  return result;
}

}  // namespace troupe
