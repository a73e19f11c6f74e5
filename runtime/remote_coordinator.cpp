#include <troupe/actors/services/member_services.hpp>
#include <troupe/runtime/remote_coordinator.hpp>

namespace troupe {

remote_coordinator::remote_coordinator(const member& here) : services_(member_services::of(here)) {}

std::shared_ptr<closure> remote_coordinator::enqueue(detail::packed_closure packed,
                                                     const schedule_options& options) const {
  options.check();
  auto scheduled = std::make_shared<closure>(std::move(packed.function), std::move(packed.arguments),
                                             std::move(packed.inputs), options);
  services_->submit(scheduled);
  return scheduled;
}

const coordinator_ptr& remote_coordinator::owner_of_closures() const { return services_->owner(); }

event_bus_actor member::events() const { return member_services::of(*this)->events(); }

}  // namespace troupe
