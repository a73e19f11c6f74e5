// Who is at the other end of a connection, and how it has proved that. Every decision about what a peer may do asks it.
//
// Problem: CAF's node id is stated by each peer, and CAF makes it from MAC addresses and the process number, which
// containers share. So a node id neither proves who speaks nor tells two processes apart. Solution: each process makes
// 128 random bits for itself before its middleman begins, CAF's node ids are made from them, and the handshake
// (runtime/door/handshake.hpp) makes one identity for each connection, of which its proof covers all.
//
// Semantics: examples/reference/security.md.
#pragma once

#include <troupe/actors/messages/task.hpp>

#include <caf/node_id.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// Random, so that no two processes have the same one, whatever machine, container or network they are in. No secret.
struct process_id {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const process_id&) const = default;
  /// False: of no process.
  explicit operator bool() const { return *this != process_id{}; }

  /// Of this process; another one in a process that it has forked. Any thread.
  /// @throws unavailable_error when the system gives no random numbers
  static process_id of_this_process();
};
/// 32 hexadecimal digits.
std::string to_string(const process_id& process);

/// An actor system of a process, for which CAF has a node id.
struct process_system {
  process_id process;
  /// From 1 on, in the order in which the process made them; 0: none, as where a process comes for tensors.
  std::uint32_t number = 0;

  bool operator==(const process_system&) const = default;
  caf::node_id node() const;
  /// All zero for a node id that was not made from a process_id.
  static process_system of(const caf::node_id& node);
};

/// What only this process can show to one peer, and shows on each connection between the two. So a second connection in
/// the name of a process comes from that process. All zero: none was shown.
using process_key = std::array<std::uint8_t, 16>;

/// How a peer has proved who it is.
enum class identity_proof : std::uint8_t {
  /// It has only said so.
  none,
  /// It knows the secret of the cluster.
  secret,
  /// By a certificate, whose role is `certified_role`.
  certificate,
};

struct peer_identity {
  /// Empty: of no cluster that has a name.
  std::string cluster;
  /// Without a job: no member of a cluster, such as a client of remote calls.
  task_id task;
  /// Of the member; 0: none was said.
  std::uint64_t incarnation = 0;
  /// Of the program; actors/functions/build_id.hpp.
  std::uint64_t build_id = 0;
  process_system system;
  process_key key{};
  identity_proof proof = identity_proof::none;
  /// The job that the certificate names: "worker", "client".
  std::string certified_role;

  bool operator==(const peer_identity&) const = default;
  bool is_member() const { return !task.job.empty(); }
};
/// Whether a text can be the name of a cluster, a job or a host: letters, digits, "-", "_" and "."; at least one.
bool is_plain_name(std::string_view text);

/// "/job:worker/task:0 of "training"", or what else is known; only characters that can be printed.
std::string to_string(const peer_identity& peer);

/// The name of the job whose member coordinates the others.
inline constexpr auto chief_job = "chief";

}  // namespace troupe
