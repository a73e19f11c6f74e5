// What a process shows under TLS and whom it believes, read again when the files have changed: new connections use new
// certificates, without a restart.
#pragma once

#include <troupe/runtime/door/tls_session.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <mutex>

namespace troupe {

class tls_identity {
 public:
  /// Between two looks at the files.
  static constexpr std::chrono::milliseconds look_interval{500};

  /// The log has the coming end of the certificate. @throws as tls_context::load
  explicit tls_identity(tls_files files, certificate_clock clock = system_time);

  /// Any thread. New files that can't be used are said in the program's log, and the ones before are used on. The
  /// coming end of the certificate is announced there once a day.
  std::shared_ptr<const tls_context> current() const;
  const tls_files& files() const { return files_; }

 private:
  using change = std::array<std::int64_t, 3>;
  change last_change() const;
  void read_what_has_changed() const;
  void announce_end() const;

  const tls_files files_;
  const certificate_clock clock_;
  mutable std::mutex mutex_;
  /// Of the files when they were read. Before the context: a change while they are read is seen by the next look.
  mutable change read_at_{};
  mutable std::shared_ptr<const tls_context> context_;
  mutable expiry_warning ends_;
  mutable std::chrono::steady_clock::time_point looked_{};
};

}  // namespace troupe
