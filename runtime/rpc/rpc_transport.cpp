#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/bulk/bulk_socket.hpp>
#include <troupe/runtime/bulk/tcp_bulk.hpp>
#include <troupe/runtime/node.hpp>
#include <troupe/runtime/rpc/rpc_transport.hpp>

#include <array>
#include <memory>
#include <mutex>

#include <netdb.h>
#include <unistd.h>

namespace troupe::rpc {

namespace {

constexpr auto loopback = "127.0.0.1";

/// Provided by this file. Its users own it together: the process finds it for as long as one of them has it.
class provided_transport final : public tcp_bulk {
 public:
  provided_transport(const std::string& listen, const std::string& advertised)
      : tcp_bulk({.listen_host = listen, .advertised_host = advertised}), reaches_others_(advertised != loopback) {}

  /// Whether other machines reach it.
  bool reaches_others() const { return reaches_others_; }

 private:
  const bool reaches_others_;
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

/// The address that this machine has on the way to the server. Nothing is sent: the kernel only chooses a route.
std::string address_towards(const task_address& server) {
  for (const auto& candidate : resolve(server.host, server.port)) {
    const descriptor probe{::socket(candidate.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const auto* const there = reinterpret_cast<const sockaddr*>(&candidate.storage);
    if (probe.get() < 0 || ::connect(probe.get(), there, candidate.length) != 0) continue;
    socket_address own;
    own.length = sizeof own.storage;
    auto* const address = reinterpret_cast<sockaddr*>(&own.storage);
    if (::getsockname(probe.get(), address, &own.length) != 0) continue;
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(address, own.length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
      return text.data();
  }
  return loopback;
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
  const auto own = is_local_host(server.host) ? std::string{loopback} : address_towards(server);
  return provide(own, own);
}

std::shared_ptr<bulk_transport> transport_at(const task_address& listening) {
  const auto is_wildcard = listening.host == "0.0.0.0" || listening.host == "::";
  if (is_wildcard) return provide(listening.host, own_name());
  if (is_local_host(listening.host)) return provide(loopback, loopback);
  return provide(listen_address(listening.host), listening.host);
}

}  // namespace troupe::rpc
