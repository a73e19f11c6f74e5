#include <troupe/actors/closures/internal/outcome_message.hpp>
#include <troupe/actors/closures/worker_desk.hpp>
#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/actor_cast.hpp>

#include <utility>

namespace troupe {

namespace {

void send_what_has_ended(const caf::actor_addr& worker, worker_trays& trays) {
  auto [coordinator, session, outcomes] = trays.take_outcomes_of_busy();
  const auto sender = caf::actor_cast<worker_actor>(worker);
  if (!coordinator || !sender || outcomes.empty()) return;
  send_outcomes(sender, coordinator, session, 0,
                {.outcomes = std::move(outcomes), .session_ended = {}, .by_desk = true});
}

}  // namespace

worker_desk_with_alarm::behavior_type worker_desk(worker_desk_with_alarm::pointer self, caf::actor_addr worker,
                                                  std::shared_ptr<worker_trays> trays) {
  tolerate_stray_messages(self);
  return {
      [trays](recall_atom, session_id session, wire<order_recall>& recall) -> caf::result<wire<recalled_orders>> {
        if (const auto problem = recall.open(); !problem.ok()) return make_error(problem);
        auto told = trays->give_back(session, *recall);
        if (!told) return make_error(status{status_code::failed_precondition, "the session of this recall is over"});
        return wire<recalled_orders>{std::move(*told)};
      },
      [worker = std::move(worker), trays](caf::tick_atom) { send_what_has_ended(worker, *trays); },
  };
}

}  // namespace troupe
