#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/door/tls_identity.hpp>

#include <fmt/format.h>

#include <utility>

#include <sys/stat.h>

namespace troupe {

tls_identity::tls_identity(tls_files files)
    : files_(std::move(files)),
      context_(tls_context::load(files_)),
      read_at_(last_change()),
      looked_(std::chrono::steady_clock::now()) {}

std::shared_ptr<const tls_context> tls_identity::current() const {
  const std::scoped_lock lock{mutex_};
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < look_interval) return context_;
  looked_ = now;
  const auto changed = last_change();
  if (changed == std::exchange(read_at_, changed)) return context_;
  try {
    context_ = tls_context::load(files_);
    log_info(fmt::format("the certificate \"{}\" has changed, and is used for new connections", files_.certificate));
  } catch (const error& failed) {
    log_warning(fmt::format("the certificate \"{}\" has changed and can't be used, so the one before is used on: {}",
                            files_.certificate, failed.message()));
  }
  return context_;
}

/// Of each file, in nanoseconds; 0 while it is not there, as between two of its versions.
tls_identity::change tls_identity::last_change() const {
  const auto of = [](const std::string& path) -> std::int64_t {
    struct stat found = {};
    if (::stat(path.c_str(), &found) != 0) return 0;
    constexpr std::int64_t ns_per_s = 1'000'000'000;
    return found.st_mtim.tv_sec * ns_per_s + found.st_mtim.tv_nsec;
  };
  return {of(files_.certificate), of(files_.key), of(files_.authority)};
}

}  // namespace troupe
