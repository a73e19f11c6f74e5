#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/cluster/basp_listener.hpp>
#include <troupe/runtime/cluster/with_basp_broker.hpp>
#include <troupe/runtime/door/acceptor.hpp>

#include <caf/abstract_actor.hpp>
#include <caf/io/basp/header.hpp>
#include <caf/io/network/multiplexer.hpp>
#include <caf/send.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>

namespace troupe {

namespace {

/// A header of CAF's, of which only the beginning may be there: the handshake of a client, and how long it is.
first_words::verdict judge_greeting(std::span<const std::byte> peeked) {
  constexpr auto header_bytes = caf::io::basp::header_size;
  constexpr std::size_t length_at = 4;
  constexpr auto content_bytes_max = first_words::bytes_max - header_bytes;
  if (peeked[0] != std::byte{static_cast<unsigned char>(caf::io::basp::message_type::client_handshake)})
    return first_words::verdict::refuse;
  if (peeked.size() < header_bytes) return first_words::verdict::wait_for_more;
  std::size_t content_bytes = 0;
  for (const auto each : peeked.subspan(length_at, sizeof(std::uint32_t)))
    content_bytes = content_bytes << 8 | std::to_integer<std::size_t>(each);
  if (content_bytes == 0 || content_bytes > content_bytes_max) return first_words::verdict::refuse;
  return peeked.size() < header_bytes + content_bytes ? first_words::verdict::wait_for_more
                                                      : first_words::verdict::welcome;
}

/// The open ports of all actor systems.
class open_ports {
 public:
  void add(const caf::actor_system& of, const caf::actor& broker, std::unique_ptr<acceptor> opened) {
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
    std::map<key, std::unique_ptr<acceptor>> closed;
    const std::scoped_lock lock{mutex_};
    systems_.erase(&of);
    for (auto next = ports_.lower_bound({&of, 0}); next != ports_.end() && next->first.first == &of;)
      closed.insert(ports_.extract(next++));
  }

 private:
  using key = std::pair<const caf::actor_system*, std::uint16_t>;
  std::mutex mutex_;
  std::map<key, std::unique_ptr<acceptor>> ports_;
  /// That close their ports with their end.
  std::set<const caf::actor_system*> systems_;
};

open_ports& ports() {
  static auto& all = *new open_ports;
  return all;
}

}  // namespace

std::uint16_t listen_for_basp(caf::actor_system& system, const caf::strong_actor_ptr& whom,
                              const std::set<std::string>& interface, const task_address& where) {
  const auto broker = basp_broker_of(system);
  const auto port = std::make_shared<std::atomic<std::uint16_t>>(where.port);
  const auto hand_over = [=, &system](descriptor connection) {
    // The broker answers with its own handshake and reads from there.
    caf::anon_send(broker, caf::publish_atom_v, system.middleman().backend().new_scribe(connection.release()),
                   port->load(), whom, interface);
  };
  try {
    const auto upkeep = [broker, &system] { with_basp_broker(system, broker, close_half_frames); };
    auto opened = open_acceptor(where.host == "localhost" ? "127.0.0.1" : where.host, where.port,
                                first_words::receive(judge_greeting, hand_over), {.upkeep = upkeep});
    *port = opened->port();
    ports().add(system, broker, std::move(opened));
  } catch (const error& failed) {
    throw unavailable_error{failed.message()};
  }
  return *port;
}

void stop_listening_for_basp(caf::actor_system& system, std::uint16_t port) {
  ports().close(system, port);
  with_basp_broker(system, basp_broker_of(system),
                   [port](caf::io::basp_broker& broker) { broker.instance.remove_published_actor(port); });
}

}  // namespace troupe
