#include "certs_command.hpp"
#include "launch_flags.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/device/base/internal/write_all.hpp>
#include <troupe/runtime/cluster/cluster_spec.hpp>
#include <troupe/runtime/door/certificate_authority.hpp>
#include <troupe/runtime/door/certified_party.hpp>
#include <troupe/runtime/door/cluster_secret.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe::tools {

namespace {

using std::filesystem::path;

constexpr auto certs_description =
    "Makes the private authority of a cluster, once, and certificates for its roles, as often as it is called. "
    "Processes that have them (TROUPE_TLS_CERTIFICATE, TROUPE_TLS_KEY, TROUPE_TLS_CA) let each other in and nobody "
    "else, encrypt what they say, and none comes in a role that is not its own.";

/// The roles that get certificates if --role names none.
constexpr std::array usual_roles{"chief", "worker", "ps", client_job};
/// What the files of the authority are called, so no role is.
constexpr auto authority_name = "authority";

constexpr auto certs_footer =
    "In FOLDER are then authority.pem, which all processes need; ROLE.pem and ROLE.key, for the processes of that "
    "role; client.pem and client.key, for troupe why and clients of remote calls, with which nobody serves; "
    "and authority.key, which no process needs: whoever has it can make members. Called again, new certificates take "
    "the place of those that were there. Processes read them within a second and use them for new connections, without "
    "a restart; those that were made before stay valid for their time.\n"
    "\n"
    "Exit codes:\n"
    "  0     made\n"
    "  1     they could not be written, or the authority could not be read\n"
    "  2     wrong usage";

struct certs_flags {
  path folder;
  std::string cluster;
  std::vector<std::string> roles{usual_roles.begin(), usual_roles.end()};
  std::vector<std::string> hosts;
  int days = 90;
};

/// In place of an earlier one, as a whole or not at all.
void write(const path& file, const std::string& content, mode_t mode) {
  const auto next = file.string() + ".next";
  ::unlink(next.c_str());
  const descriptor opened{::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)};
  const auto written = opened && write_all(opened.get(), std::as_bytes(std::span{content}));
  if (written && ::fsync(opened.get()) == 0 && ::rename(next.c_str(), file.c_str()) == 0) return;
  const auto reason = errno;
  if (opened) ::unlink(next.c_str());
  throw unavailable_error{fmt::format("{} can't be written: {}", file.string(), std::strerror(reason))};
}

std::string read(const path& file) {
  std::ifstream opened{file, std::ios::binary};
  if (!opened) throw not_found_error{fmt::format("{} can't be read", file.string())};
  return {std::istreambuf_iterator<char>{opened}, {}};
}

/// What is to be written.
struct made_file {
  path where;
  std::string content;
  mode_t mode;
};

constexpr mode_t for_owner = S_IRUSR | S_IWUSR;
constexpr mode_t for_all = for_owner | S_IRGRP | S_IROTH;

path key_file(const certs_flags& flags, std::string_view name) { return flags.folder / fmt::format("{}.key", name); }
path certificate_file(const certs_flags& flags, std::string_view name) {
  return flags.folder / fmt::format("{}.pem", name);
}

/// A role becomes the name of two files, which must lie in the folder and must not be those of the authority. Some file
/// systems do not tell capital letters from small ones.
void check_role(const std::string& role) {
  if (std::ranges::find(usual_roles, role) != usual_roles.end()) return;
  if (::strcasecmp(role.c_str(), authority_name) == 0)
    throw invalid_argument_error{fmt::format(
        "--role can't be \"{}\": {}.pem and {}.key are the files of the cluster's authority, which signs the "
        "certificates of all roles; expected another name, or no --role for {}",
        role, authority_name, authority_name, fmt::join(usual_roles, ", "))};
  check_role_name(role, "--role");
}

/// The one that was made before, or a new one, which is added to the files.
certificate_authority authority_of(const certs_flags& flags, std::vector<made_file>& files) {
  const auto certificate = certificate_file(flags, authority_name);
  const auto key = key_file(flags, authority_name);
  if (std::filesystem::exists(certificate)) {
    check_owned_as_a_secret("key of the authority", key);
    auto known = certificate_authority::read({read(certificate), read(key)});
    if (known.cluster() == flags.cluster) return known;
    throw invalid_argument_error{
        fmt::format("{} has the authority of the cluster \"{}\", and --cluster says \"{}\"; take another folder for "
                    "another cluster",
                    flags.folder.string(), known.cluster(), flags.cluster)};
  }
  auto made = certificate_authority::make(flags.cluster);
  files.push_back({key, made.own().key, for_owner});
  files.push_back({certificate, made.own().certificate, for_all});
  return made;
}

/// All of it, before anything is written.
std::vector<made_file> make_files(const certs_flags& flags) {
  for (const auto& role : flags.roles) check_role(role);
  std::vector<made_file> files;
  const auto authority = authority_of(flags, files);
  for (const auto& role : flags.roles) {
    const auto serves = role != client_job;
    const auto made = authority.issue(
        {flags.cluster, role},
        {.valid_for = std::chrono::days{flags.days}, .hosts = serves ? flags.hosts : std::vector<std::string>{}});
    files.push_back({key_file(flags, role), made.key, for_owner});
    files.push_back({certificate_file(flags, role), made.certificate, for_all});
  }
  return files;
}

int make(const certs_flags& flags) {
  try {
    const auto files = make_files(flags);
    std::filesystem::create_directories(flags.folder);
    for (const auto& each : files) write(each.where, each.content, each.mode);
    for (const auto& role : flags.roles)
      fmt::print("{0}.pem, {0}.key: {1}, for {2} days\n", (flags.folder / role).string(), to_uri({flags.cluster, role}),
                 flags.days);
    return EXIT_SUCCESS;
  } catch (const invalid_argument_error& wrong) {
    fmt::print(stderr, "troupe certs: {}\n", wrong.message());
    return exit_usage;
  } catch (const error& failed) {
    fmt::print(stderr, "troupe certs: {}\n", failed.message());
    return EXIT_FAILURE;
  } catch (const std::filesystem::filesystem_error& failed) {
    fmt::print(stderr, "troupe certs: {}\n", failed.what());
    return EXIT_FAILURE;
  }
}

}  // namespace

void add_certs_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("certs", certs_description);
  auto flags = std::make_shared<certs_flags>();
  command->footer(certs_footer);
  command->add_option("FOLDER", flags->folder, "where they are written")->required();
  command->add_option("--cluster", flags->cluster, "the cluster's name")->required();
  command
      ->add_option("--role", flags->roles,
                   "the roles that get certificates; may be given again. A role has the name of a job in TF_CONFIG, or "
                   "is \"client\"; \"authority\" is none")
      ->capture_default_str();
  command->add_option("--host", flags->hosts,
                      "names and addresses by which clients of gRPC reach the servers; may be given again");
  command->add_option("--days", flags->days, "how long the certificates are valid")
      ->check(CLI::Range(1, 3650))
      ->capture_default_str();
  command->callback([flags, &exit_code] { exit_code = make(*flags); });
}

}  // namespace troupe::tools
