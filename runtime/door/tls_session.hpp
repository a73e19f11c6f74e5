// One connection under TLS 1.3, both of whose sides have shown a certificate of the cluster's authority.
//
//   handshake() again and again, whenever the socket is ready, until it is over --> receive_some, send_some
//
// AES with keys of 128 bits if the other side has it, since a job's tensors go through it. No session is taken up
// again, so nothing is said after the handshake but what the two sides say. Not thread-safe.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/certificate_authority.hpp>
#include <troupe/runtime/door/certificate_validity.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace troupe {

/// Where a process finds what it shows and whom it believes, in PEM. All three or none.
struct tls_files {
  std::string certificate;
  std::string key;
  /// The authority's certificate.
  std::string authority;

  bool operator==(const tls_files&) const = default;
};

/// What was read of them once. Shared by connections, which keep it when the files change.
class tls_context {
 public:
  /// @throws not_found_error, permission_denied_error (a key that others may read), invalid_argument_error; each names
  /// the file, what was wrong and what to do. A certificate that is not valid at this time is refused, too.
  static std::shared_ptr<const tls_context> load(const tls_files& files, std::chrono::sys_seconds now = system_time());

  tls_context(const tls_context&) = delete;
  ~tls_context();

  /// What its own certificate says.
  const certified_role& own_role() const { return role_; }
  /// Of its own certificate.
  const certificate_validity& validity() const { return validity_; }

 private:
  friend class tls_session;
  struct native;
  tls_context(std::unique_ptr<native> made, certified_role role, const certificate_validity& validity);

  std::unique_ptr<native> native_;
  certified_role role_;
  certificate_validity validity_;
};

class tls_session {
 public:
  enum class side { visitor, host };
  enum class progress { wants_to_read, wants_to_write, over };

  /// @throws resource_exhausted_error when OpenSSL has no memory
  tls_session(std::shared_ptr<const tls_context> context, side which, int socket);
  tls_session(tls_session&&) noexcept;
  tls_session& operator=(tls_session&&) noexcept;
  ~tls_session();

  progress handshake();
  /// Whether the other side's first message has come.
  bool has_begun() const;
  /// Once that is over: ok, or what was wrong with the other side, for the log: a visitor hears nothing of it. Unless
  /// it is ok, nothing may be said or heard.
  const status& result() const { return result_; }
  /// Of the other side; nothing if its certificate names no role.
  const std::optional<certified_role>& peer() const { return peer_; }

  /// As those of sockets. What was received may lie here already, and no socket tells of it: read until it blocks.
  stream_progress receive_some(std::span<std::byte> into);
  stream_progress send_some(std::span<const std::byte> from);
  std::size_t buffered_bytes() const;

 private:
  struct native;
  void end_handshake(int returned);
  stream_progress progress_of(int returned, std::size_t bytes);

  std::shared_ptr<const tls_context> context_;
  std::unique_ptr<native> native_;
  status result_;
  std::optional<certified_role> peer_;
};

}  // namespace troupe
