#include "job_credentials.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/cluster_spec.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace troupe::tools {

namespace {

/// What /proc/PID/environ holds: "NAME=VALUE", each with a zero behind it. Nothing of other users' processes.
std::string read_environment(const std::filesystem::path& process) {
  std::ifstream file{process / "environ", std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::string value_of(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const auto entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
      return std::string{entry.substr(name.size() + 1)};
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
  }
  return {};
}

bool is_of_job(const std::string& tf_config, const task_address& member) {
  if (tf_config.empty()) return false;
  try {
    const auto cluster = parse_tf_config(tf_config).cluster;
    const auto tasks = cluster.tasks();
    return std::ranges::any_of(tasks, [&](const task_id& each) { return cluster.address(each) == member; });
  } catch (const error&) {
    return false;  // some other program's
  }
}

}  // namespace

credential_files credentials_of_job(const task_address& member) {
  std::error_code ended;
  for (std::filesystem::directory_iterator process{"/proc", ended}, end; !ended && process != end;
       process.increment(ended)) {
    const auto environment = read_environment(process->path());
    if (!is_of_job(value_of(environment, "TF_CONFIG"), member)) continue;
    return {.secret = value_of(environment, secret_variable),
            .tls = {.certificate = value_of(environment, tls_certificate_variable),
                    .key = value_of(environment, tls_key_variable),
                    .authority = value_of(environment, tls_authority_variable)}};
  }
  return {};
}

}  // namespace troupe::tools
