// With what a process enters by the doors of others, and whom it lets in by its own.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/cluster_secret.hpp>

#include <memory>
#include <string>

namespace troupe {

/// The variable that names the file of the secret.
inline constexpr auto secret_variable = "TROUPE_SECRET_FILE";
inline constexpr auto cluster_variable = "TROUPE_CLUSTER";
inline constexpr auto insecure_variable = "TROUPE_INSECURE";

struct credentials {
  /// Processes that say another name are kept out, which helps against a wrong address. Empty: none.
  std::string cluster = {};
  /// Null: whoever reaches a port may enter, so ports are open on this machine's loopback only.
  std::shared_ptr<const cluster_secret> secret = nullptr;
  /// Whether ports may be open to other machines without a secret.
  bool insecure = false;

  /// TROUPE_CLUSTER, TROUPE_SECRET_FILE (cluster_secret::read) and TROUPE_INSECURE=1. The secret is read from another
  /// file if one is given. @throws what read() throws; invalid_argument_error for another value than 0 or 1
  static credentials from_environment(std::string secret_file = {});

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
