#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/dialer.hpp>
#include <troupe/runtime/cluster/middleman_dial.hpp>

namespace troupe {

dialer_actor::behavior_type network_dialer(dialer_actor::pointer self) {
  return {
      [self](dial_atom, const std::string& host, std::uint16_t port) {
        return dial_middleman<member_actor>(self, {host, port}, "member of a troupe cluster");
      },
  };
}

dialer_actor::behavior_type local_dialer(dialer_actor::pointer, std::shared_ptr<const local_members> members) {
  return {
      [members = std::move(members)](dial_atom, const std::string& host,
                                     std::uint16_t port) -> caf::result<member_actor> {
        const auto found = members->find({host, port});
        if (found != members->end()) return found->second;
        return make_error(status{status_code::not_found,
                                 fmt::format("{} is no member of this process", to_string(task_address{host, port}))});
      },
  };
}

}  // namespace troupe
