#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/runtime/bulk/bulk_protocol.hpp>
#include <troupe/runtime/bulk/tcp_bulk.hpp>
#include <troupe/runtime/cluster/own_address.hpp>
#include <troupe/runtime/cluster/publish.hpp>
#include <troupe/runtime/cluster_node.hpp>
#include <troupe/runtime/rpc/rpc_transport.hpp>

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <unistd.h>

namespace troupe::rpc {

namespace {

constexpr auto loopback = "127.0.0.1";

bool is_wildcard(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

/// Provided by this file. Its users own it together: the process finds it for as long as one of them has it.
class provided_transport final : public tcp_bulk {
 public:
  provided_transport(const std::string& listen, const std::string& advertised)
      : tcp_bulk({.listen_host = listen, .advertised_host = advertised}), advertised_(advertised) {}

  /// One that only this machine reaches moves to where others do.
  void widen(const std::string& listen, const std::string& advertised) {
    const std::scoped_lock lock{mutex_};
    if (advertised_ != loopback || advertised == loopback) return;
    advertised_ = advertised;
    move_to(listen, advertised);
  }

  /// Where others reach a door that listens there; nothing if not all who reach this transport do.
  std::optional<task_address> reached_at(const task_address& listening) const {
    if (!is_wildcard(listening.host) && !is_local_host(listening.host))
      return task_address{advertised_number(listening.host), listening.port};
    const std::scoped_lock lock{mutex_};
    if (is_wildcard(listening.host)) return task_address{advertised_, listening.port};
    if (advertised_ != loopback) return std::nullopt;
    return task_address{listening.host == "localhost" ? loopback : listening.host, listening.port};
  }

 private:
  mutable std::mutex mutex_;
  std::string advertised_;
};

std::shared_ptr<bulk_transport> provide(const std::string& listen, const std::string& advertised) {
  static std::mutex one_at_a_time;
  std::shared_ptr<bulk_transport> installed;  // perhaps the last handle, whose end waits for threads
  const std::scoped_lock lock{one_at_a_time};
  installed = bulk_transport::current();
  if (installed) {
    if (auto* const provided = dynamic_cast<provided_transport*>(installed.get())) provided->widen(listen, advertised);
    return installed;
  }
  auto made = std::make_shared<provided_transport>(listen, advertised);
  bulk_transport::install(made);
  return made;
}

std::string own_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

bool is_local_host(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "0.0.0.0" || host == "::" || host.starts_with("127.");
}

std::shared_ptr<bulk_transport> transport_towards(const task_address& server) {
  // The names of simulated hosts are none of this machine's.
  if (simulated_system() != nullptr) return bulk_transport::current();
  auto own = is_local_host(server.host) ? std::string{loopback} : number_towards(server.host);
  if (own.empty()) own = loopback;
  return provide(own, own);
}

std::shared_ptr<bulk_transport> transport_at(const task_address& listening) {
  if (simulated_system() != nullptr) return bulk_transport::current();
  if (is_wildcard(listening.host)) return provide(listening.host, advertised_number(own_name()));
  if (is_local_host(listening.host)) return provide(loopback, loopback);
  return provide(listen_address(listening.host), advertised_number(listening.host));
}

bool comes_by_doors(const bulk_transport& transport) { return dynamic_cast<const tcp_bulk*>(&transport) != nullptr; }

void redirect(bulk_ticket& ticket, const task_address& door) {
  try {
    if (!refusal_in(ticket.endpoint).ok()) return;
    auto endpoint = bulk_endpoint::parse(ticket.endpoint);
    endpoint.host = door.host;
    endpoint.port = door.port;
    ticket.endpoint = endpoint.to_string();
  } catch (const error&) {
    // Who fetches it is told.
  }
}

tensor_door::tensor_door(std::shared_ptr<bulk_transport> transport, const task_address& listening)
    : transport_(std::move(transport)) {
  auto* const provided = dynamic_cast<provided_transport*>(transport_.get());
  if (provided == nullptr) return;
  const auto reached = provided->reached_at(listening);
  if (!reached) return;
  reached_at_ = *reached;
  provided->served_at(reached_at_);
}

tensor_door::~tensor_door() {
  if (auto* const provided = dynamic_cast<provided_transport*>(transport_.get())) provided->not_served_at(reached_at_);
}

}  // namespace troupe::rpc
