#include <troupe/actors/messages/known_peers.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/bulk/tcp_bulk.hpp>
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/cluster/basp_listener.hpp>
#include <troupe/runtime/cluster/door_scribe.hpp>
#include <troupe/runtime/cluster/group_visitors.hpp>
#include <troupe/runtime/cluster/with_basp_broker.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/door/door.hpp>

#include <caf/abstract_actor.hpp>
#include <caf/io/network/multiplexer.hpp>
#include <caf/send.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace troupe {

namespace {

/// The open ports of all actor systems.
class open_ports {
 public:
  void add(const caf::actor_system& of, const caf::actor& broker, std::unique_ptr<door> opened) {
    std::unique_lock lock{mutex_};
    const auto port = opened->port();
    ports_[{&of, port}] = std::move(opened);
    const auto is_first = systems_.insert(&of).second;
    lock.unlock();
    // CAF ends the broker before the rest of the system; if it has done so, this closes the port at once.
    if (is_first)
      caf::actor_cast<caf::abstract_actor*>(broker)->attach_functor([this, &of](const caf::error&) { close_all(of); });
  }

  void close(const caf::actor_system& of, std::uint16_t port) {
    std::unique_lock lock{mutex_};
    const auto closed = ports_.extract({&of, port});
    lock.unlock();
  }

  void close_all(const caf::actor_system& of) {
    std::map<key, std::unique_ptr<door>> closed;
    const std::scoped_lock lock{mutex_};
    systems_.erase(&of);
    for (auto next = ports_.lower_bound({&of, 0}); next != ports_.end() && next->first.first == &of;)
      closed.insert(ports_.extract(next++));
  }

 private:
  using key = std::pair<const caf::actor_system*, std::uint16_t>;
  std::mutex mutex_;
  std::map<key, std::unique_ptr<door>> ports_;
  /// That close their ports with their end.
  std::set<const caf::actor_system*> systems_;
};

open_ports& ports() {
  static auto& all = *new open_ports;
  return all;
}

/// Tensors go to whoever offers them in this process now.
void serve_tensors(channel connection, const door_hello&) {
  if (const auto offers = std::dynamic_pointer_cast<tcp_bulk>(bulk_transport::current()))
    offers->adopt(std::move(connection));
}

}  // namespace

std::uint16_t listen_for_basp(caf::actor_system& system, const caf::strong_actor_ptr& whom,
                              const std::set<std::string>& interface, const task_address& where, const door_role& as) {
  const auto with = credentials::of_process();
  const auto host = where.host == "localhost" ? "127.0.0.1" : where.host;
  check_may_listen(*with, host);
  const auto broker = basp_broker_of(system);
  const auto upkeep = [broker, &system] { with_basp_broker(system, broker, close_half_frames); };
  try {
    auto opened = std::make_unique<door>(
        host, where.port,
        door_options{.self = party_of(system, *with, as),
                     .secret = with->secret,
                     .tls = with->tls,
                     .strangers = {.upkeep = upkeep},
                     .check_peer = [&system](const peer_identity& who) { return check_peer(system, who); }});
    const auto port = opened->port();
    opened->open_for(door_service::messages,
                     [=, &system, peers = known_peers::of(system)](channel connection, const door_hello& visitor) {
                       auto scribe = make_scribe(system.middleman().backend(), std::move(connection));
                       peers->expect(scribe->hdl().id(), visitor.who);
                       // The broker answers with its own handshake and reads from there.
                       caf::anon_send(broker, caf::publish_atom_v, std::move(scribe), port, whom, interface);
                     });
    opened->open_for(door_service::tensors, serve_tensors);
    opened->open_for(door_service::group, [task = as.task](channel connection, const door_hello& visitor) {
      group_visitors::of_process().take(task, std::move(connection), visitor);
    });
    ports().add(system, broker, std::move(opened));
    return port;
  } catch (const error& failed) {
    throw unavailable_error{failed.message()};
  }
}

void stop_listening_for_basp(caf::actor_system& system, std::uint16_t port) {
  ports().close(system, port);
  with_basp_broker(system, basp_broker_of(system),
                   [port](caf::io::basp_broker& broker) { broker.instance.remove_published_actor(port); });
}

}  // namespace troupe
