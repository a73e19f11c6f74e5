#include <troupe/actors/fibers/ask.hpp>
#include <troupe/runtime/cluster/publish.hpp>
#include <troupe/runtime/cluster/replaced_functions.hpp>

#include <array>
#include <utility>

#include <arpa/inet.h>

namespace troupe {

std::string listen_address(const std::string& host) {
  require_replaced_functions();
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  const auto is_address = ::inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
                          ::inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
  return is_address || host == "localhost" ? host : "0.0.0.0";
}

std::uint16_t open_port(caf::actor_system& system, const caf::strong_actor_ptr& whom, std::set<std::string> interface,
                        const task_address& where, duration limit, const std::string& what, const door_role& as) {
  if (has_threads(system)) return listen_for_basp(system, whom, interface, where, as);
  std::uint16_t opened = 0;
  ask(
      system, system.middleman().actor_handle(), limit, what, [&](std::uint16_t at) { opened = at; },
      caf::publish_atom_v, where.port, whom, std::move(interface), where.host, true);
  return opened;
}

}  // namespace troupe
