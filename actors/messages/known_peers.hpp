// Which processes this actor system is connected with, as whom, and which of them its members obey.
//
// Problem: CAF decides by node ids, which peers state themselves: a second connection in the name of a known process
// becomes another route to that process, or the route. Solution: the first live connection of a process fixes who that
// process is. Another connection in its name is accepted only if it shows the same key, proof and role, and names no
// other task. What a peer may do is decided by the identity that is kept here.
//
// PI-1 While a process has a connection, no other process is accepted in its name. PI-2 A process that came as no
// member, such as a client of remote calls, may become a member on another connection; a member stays that task.
// PI-3 Only the process that adopted a member, with the identity of a chief, is obeyed as its chief.
//
// Several simulated processes live in one, so what is known belongs to an actor system.
#pragma once

#include <troupe/actors/messages/peer_identity.hpp>
#include <troupe/device/base/error.hpp>

#include <caf/actor_system.hpp>
#include <caf/node_id.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace troupe {

/// Another process has this id, too.
status same_identity_error(const process_id& process);

/// Any thread.
class known_peers {
 public:
  /// CAF's number of a connection.
  using connection_number = std::int64_t;

  /// The same object for as long as somebody keeps it: listeners, dialers, members and the filter of messages do.
  static std::shared_ptr<known_peers> of(const caf::actor_system& system);
  /// The system ends: another one may lie where it did.
  static void forget(const caf::actor_system& system);

  /// Whether a process with this identity may have a connection, beside those that there are.
  status check(const peer_identity& shown) const;

  /// The handshake of a connection is over, and CAF gets it next.
  void expect(connection_number connection, const peer_identity& shown);
  /// CAF's own handshake on it names this node. A connection that nobody expected is that of a process without an
  /// identity. Ok once for each connection, or again in the same name.
  status begin(connection_number connection, const caf::node_id& node);
  void end(connection_number connection);

  /// As whom a process is connected; nothing: it is not.
  std::optional<peer_identity> find(const caf::node_id& node) const;

  /// A member of this system obeys this process from now on.
  void set_chief(const void* member, const caf::node_id& chief);
  void forget_chief(const void* member);
  /// PI-3. Whether some member of this system obeys the process.
  bool is_chief(const caf::node_id& node) const;
  /// Whether some member obeys any process.
  bool has_chief() const;
  /// Whether the process is one that may adopt members.
  bool may_be_chief(const caf::node_id& node) const;

 private:
  struct process {
    peer_identity who;
    std::size_t connections = 0;
  };

  static status compare(const peer_identity& known, const peer_identity& shown);
  bool has_chief_identity(const caf::node_id& node) const;

  mutable std::mutex mutex_;
  std::unordered_map<connection_number, peer_identity> expected_;
  std::unordered_map<connection_number, caf::node_id> connections_;
  std::unordered_map<caf::node_id, process> processes_;
  std::map<const void*, caf::node_id> chiefs_;
};

/// What one member knows of its chief; forgotten with it.
class chief_of_member {
 public:
  explicit chief_of_member(const caf::actor_system& system);
  ~chief_of_member();
  chief_of_member(const chief_of_member&) = delete;
  chief_of_member& operator=(const chief_of_member&) = delete;

  void set(const caf::node_id& chief);

 private:
  const std::shared_ptr<known_peers> peers_;
};

}  // namespace troupe
