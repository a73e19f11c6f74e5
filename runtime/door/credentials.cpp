#include <troupe/runtime/cluster/own_address.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

constexpr auto cluster_variable = "TROUPE_CLUSTER";
constexpr auto insecure_variable = "TROUPE_INSECURE";

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

own_credentials& own() {
  static auto& instance = *new own_credentials;
  return instance;
}

}  // namespace

credentials credentials::from_environment() {
  credentials result{.cluster = environment(cluster_variable), .secret = nullptr, .insecure = is_insecure()};
  if (const auto file = environment(secret_variable); !file.empty())
    result.secret = cluster_secret::read(file);
  return result;
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
  if (with.secret || with.insecure) return;
  const auto is_everywhere = host.empty() || host == "0.0.0.0" || host == "::";
  // What is no address of this machine can't be listened on, which is said by who tries.
  if (!is_everywhere && std::ranges::all_of(own_numbers_of(host), is_loopback_number)) return;
  throw permission_denied_error{fmt::format(
      "without a secret nobody is kept out, so a port is opened on loopback only, and not on {}; give all processes of "
      "the cluster the same secret by {}, or let whoever reaches them in by {}=1",
      host.empty() ? "all addresses" : fmt::format("\"{}\"", host), secret_variable, insecure_variable)};
}

}  // namespace troupe
