#include <troupe/actors/messages/peer_identity.hpp>
#include <troupe/runtime/simulation/simulated_middleman.hpp>
#include <troupe/runtime/simulation/simulated_process.hpp>

#include <caf/node_id.hpp>

namespace troupe {

void simulated_middleman::init(caf::actor_system_config& config) {
  middleman::init(config);
  // Not random: the same seed makes the same ids.
  process_system self{.process = {}, .number = static_cast<std::uint32_t>(process_.host()) + 1};
  auto rest = process_.incarnation();
  for (std::size_t i = 0; i < sizeof(rest); ++i, rest >>= 8) self.process.bytes[i] = static_cast<std::uint8_t>(rest);
  self.process.bytes.back() = 1;
  // CAF sets it here, too, as a friend; nothing has seen it yet.
  const_cast<caf::node_id&>(system().node()) = self.node();
}

}  // namespace troupe
