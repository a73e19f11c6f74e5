#include <troupe/actors/closures/weak_coordinator.hpp>
#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/services/chief_services.hpp>
#include <troupe/actors/services/closure_courier.hpp>
#include <troupe/actors/services/event_relay.hpp>
#include <troupe/actors/services/member_services.hpp>

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <utility>

namespace troupe {

namespace {

const task_id chief_task{"chief", 0};

}  // namespace

std::shared_ptr<member_services> member_services::of(const member& here) {
  auto& context = *here.context();
  // They are the member's, also if it is a supervisor's child that asks for them first.
  std::call_once(context.services_made,
                 [&] { context.services = std::make_shared<member_services>(member{here.context()}); });
  return context.services;
}

member_services::member_services(const member& here) : queue_(std::make_shared<submission_queue>()) {
  const auto courier =
      here.spawn(closure_courier, queue_, here.follow<closure_desk_actor>(chief_task, closure_desk_name));
  courier_ = caf::actor_cast<caf::weak_actor_ptr>(courier);
  owner_ = std::make_shared<const weak_coordinator>(courier);
  events_ = caf::actor_cast<caf::weak_actor_ptr>(
      here.spawn(event_relay, here.follow<event_bus_actor>(chief_task, event_bus_name)));
}

void member_services::submit(std::shared_ptr<closure> scheduled) const {
  if (!queue_->push(std::move(scheduled))) return;
  // Without it, its end has closed the queue.
  if (const auto courier = caf::actor_cast<closure_courier_actor>(courier_.lock()))
    caf::anon_send(courier, submit_atom_v);
}

event_bus_actor member_services::events() const {
  if (auto events = caf::actor_cast<event_bus_actor>(events_.lock()); events && !has_ended(events)) return events;
  throw failed_precondition_error{"the member has ended: its events are of use only while it is there"};
}

}  // namespace troupe
