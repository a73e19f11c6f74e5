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

  /// @throws as tls_context::load
  explicit tls_identity(tls_files files);

  /// Any thread. New files that can't be used are said in the program's log, and the ones before are used on.
  std::shared_ptr<const tls_context> current() const;
  const tls_files& files() const { return files_; }

 private:
  using change = std::array<std::int64_t, 3>;
  change last_change() const;

  const tls_files files_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const tls_context> context_;
  mutable change read_at_{};
  mutable std::chrono::steady_clock::time_point looked_{};
};

}  // namespace troupe
