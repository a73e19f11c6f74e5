#include "job_credentials.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/cluster/cluster_spec.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace troupe::tools {

namespace {

/// One process in /proc. It never becomes another one that gets the same number: then its files can't be read any more.
class process_folder {
 public:
  explicit process_folder(const std::filesystem::path& path)
      : folder_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

  /// Whether it was started by this user and has its rights. A program with the set-user-ID bit has those of its owner,
  /// and the environment that whoever started it has chosen.
  bool is_of_this_user() const {
    std::istringstream status{read("status")};
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("Uid:")) continue;
      std::istringstream numbers{line.substr(4)};
      uid_t real = 0;
      uid_t effective = 0;
      return numbers >> real >> effective && real == ::geteuid() && effective == ::geteuid();
    }
    return false;
  }

  /// "NAME=VALUE", each with a zero behind it.
  std::string environment() const { return read("environ"); }

 private:
  /// Empty if it has ended, or may not be read.
  std::string read(const char* name) const {
    const descriptor file{::openat(folder_.get(), name, O_RDONLY | O_CLOEXEC)};
    std::string text;
    std::array<char, 4096> part{};
    for (;;) {
      const auto count = ::read(file.get(), part.data(), part.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return text;
      text.append(part.data(), static_cast<std::size_t>(count));
    }
  }

  const descriptor folder_;
};

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

credential_files files_in(std::string_view environment) {
  return {.secret = value_of(environment, secret_variable),
          .tls = {.certificate = value_of(environment, tls_certificate_variable),
                  .key = value_of(environment, tls_key_variable),
                  .authority = value_of(environment, tls_authority_variable)}};
}

bool is_enough(const credential_files& files) {
  return !files.secret.empty() ||
         !(files.tls.certificate.empty() || files.tls.key.empty() || files.tls.authority.empty());
}

}  // namespace

credential_files credentials_of_job(const task_address& member) {
  std::error_code ended;
  for (std::filesystem::directory_iterator process{"/proc", ended}, end; !ended && process != end;
       process.increment(ended)) {
    const process_folder one{process->path()};
    // Another user would choose which files this one reads, and to whom it proves that it has them.
    if (!one.is_of_this_user()) continue;
    const auto environment = one.environment();
    if (!is_of_job(value_of(environment, "TF_CONFIG"), member)) continue;
    // One that was given them by flags, or is no member, has none here.
    if (auto files = files_in(environment); is_enough(files)) return files;
  }
  return {};
}

}  // namespace troupe::tools
