// Asks CAF's middleman for the actor that is published at an address, always within a limit: its own `remote_actor`
// waits without one on a frozen listener.
#pragma once

#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/messages/task.hpp>

#include <caf/actor_cast.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/middleman_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <fmt/format.h>

#include <chrono>
#include <set>
#include <string>
#include <string_view>

namespace troupe {

/// Answers a request of `self` with what is published there. `what` says what it must be: "member of a troupe cluster".
template <class Published, class Self>
caf::result<Published> dial_middleman(Self* self, const task_address& where, std::string_view what) {
  auto promise = self->template make_response_promise<caf::typed_response_promise<Published>>();
  // The requester has its own, shorter limit; this one only frees the promise.
  constexpr auto limit = std::chrono::seconds{30};
  self->request(self->system().middleman().actor_handle(), limit, caf::connect_atom_v, where.host, where.port)
      .then(
          [self, promise, where, what](const caf::node_id&, caf::strong_actor_ptr& published,
                                       const std::set<std::string>& interface) mutable {
            // CAF compares interfaces by the registered names of their types.
            if (published && self->system().assignable(interface, self->system().template message_types<Published>()))
              promise.deliver(caf::actor_cast<Published>(published));
            else
              promise.deliver(make_error(
                  status{status_code::failed_precondition,
                         fmt::format("{} answers, but it is no {} of this version", to_string(where), what)}));
          },
          [promise, where](caf::error& failed) mutable {
            promise.deliver(make_error(status_of(failed, "connecting to " + to_string(where))));
          });
  return promise;
}

}  // namespace troupe
