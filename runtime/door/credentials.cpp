#include <troupe/actors/messages/peer_identity.hpp>
#include <troupe/runtime/cluster/own_address.hpp>
#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

std::string environment(const char* name) {
  const auto* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

bool is_insecure() {
  const auto text = environment(insecure_variable);
  if (text.empty() || text == "0") return false;
  if (text == "1") return true;
  throw invalid_argument_error{fmt::format("{} is \"{}\"; expected 1, to let other machines in without a secret, or 0",
                                           insecure_variable, text)};
}

struct own_credentials {
  std::mutex mutex;
  std::shared_ptr<const credentials> value;
};

/// Of these files, or of those that the environment names; null without any.
std::shared_ptr<const tls_identity> read_tls(tls_files files) {
  const std::array<std::pair<std::string*, const char*>, 3> all{{{&files.certificate, tls_certificate_variable},
                                                                 {&files.key, tls_key_variable},
                                                                 {&files.authority, tls_authority_variable}}};
  const char* missing = nullptr;
  auto given = 0;
  for (const auto& [file, variable] : all) {
    if (file->empty()) *file = environment(variable);
    file->empty() ? static_cast<void>(missing = variable) : static_cast<void>(++given);
  }
  if (given == 0) return nullptr;
  if (missing != nullptr)
    throw invalid_argument_error{
        fmt::format("TLS needs a certificate, its key and the authority's certificate, and {} "
                    "is missing; troupe certs makes all",
                    missing)};
  return std::make_shared<const tls_identity>(std::move(files));
}

/// What is no address of this machine can't be listened on, which is said by who tries.
bool is_reached_from_here_only(const std::string& host) {
  const auto is_everywhere = host.empty() || host == "0.0.0.0" || host == "::";
  return !is_everywhere && std::ranges::all_of(own_numbers_of(host), is_loopback_number);
}

std::string in_words(const std::string& host) { return host.empty() ? "all addresses" : fmt::format("\"{}\"", host); }

void warn(const std::string& host, std::string_view what) {
  log_warning(fmt::format("this process listens on {} and asks nobody for a secret: whoever reaches it can {}",
                          in_words(host), what));
}

own_credentials& own() {
  static auto& instance = *new own_credentials;
  return instance;
}

}  // namespace

credentials credentials::from_environment(credential_files before) {
  credentials result{.cluster = environment(cluster_variable), .secret = nullptr, .insecure = is_insecure()};
  if (before.secret.empty()) before.secret = environment(secret_variable);
  if (!before.secret.empty()) result.secret = cluster_secret::read(before.secret);
  result.tls = read_tls(std::move(before.tls));
  if (result.tls && result.cluster.empty()) result.cluster = result.tls->current()->own_role().cluster;
  check_cluster_name(result.cluster, cluster_variable);
  return result;
}

void check_cluster_name(const std::string& name, std::string_view source) {
  if (name.empty() || is_plain_name(name)) return;
  throw invalid_argument_error{
      fmt::format("{} has the name \"{}\"; expected letters, digits, \"-\", \"_\" and \".\"", source, name)};
}

std::shared_ptr<const credentials> credentials::of_process() {
  auto& here = own();
  const std::scoped_lock lock{here.mutex};
  if (!here.value) here.value = std::make_shared<const credentials>(from_environment());
  return here.value;
}

void credentials::set_for_process(credentials mine) {
  auto made = std::make_shared<const credentials>(std::move(mine));
  auto& here = own();
  const std::scoped_lock lock{here.mutex};
  here.value = std::move(made);
}

void check_may_listen(const credentials& with, const std::string& host) {
  if (with.secret || with.tls || is_reached_from_here_only(host)) return;
  static std::once_flag once;
  if (with.insecure)
    return std::call_once(once, warn, host,
                          "use up its memory and its workers, read and change its variables, and end its job");
  throw permission_denied_error{fmt::format(
      "without a secret nobody is kept out, so a port is opened on loopback only, and not on {}; give all processes of "
      "the cluster the same secret by {}, or let whoever reaches them in by {}=1",
      in_words(host), secret_variable, insecure_variable)};
}

void check_may_listen_for_grpc(const credentials& with, const std::string& host) {
  if (with.tls || is_reached_from_here_only(host)) return;
  static std::once_flag once;
  if (with.insecure) return std::call_once(once, warn, host, "call the methods of its gRPC servers");
  throw permission_denied_error{
      fmt::format("clients of gRPC know no secret, so nobody is kept out and a port is opened on loopback only, and "
                  "not on {}; give "
                  "the process a certificate ({}; troupe certs makes one), or let whoever reaches it in by {}=1",
                  in_words(host), tls_certificate_variable, insecure_variable)};
}

}  // namespace troupe
