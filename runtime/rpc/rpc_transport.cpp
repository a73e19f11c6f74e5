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

#include <unistd.h>

namespace troupe::rpc {

namespace {

constexpr auto loopback = "127.0.0.1";

bool is_wildcard(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

/// Provided by this file. Its users own it together: the process finds it for as long as one of them has it.
class provided_transport final : public tcp_bulk {
 public:
  provided_transport(const std::string& listen, const std::string& advertised)
      : tcp_bulk({.listen_host = listen, .advertised_host = advertised}),
        reaches_others_(advertised != loopback),
        everywhere_(is_wildcard(listen)) {}

  /// Whether other machines reach it.
  bool reaches_others() const { return reaches_others_; }
  bool everywhere() const { return everywhere_; }

 private:
  const bool reaches_others_;
  const bool everywhere_;
};

/// A loopback transport is of no use to other machines, so it gives way to one that they reach; whoever still uses it
/// keeps it.
std::shared_ptr<bulk_transport> provide(const std::string& listen, const std::string& advertised) {
  static std::mutex one_at_a_time;
  std::shared_ptr<bulk_transport> installed;  // perhaps the last handle, whose end waits for threads
  const std::scoped_lock lock{one_at_a_time};
  installed = bulk_transport::current();
  if (installed) {
    const auto* const provided = dynamic_cast<const provided_transport*>(installed.get());
    if (provided == nullptr || provided->reaches_others() || advertised == loopback) return installed;
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
  if (is_wildcard(listening.host)) return provide(listening.host, own_name());
  if (is_local_host(listening.host)) return provide(loopback, loopback);
  return provide(listen_address(listening.host), listening.host);
}

bool listens_everywhere(const bulk_transport& transport) {
  const auto* const provided = dynamic_cast<const provided_transport*>(&transport);
  return provided != nullptr && provided->everywhere();
}

void redirect(bulk_ticket& ticket, const std::string& host) {
  try {
    if (!refusal_in(ticket.endpoint).ok()) return;
    auto endpoint = bulk_endpoint::parse(ticket.endpoint);
    endpoint.host = host;
    ticket.endpoint = endpoint.to_string();
  } catch (const error&) {
    // Who fetches it is told.
  }
}

}  // namespace troupe::rpc
