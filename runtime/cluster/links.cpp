#include <troupe/actors/functions/build_id.hpp>
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/door/handshake.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/node_id.hpp>

#include <utility>

#include <sys/socket.h>

namespace troupe {

namespace {

class links_by_doors final : public connector {
 public:
  links_by_doors(caf::actor_system& system, visitor_words words) : system_(system), words_(std::move(words)) {}

  void connect(const task_address& where, duration limit, ended done) override {
    tcp_connector::of_process().connect(
        where, limit, words_,
        [&system = system_, done = std::move(done)](descriptor socket, const door_hello& host, const status& why) {
          if (!why.ok()) return done({}, why);
          // Shared, because a std::function is copyable.
          const auto kept = std::make_shared<descriptor>(std::move(socket));
          done(
              [&system, kept, who = host.who](caf::io::network::multiplexer& network) {
                auto scribe = network.new_scribe(kept->release());
                if (scribe) expect_at(system, scribe->hdl(), who);
                return scribe;
              },
              {});
        });
  }

  // CAF's handles are the numbers of sockets. It reads the end of this one next, as if its peer had closed it.
  void close(caf::io::connection_handle which) override { ::shutdown(static_cast<int>(which.id()), SHUT_RDWR); }

 private:
  caf::actor_system& system_;
  const visitor_words words_;
};

}  // namespace

door_party party_of(const caf::actor_system& system, const credentials& with, const door_role& as) {
  return {.cluster = with.cluster,
          .task = as.task,
          .incarnation = as.incarnation,
          .build_id = program_build_id(),
          .process = caf::to_string(system.node())};
}

std::shared_ptr<connector> links_of(caf::actor_system& system, const door_role& as) {
  if (const auto* const own = dynamic_cast<const own_connections*>(&system.config())) return own->make_connector();
  const auto with = credentials::of_process();
  return std::make_shared<links_by_doors>(system,
                                          words_for(door_service::messages, party_of(system, *with, as), with->secret));
}

}  // namespace troupe
