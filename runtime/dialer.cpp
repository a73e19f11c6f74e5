#include <troupe/actors/fault.hpp>
#include <troupe/runtime/dialer.hpp>

#include <caf/actor_cast.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/middleman_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <fmt/format.h>

#include <set>

namespace troupe {

namespace {

using member_promise = caf::typed_response_promise<member_actor>;

// CAF compares interfaces by the registered names of their types.
bool is_member(caf::actor_system& system, const std::set<std::string>& interface) {
  return system.assignable(interface, system.message_types<member_actor>());
}

}  // namespace

dialer_actor::behavior_type network_dialer(dialer_actor::pointer self) {
  return {
      [self](dial_atom, const std::string& host, std::uint16_t port) -> caf::result<member_actor> {
        auto promise = self->make_response_promise<member_promise>();
        const auto where = to_string(task_address{host, port});
        // The requester has its own, shorter limit; this one only frees the promise.
        constexpr auto limit = std::chrono::seconds{30};
        self->request(self->system().middleman().actor_handle(), limit, caf::connect_atom_v, host, port)
            .then(
                [self, promise, where](const caf::node_id&, caf::strong_actor_ptr& published,
                                       const std::set<std::string>& interface) mutable {
                  if (!published || !is_member(self->system(), interface)) {
                    promise.deliver(make_error(status{
                        status_code::failed_precondition,
                        fmt::format("{} answers, but it is no member of a troupe cluster of this version", where)}));
                    return;
                  }
                  promise.deliver(caf::actor_cast<member_actor>(published));
                },
                [promise, where](caf::error& failed) mutable {
                  promise.deliver(make_error(status_of(failed, "connecting to " + where)));
                });
        return promise;
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
