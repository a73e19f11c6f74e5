#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/bulk/bulk_socket.hpp>
#include <troupe/runtime/bulk/tcp_bulk.hpp>
#include <troupe/runtime/node.hpp>
#include <troupe/runtime/rpc/rpc_transport.hpp>

#include <array>
#include <mutex>

#include <netdb.h>
#include <unistd.h>

namespace troupe::rpc {

namespace {

constexpr auto loopback = "127.0.0.1";

class lease;

/// The transport that this file installed, as long as somebody uses it.
struct provided_transport {
  std::mutex mutex;
  std::weak_ptr<lease> users;
  const bulk_transport* transport = nullptr;
  std::string host;
};

provided_transport& provided() {
  static provided_transport instance;
  return instance;
}

/// What users of the transport hold. The process holds the transport itself, so that its last user can't be told by
/// that.
class lease {
 public:
  explicit lease(std::shared_ptr<bulk_transport> installed) : transport(std::move(installed)) {}
  ~lease() {
    auto& here = provided();
    const std::scoped_lock lock{here.mutex};
    if (bulk_transport::current() == transport) bulk_transport::install(nullptr);
    if (here.transport == transport.get()) here.transport = nullptr;
  }
  lease(const lease&) = delete;

  const std::shared_ptr<bulk_transport> transport;
};

std::shared_ptr<bulk_transport> used(std::shared_ptr<lease> by) {
  auto* const transport = by->transport.get();
  return {std::move(by), transport};
}

/// A loopback transport is of no use to other machines, so it gives way to one that they reach; whoever still uses it
/// keeps it.
std::shared_ptr<bulk_transport> provide(const std::string& listen, const std::string& advertised) {
  auto& here = provided();
  std::shared_ptr<lease> mine;  // its end locks, too
  const std::scoped_lock lock{here.mutex};
  mine = here.users.lock();
  auto installed = bulk_transport::current();
  if (installed && installed.get() != here.transport) return installed;
  if (mine && (here.host != loopback || advertised == loopback)) return used(std::move(mine));
  const auto made = std::make_shared<tcp_bulk>(tcp_bulk_options{.listen_host = listen, .advertised_host = advertised});
  const auto taken = std::make_shared<lease>(made);
  here.users = taken;
  here.transport = made.get();
  here.host = advertised;
  bulk_transport::install(made);
  return used(taken);
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
