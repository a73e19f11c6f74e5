#include <troupe/actors/messages/messages.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/system_needs.hpp>

#include <caf/actor_system.hpp>
#include <caf/type_erased_value.hpp>
#include <caf/uniform_type_info_map.hpp>
#include <fmt/format.h>

namespace troupe {

void require_network(const caf::actor_system& system, std::string_view who) {
  if (!system.has_middleman())
    throw failed_precondition_error{
        fmt::format("{} needs CAF's middleman: call load<caf::io::middleman>() in the constructor of the actor "
                    "system's config, or take troupe::system_config",
                    who)};
  if (!system.types().make_value(typeid(wire<member_identity>)))
    throw failed_precondition_error{
        fmt::format("{} needs troupe's message types: call troupe::add_troupe_types(*this) in the constructor of the "
                    "actor system's config, or take troupe::system_config",
                    who)};
}

}  // namespace troupe
