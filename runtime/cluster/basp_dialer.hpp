// Reaches actors that other processes have published, over CAF's middleman, and breaks links that have gone silent.
//
//   dial: connecting (connector.hpp) --> shaking hands (CAF's broker) --> answered
//            any failure, or `dial_limit` after the beginning: answered with that, and the connection is closed
//
// Requests for one address share one attempt. Problem: CAF's own way has none of that: it connects with a blocking
// call, one address at a time, waits for a silent listener without limit, and answers from a memory of earlier
// connections, in which a process that has just been killed still is.
//
// A link that is cut off stays open on both sides. `hang_up` ends it on this side, so that the next dial makes a
// connection of its own instead of finding the dead one; the other side goes over to the new connection by itself.
//
// Belongs to one actor.
#pragma once

#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/runtime/cluster/connector.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/node_id.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct dial_options {
  /// From the first attempt to the end of the handshake.
  duration dial_limit = std::chrono::seconds{2};
};

class basp_dialer {
 public:
  /// Takes the actor that is published there and its interface (CAF compares those by the names of types), or why
  /// there is none.
  using answer = std::function<void(const caf::strong_actor_ptr& published, const std::set<std::string>& interface,
                                    const status& why)>;

  basp_dialer(caf::scheduled_actor* self, std::shared_ptr<connector> connects, dial_options options = {});
  basp_dialer(const basp_dialer&) = delete;

  void dial(const task_address& where, answer done);
  /// As if the link to this process had broken. Does nothing without one.
  void hang_up(const caf::node_id& process);

 private:
  using broker_actor = caf::typed_actor<caf::replies_to<caf::connect_atom, caf::io::scribe_ptr, std::uint16_t>::with<
      caf::node_id, caf::strong_actor_ptr, std::set<std::string>>>;

  void connected(const task_address& where, time_point deadline, const connector::connection& opened,
                 const status& why);
  void close_unanswered(caf::io::connection_handle which);
  void finish(const task_address& where, const caf::strong_actor_ptr& published, const std::set<std::string>& interface,
              const status& why);

  caf::scheduled_actor* self_;
  std::shared_ptr<connector> connects_;
  dial_options options_;
  timers clock_;
  requests requests_;
  caf::actor broker_;
  std::map<task_address, std::vector<answer>> waiting_;
};

/// Answers a request of `self` with what is published there. `what` says what it must be: "member of a troupe cluster".
template <class Published, class Self>
caf::result<Published> answer_dial(Self* self, basp_dialer& dials, const task_address& where, std::string_view what) {
  auto promise = self->template make_response_promise<caf::typed_response_promise<Published>>();
  dials.dial(where, [self, promise, where, what](const caf::strong_actor_ptr& published,
                                                 const std::set<std::string>& interface, const status& why) mutable {
    if (!why.ok())
      promise.deliver(make_error(why));
    else if (published && self->system().assignable(interface, self->system().template message_types<Published>()))
      promise.deliver(caf::actor_cast<Published>(published));
    else
      promise.deliver(
          make_error(status{status_code::failed_precondition,
                            fmt::format("{} answers, but it is no {} of this version", to_string(where), what)}));
  });
  return promise;
}

}  // namespace troupe
