#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/door/tls_identity.hpp>

#include <fmt/format.h>

#include <utility>

#include <sys/stat.h>

namespace troupe {

tls_identity::tls_identity(tls_files files, certificate_clock clock)
    : files_(std::move(files)),
      clock_(std::move(clock)),
      read_at_(last_change()),
      context_(tls_context::load(files_, clock_())),
      looked_(std::chrono::steady_clock::now()) {
  announce_end();
}

std::shared_ptr<const tls_context> tls_identity::current() const {
  const std::scoped_lock lock{mutex_};
  read_what_has_changed();
  announce_end();
  return context_;
}

void tls_identity::read_what_has_changed() const {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < look_interval) return;
  looked_ = now;
  const auto changed = last_change();
  if (changed == std::exchange(read_at_, changed)) return;
  try {
    context_ = tls_context::load(files_, clock_());
    log_info(fmt::format("the certificate \"{}\" has changed, and is used for new connections", files_.certificate));
  } catch (const error& failed) {
    log_warning(fmt::format("the certificate \"{}\" has changed and can't be used, so the one before is used on: {}",
                            files_.certificate, failed.message()));
  }
}

/// Where nobody could read it, it waits: a program opens its log after it has read its certificate.
void tls_identity::announce_end() const {
  if (!has_program_log()) return;
  if (const auto line = ends_.next_line(files_.certificate, context_->validity(), clock_())) log_warning(*line);
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
