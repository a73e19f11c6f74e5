#include <troupe/actors/messages/known_peers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

struct systems {
  struct entry {
    std::weak_ptr<known_peers> peers;
    /// Another system that lies where an earlier one did has another id.
    caf::node_id node;
  };
  std::mutex mutex;
  std::map<const caf::actor_system*, entry> all;
};

systems& all_systems() {
  static auto& all = *new systems;
  return all;
}

}  // namespace

status same_identity_error(const process_id& process) {
  return {
      status_code::permission_denied,
      fmt::format("two processes have the same identity, {}; end one of them, and do not start processes from a copy "
                  "of a running one, such as a snapshot of a virtual machine",
                  to_string(process))};
}

std::shared_ptr<known_peers> known_peers::of(const caf::actor_system& system) {
  auto& systems = all_systems();
  const std::scoped_lock lock{systems.mutex};
  auto& entry = systems.all[&system];
  auto found = entry.peers.lock();
  if (found && entry.node == system.node()) return found;
  found = std::make_shared<known_peers>();
  entry = {found, system.node()};
  return found;
}

void known_peers::forget(const caf::actor_system& system) {
  auto& systems = all_systems();
  const std::scoped_lock lock{systems.mutex};
  systems.all.erase(&system);
}

// PI-1, PI-2. The incarnation may change: a process with the same key can end a member and begin another one. A task
// without an incarnation is no member's: so a process states the role of its certificate where it has no task.
status known_peers::compare(const peer_identity& known, const peer_identity& shown) {
  if (known.system != shown.system || known.key != shown.key) return same_identity_error(shown.system.process);
  if (known.proof != shown.proof || known.certified_role != shown.certified_role || known.cluster != shown.cluster)
    return {status_code::permission_denied,
            fmt::format("process {} is connected already with another certificate or cluster",
                        to_string(shown.system.process))};
  if (known.incarnation != 0 && shown.incarnation != 0 && known.task != shown.task)
    return {status_code::permission_denied,
            fmt::format("process {} is connected as {}, and comes as {} now", to_string(shown.system.process),
                        to_string(known), to_string(shown))};
  return {};
}

status known_peers::check(const peer_identity& shown) const {
  const std::scoped_lock lock{mutex_};
  const auto found = processes_.find(shown.system.node());
  return found == processes_.end() ? status{} : compare(found->second.who, shown);
}

void known_peers::expect(connection_number connection, const peer_identity& shown) {
  // Numbers come again.
  end(connection);
  const std::scoped_lock lock{mutex_};
  expected_.insert_or_assign(connection, shown);
}

status known_peers::begin(connection_number connection, const caf::node_id& node) {
  const std::scoped_lock lock{mutex_};
  if (const auto begun = connections_.find(connection); begun != connections_.end())
    return begun->second == node ? status{}
                                 : status{status_code::permission_denied, "a handshake in the name of another process"};
  const auto expected = expected_.extract(connection);
  peer_identity shown;
  if (expected)
    shown = expected.mapped();
  else
    shown.system = process_system::of(node);
  if (process_system::of(node) != shown.system)
    return {status_code::permission_denied, "a handshake of another process than the one that connected"};
  auto& known = processes_[node];
  if (known.connections == 0) {
    known.who = shown;
  } else {
    if (auto why = compare(known.who, shown); !why.ok()) return why;
    if (shown.incarnation != 0 || (known.who.incarnation == 0 && shown.is_member())) known.who = shown;
  }
  ++known.connections;
  connections_.emplace(connection, node);
  return {};
}

void known_peers::end(connection_number connection) {
  const std::scoped_lock lock{mutex_};
  expected_.erase(connection);
  const auto ended = connections_.extract(connection);
  if (!ended) return;
  const auto owner = processes_.find(ended.mapped());
  if (--owner->second.connections == 0) processes_.erase(owner);
}

std::optional<peer_identity> known_peers::find(const caf::node_id& node) const {
  const std::scoped_lock lock{mutex_};
  const auto found = processes_.find(node);
  return found == processes_.end() ? std::nullopt : std::optional{found->second.who};
}

void known_peers::set_chief(const void* member, const caf::node_id& chief) {
  const std::scoped_lock lock{mutex_};
  chiefs_.insert_or_assign(member, chief);
}

void known_peers::forget_chief(const void* member) {
  const std::scoped_lock lock{mutex_};
  chiefs_.erase(member);
}

bool known_peers::is_chief(const caf::node_id& node) const {
  const std::scoped_lock lock{mutex_};
  return has_chief_identity(node) &&
         std::ranges::any_of(chiefs_, [&](const auto& each) { return each.second == node; });
}

bool known_peers::has_chief() const {
  const std::scoped_lock lock{mutex_};
  return !chiefs_.empty();
}

bool known_peers::may_be_chief(const caf::node_id& node) const {
  const std::scoped_lock lock{mutex_};
  return has_chief_identity(node);
}

bool known_peers::has_chief_identity(const caf::node_id& node) const {
  const auto found = processes_.find(node);
  return found != processes_.end() && found->second.who.task.job == chief_job;
}

chief_of_member::chief_of_member(const caf::actor_system& system) : peers_(known_peers::of(system)) {}
chief_of_member::~chief_of_member() { peers_->forget_chief(this); }
void chief_of_member::set(const caf::node_id& chief) { peers_->set_chief(this, chief); }

}  // namespace troupe
