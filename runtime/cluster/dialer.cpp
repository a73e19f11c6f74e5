#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/dialer.hpp>

namespace troupe {

dialer_actor::behavior_type network_dialer(dialer_actor::stateful_pointer<network_dialer_state> self,
                                           std::shared_ptr<connector> connects) {
  tolerate_stray_messages(self);
  auto& dials = self->state.dials.emplace(self, std::move(connects));
  return {
      [self, &dials](dial_atom, const std::string& host, std::uint16_t port) {
        return answer_dial<member_actor>(self, dials, {host, port}, "member of a troupe cluster");
      },
      [&dials](hang_up_atom, const caf::node_id& process) { dials.hang_up(process); },
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
      // Between actors of one process there is no link.
      [](hang_up_atom, const caf::node_id&) {},
  };
}

}  // namespace troupe
