#include <troupe/actors/services/member_services.hpp>
#include <troupe/runtime/closures/nested_closures.hpp>
#include <troupe/runtime/remote_coordinator.hpp>

namespace troupe {

remote_coordinator::remote_coordinator(const member& here) : services_(member_services::of(here)) {}

std::shared_ptr<closure> remote_coordinator::enqueue(detail::packed_closure packed,
                                                     const schedule_options& options) const {
  auto scheduled = detail::make_closure(std::move(packed), options);
  services_->submit(scheduled);
  detail::cancel_with_caller(scheduled, owner_of_closures());
  return scheduled;
}

const coordinator_ptr& remote_coordinator::owner_of_closures() const { return services_->owner(); }

event_bus_actor member::events() const { return member_services::of(*this)->events(); }

}  // namespace troupe
