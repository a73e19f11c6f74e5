// Requests of one actor that can't be lost.
//
// Problem: in CAF 0.17 the death of a remote actor does not end the requests that it has open, requests to a dead proxy
// vanish, and a CAF timeout for each request costs half of the throughput. Solution: each request of an actor goes
// through its `requests`, which ends it in one of four ways: the answer, the answerer's error, the deadline (on the
// actor's own timers), or the loss of the peer, as soon as the actor hears of it.
//
// R-1 Exactly one of on_value and on_error is called for each request, once, in the actor.
#pragma once

#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/timers.hpp>

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/behavior.hpp>
#include <caf/detail/implicit_conversions.hpp>
#include <caf/detail/profiled_send.hpp>
#include <caf/detail/type_traits.hpp>
#include <caf/response_type.hpp>
#include <caf/scheduled_actor.hpp>

#include <functional>
#include <unordered_map>

namespace troupe {

class requests {
 public:
  requests(caf::scheduled_actor* self, timers& clock) : self_(self), clock_(clock) {}
  requests(const requests&) = delete;

  /// Sends a request. `on_value` takes the answer's types, `on_error` a `const status&`; `what` names the request in
  /// errors ("create variable w on /job:ps/task:0"). The limit must be finite and positive.
  template <class Handle, class OnValue, class OnError, class... Ts>
  void ask(const Handle& to, duration limit, std::string what, OnValue on_value, OnError on_error, Ts&&... xs) {
    using sent_types = caf::detail::type_list<typename caf::detail::implicit_conversions<std::decay_t<Ts>>::type...>;
    static_assert(caf::response_type_unbox<caf::signatures_of_t<Handle>, sent_types>::valid,
                  "the receiver's interface has no such request");
    if (!to) return on_error(status{status_code::unavailable, what + ": there is no such peer"});
    const auto sent = self_->new_request_id(caf::message_priority::normal);
    caf::detail::profiled_send(self_, self_->ctrl(), to, sent, {}, self_->context(), std::forward<Ts>(xs)...);
    const auto id = sent.response_id();
    open(id, caf::actor_cast<caf::actor_addr>(to), limit);
    self_->add_multiplexed_response_handler(
        id,
        caf::behavior{closing(id, std::move(on_value), typename caf::detail::get_callable_trait<OnValue>::arg_types{}),
                      [this, id, what = std::move(what), on_error = std::move(on_error)](caf::error& failed) mutable {
                        if (close(id)) on_error(status_of(failed, what));
                      }});
  }

  /// The peer is gone: all its open requests end with `why`.
  void lost(const caf::actor_addr& peer, const status& why);

  std::size_t size() const { return open_.size(); }

 private:
  struct entry {
    caf::message_id id;
    caf::actor_addr peer;
    timers::ticket deadline;
  };

  template <class OnValue, class... Args>
  auto closing(caf::message_id id, OnValue on_value, caf::detail::type_list<Args...>) {
    return [this, id, on_value = std::move(on_value)](Args... answer) mutable {
      if (close(id)) on_value(static_cast<Args&&>(answer)...);
    };
  }

  void open(caf::message_id id, caf::actor_addr peer, duration limit);
  bool close(caf::message_id id);
  void fail(caf::message_id id, caf::error why);

  caf::scheduled_actor* self_;
  timers& clock_;
  std::unordered_map<std::uint64_t, entry> open_;
};

}  // namespace troupe
