#include <troupe/runtime/simulation/simulated_middleman.hpp>
#include <troupe/runtime/simulation/simulated_process.hpp>

#include <caf/node_id.hpp>

namespace troupe {

void simulated_middleman::init(caf::actor_system_config& config) {
  middleman::init(config);
  caf::node_id::default_data::host_id_type name{};
  auto rest = process_.incarnation();
  for (std::size_t i = 0; i < sizeof(rest); ++i, rest >>= 8) name[i] = static_cast<std::uint8_t>(rest);
  name.back() = 1;
  // CAF sets it here, too, as a friend; nothing has seen it yet.
  const_cast<caf::node_id&>(system().node()) = caf::make_node_id(static_cast<std::uint32_t>(process_.host()) + 1, name);
}

}  // namespace troupe
