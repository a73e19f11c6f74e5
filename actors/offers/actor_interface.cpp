#include <troupe/actors/offers/actor_interface.hpp>

#include <caf/actor_system.hpp>
#include <caf/type_erased_value.hpp>
#include <caf/uniform_type_info_map.hpp>
#include <fmt/format.h>

namespace troupe {

void detail::require_known_element(const caf::actor_system& system, const std::type_info& type, std::string_view name) {
  if (system.types().make_value(type)) return;
  throw invalid_argument_error{fmt::format(
      "{} is an element of the actor's messages, but CAF does not know it: write TROUPE_MESSAGE({}) beside it, in its "
      "namespace and with its plain name; an actor system of your own needs troupe::system_config, or add_troupe_types",
      name, name)};
}

}  // namespace troupe
