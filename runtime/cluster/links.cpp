#include <troupe/actors/functions/build_id.hpp>
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/cluster/door_scribe.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/door/certified_party.hpp>

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
      : system_(system), words_(std::move(words)), is_certified_(is_certified) {}

  void connect(const task_address& where, duration limit, ended done) override {
    auto entered = [is_certified = is_certified_, &system = system_, done = std::move(done)](
                       channel opened, const door_hello& host, status why) {
      if (why.ok() && is_certified) why = check_serves(host.who);
      if (!why.ok()) return done({}, why);
      // Shared, because a std::function is copyable.
      const auto kept = std::make_shared<channel>(std::move(opened));
      done(
          [&system, kept, who = host.who](caf::io::network::multiplexer& network) {
            auto scribe = make_scribe(network, std::move(*kept));
            if (scribe) expect_at(system, scribe->hdl(), who);
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
  const visitor_words words_;
  const bool is_certified_;
};

}  // namespace

door_party party_of(const caf::actor_system& system, const credentials& with, const door_role& as) {
  return introduced({.task = as.task,
                     .incarnation = as.incarnation,
                     .build_id = program_build_id(),
                     .process = caf::to_string(system.node())},
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

std::string certified_job(const caf::actor_system& system, const caf::node_id& process) {
  const auto with = credentials_of(system);
  if (!with->tls) return {};
  if (process == system.node()) return with->tls->current()->own_role().job;
  const auto known = known_as(system, process);
  if (!known) return {};
  return known->job.empty() ? client_job : known->job;
}

std::shared_ptr<connector> links_of(caf::actor_system& system, const door_role& as) {
  if (const auto* const own = own_connections_of(system)) return own->make_connector();
  const auto with = credentials::of_process();
  return std::make_shared<links_by_doors>(
      system, words_for(door_service::messages, party_of(system, *with, as), with->secret, with->tls),
      with->tls != nullptr);
}

}  // namespace troupe
