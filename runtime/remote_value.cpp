#include <troupe/actors/closures/weak_coordinator.hpp>
#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/closures/outstanding.hpp>
#include <troupe/runtime/remote_value.hpp>

#include <caf/send.hpp>
#include <caf/typed_actor.hpp>
#include <fmt/format.h>

namespace troupe {

const closure& remote_value_base::checked() const {
  if (!closure_) throw failed_precondition_error{"this remote value is empty: only schedule() makes one that can end"};
  return *closure_;
}

void remote_value_base::cancel() const {
  checked();
  if (const auto coordinator = coordinator_->lock()) caf::anon_send(coordinator, cancel_atom_v, closure_);
}

void remote_value_base::cancel_and_wait(duration limit) const {
  checked();
  const auto coordinator = coordinator_->lock();
  if (!coordinator) return;
  ask(
      coordinator->home_system(), coordinator, limit, "the end of a cancelled closure", [](caf::ok_atom) {},
      cancel_atom_v, closure_);
}

value_promise_actor remote_value_base::handle() const {
  checked();
  const auto coordinator = coordinator_->lock();
  if (!coordinator) throw failed_precondition_error{"the cluster of this remote value has ended: handle() needs it"};
  return spawn_value_promise(coordinator->home_system(), closure_);
}

const value& remote_value_base::await(duration limit) const {
  const auto& scheduled = checked();
  if (!closure::wait_for(closure_, limit)) {
    missed_deadlines::report(fmt::format("the remote value of {}", to_string(scheduled.function)), limit);
    throw deadline_exceeded_error{fmt::format("the remote value of {} was not ready within {} ms: {}",
                                              to_string(scheduled.function), in_milliseconds(limit),
                                              describe_outstanding(coordinator_, closure_, limit))};
  }
  if (!scheduled.end_status().ok()) throw_status(scheduled.end_status());
  return scheduled.result();
}

/// The coordinator ends the closure at its limit; the grace is for limits that it keeps less exactly.
duration remote_value_base::longest_wait() const {
  constexpr auto grace = std::chrono::seconds{15};
  return checked().options.limit + grace;
}

}  // namespace troupe
