#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/closures/value_promise.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <vector>

namespace troupe {

namespace {

using answer_promise = caf::typed_response_promise<wire<value>>;

struct value_promise_state {
  static constexpr const char* name = "value_promise";
  std::shared_ptr<closure> scheduled;
  std::vector<answer_promise> waiting;
};

void answer(const closure& ended, answer_promise& promise) {
  if (ended.end_status().ok())
    promise.deliver(wire<value>{ended.result()});
  else
    promise.deliver(make_error(ended.end_status()));
}

value_promise_actor::behavior_type value_promise(value_promise_actor::stateful_pointer<value_promise_state> self,
                                                 std::shared_ptr<closure> scheduled) {
  self->state.scheduled = std::move(scheduled);
  self->state.scheduled->on_end(make_notifier(self, [self] {
    for (auto& promise : self->state.waiting) answer(*self->state.scheduled, promise);
    self->state.waiting.clear();
  }));
  return {
      [self](find_atom) -> caf::result<wire<value>> {
        auto promise = self->make_response_promise<answer_promise>();
        if (self->state.scheduled->ended())
          answer(*self->state.scheduled, promise);
        else
          self->state.waiting.push_back(promise);
        return promise;
      },
  };
}

}  // namespace

value_promise_actor spawn_value_promise(caf::actor_system& system, std::shared_ptr<closure> scheduled) {
  return system.spawn(value_promise, std::move(scheduled));
}

}  // namespace troupe
