// Who may send what to troupe's actors from another process: one table, in link_rules.cpp, of every message that
// crosses a link.
//
// Problem: CAF lets whoever reaches a port send anything to any actor whose number he can guess, and the typed
// interfaces don't say what is meant for the own process only: a stranger could admit a worker for himself, retire a
// server that others use, or end any actor. Solution: what stands in no row is refused, before CAF reads the content
// (runtime/cluster/link_gate.hpp), in real processes and in simulated ones.
//
// LR-1 The rules of an actor are those of its typed interface, if that is exactly one of troupe's. All other actors are
// the application's: they take what any process sends, but for what CAF itself would stumble over.
// LR-2 Troupe's own actors take messages over the sender's own link only, not passed on by a third process; answers may
// be passed on.
//
// Who a sender is says the identity of its connection (known_peers.hpp).
#pragma once

#include <caf/actor_system.hpp>
#include <caf/atom.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Whose messages of a row are taken.
enum class link_sender {
  /// Whoever has a link to this process: members, clients of its servers, the ranks of its group.
  anybody,
  /// Whoever has the identity of a chief; the receiver decides which one.
  a_chief,
  /// The process that adopted this one, with the identity of a chief.
  chief,
  /// That one; and as long as there is none, whoever has the identity of a chief.
  chief_to_be,
};

std::string_view to_string(link_sender whose);

struct link_rule {
  /// The first part of the message, which names it.
  caf::atom_value what;
  /// The types of all parts, as CAF writes them before the content: "@<>+@atom+@u64".
  std::string types;
  link_sender from;
  /// Of the content as it travels, without tensors that travel beside it.
  std::size_t bytes_max;
};

/// What other processes may send to actors of one interface; without rules: nothing.
struct link_receiver {
  std::string_view name;
  /// As CAF tells it of an actor.
  std::set<std::string> interface;
  std::vector<link_rule> rules;

  /// Nothing: in no row.
  const link_rule* find(std::string_view types, caf::atom_value what) const;
  /// Of the largest message.
  std::size_t bytes_max() const;
};

/// All of troupe's interfaces. The system has troupe's types (message_types.hpp); the table is the same for all.
const std::vector<link_receiver>& link_receivers(const caf::actor_system& system);

/// The rules for an actor with this interface; nothing: it is one of the application's.
const link_receiver* find_link_receiver(const caf::actor_system& system, const std::set<std::string>& interface);

}  // namespace troupe
