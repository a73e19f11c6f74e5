#include <troupe/actors/functions/build_id.hpp>
#include <troupe/actors/messages/known_peers.hpp>
#include <troupe/runtime/cluster/door_scribe.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/cluster/replaced_functions.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/door/certified_party.hpp>
#include <troupe/runtime/door/process_secret.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/node_id.hpp>

#include <utility>

#include <sys/socket.h>

namespace troupe {

namespace {

class links_by_doors final : public connector {
 public:
  links_by_doors(caf::actor_system& system, visitor_words words, bool is_certified)
      : system_(system), peers_(known_peers::of(system)), words_(std::move(words)), is_certified_(is_certified) {}

  void connect(const task_address& where, duration limit, ended done) override {
    auto entered = [is_certified = is_certified_, &system = system_, peers = peers_, done = std::move(done)](
                       channel opened, const door_hello& host, status why) {
      if (why.ok() && is_certified) why = check_serves(host.who);
      if (why.ok()) why = check_peer(system, host.who);
      if (!why.ok()) return done({}, why);
      // Shared, because a std::function is copyable.
      const auto kept = std::make_shared<channel>(std::move(opened));
      done(
          [peers, kept, who = host.who](caf::io::network::multiplexer& network) {
            auto scribe = make_scribe(network, std::move(*kept));
            if (scribe) peers->expect(scribe->hdl().id(), who);
            return scribe;
          },
          {});
    };
    tcp_connector::of_process().connect(where, limit, words_, std::move(entered));
  }

  // CAF's handles are the numbers of sockets. It reads the end of this one next, as if its peer had closed it.
  void close(caf::io::connection_handle which) override { ::shutdown(static_cast<int>(which.id()), SHUT_RDWR); }

 private:
  caf::actor_system& system_;
  const std::shared_ptr<known_peers> peers_;
  const visitor_words words_;
  const bool is_certified_;
};

}  // namespace

peer_identity party_of(const caf::actor_system& system, const credentials& with, const door_role& as) {
  return introduced({.task = as.task,
                     .incarnation = as.incarnation,
                     .build_id = program_build_id(),
                     .system = process_system::of(system.node())},
                    with);
}

namespace {

const own_connections* own_connections_of(const caf::actor_system& system) {
  return dynamic_cast<const own_connections*>(&system.config());
}

}  // namespace

std::shared_ptr<const credentials> credentials_of(const caf::actor_system& system) {
  const auto* const own = own_connections_of(system);
  return own != nullptr ? own->own_credentials() : credentials::of_process();
}

std::string certified_role_of(const caf::actor_system& system, const caf::node_id& process) {
  if (process == system.node()) {
    const auto with = credentials_of(system);
    return with->tls ? with->tls->current()->own_role().job : std::string{};
  }
  const auto known = known_peers::of(system)->find(process);
  return known ? known->certified_role : std::string{};
}

status check_peer(const caf::actor_system& system, const peer_identity& shown) {
  // A process may connect to itself, as where a member calls a server of remote calls in its own process.
  const auto own = process_system::of(system.node());
  if (shown.system == own && shown.key != process_secret::of_this_process()->key_for(own.process, own.process))
    return same_identity_error(own.process);
  return known_peers::of(system)->check(shown);
}

std::shared_ptr<connector> links_of(caf::actor_system& system, const door_role& as) {
  require_replaced_functions();
  if (const auto* const own = own_connections_of(system)) return own->make_connector();
  const auto with = credentials::of_process();
  return std::make_shared<links_by_doors>(
      system, words_for(door_service::messages, party_of(system, *with, as), with->secret, with->tls),
      with->tls != nullptr);
}

}  // namespace troupe
