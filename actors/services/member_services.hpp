// A member's ends of the chief's services, made when somebody there first asks for them.
#pragma once

#include <troupe/actors/closures/closure.hpp>
#include <troupe/actors/closures/internal/submission_queue.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/offers/member.hpp>

#include <caf/actor_control_block.hpp>

#include <memory>

namespace troupe {

class member_services {
 public:
  /// Those of this member; any thread or fiber, never null.
  static std::shared_ptr<member_services> of(const member& here);
  explicit member_services(const member& here);
  member_services(const member_services&) = delete;

  /// Leaves the closure for the courier. @throws resource_exhausted_error when the queue stays full for its
  /// `queue_limit`; failed_precondition_error after the member's end; cancelled_error when the fiber is cancelled.
  void submit(std::shared_ptr<closure> scheduled) const;
  /// What remote values hold.
  const coordinator_ptr& owner() const { return owner_; }
  /// @throws failed_precondition_error after the member's end.
  event_bus_actor events() const;

 private:
  const std::shared_ptr<submission_queue> queue_;
  caf::weak_actor_ptr courier_;
  caf::weak_actor_ptr events_;
  coordinator_ptr owner_;
};

}  // namespace troupe
