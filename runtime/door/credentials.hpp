// With what a process enters by the doors of others, and whom it lets in by its own.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/cluster_secret.hpp>
#include <troupe/runtime/door/tls_identity.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace troupe {

/// The variable that names the file of the secret.
inline constexpr auto secret_variable = "TROUPE_SECRET_FILE";
/// The name of a cluster stands in handshakes and certificates. `source` begins the error: "TROUPE_CLUSTER".
/// @throws invalid_argument_error
void check_cluster_name(const std::string& name, std::string_view source);

inline constexpr auto cluster_variable = "TROUPE_CLUSTER";
inline constexpr auto insecure_variable = "TROUPE_INSECURE";
/// Those that name the files of TLS.
inline constexpr auto tls_certificate_variable = "TROUPE_TLS_CERTIFICATE";
inline constexpr auto tls_key_variable = "TROUPE_TLS_KEY";
inline constexpr auto tls_authority_variable = "TROUPE_TLS_CA";

/// Files that go before those of the environment; empty: they don't.
struct credential_files {
  std::string secret = {};
  tls_files tls = {};
};

struct credentials {
  /// Processes that say another name are kept out, which helps against a wrong address. Empty: none.
  std::string cluster = {};
  /// Null: whoever reaches a port may enter, so ports are open on this machine's loopback only.
  std::shared_ptr<const cluster_secret> secret = nullptr;
  /// Null: what is said is neither encrypted nor bound to roles.
  std::shared_ptr<const tls_identity> tls = nullptr;
  /// Whether ports may be open to other machines without any of these.
  bool insecure = false;

  /// TROUPE_CLUSTER, TROUPE_SECRET_FILE (cluster_secret::read), TROUPE_INSECURE=1, and TROUPE_TLS_CERTIFICATE, _KEY and
  /// _CA, all or none (tls_context::load). The cluster is that of the certificate if nothing says one.
  /// @throws what read() and load() throw; invalid_argument_error that names the variable
  static credentials from_environment(credential_files before = {});

  /// The process's own, from the environment when they are first asked for. Any thread, as set_for_process.
  static std::shared_ptr<const credentials> of_process();
  /// For all that begins to listen or to connect from now on.
  static void set_for_process(credentials own);
};

/// Whether a port of a door may be open at this address, empty for all of the machine's. Without a secret, and unless
/// insecure, only on loopback. The first that is open to others without a secret is said in the program's log.
/// @throws permission_denied_error that says what to do
void check_may_listen(const credentials& with, const std::string& host);

/// The same for gRPC, whose clients know no secret.
void check_may_listen_for_grpc(const credentials& with, const std::string& host);

}  // namespace troupe
