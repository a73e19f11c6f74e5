#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/remaining_time.hpp>
#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/runtime/replicas/execution_context.hpp>
#include <troupe/runtime/replicas/strategy_state.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

const fiber_local<std::vector<execution_context>> contexts;

/// So much before a step's deadline its waits for devices end: so what fails is the replica, by an error that names its
/// device, and not the step, which can only say that the replica is late.
constexpr duration time_to_tell = std::chrono::milliseconds{200};

/// Of the closure, the method, the replica or the merge function that runs here.
std::chrono::nanoseconds patience_with_devices() {
  const auto deadline = execution_context::earliest_deadline();
  if (deadline == never) return remaining_time();
  const auto left = std::max(deadline - current_time(), duration::zero());
  return std::min(remaining_time(), left - std::min(left / 10, time_to_tell));
}

[[maybe_unused]] const auto devices_are_waited_for_so_long = [] {
  set_device_patience(patience_with_devices);
  return true;
}();

}  // namespace

const execution_context& execution_context::current() {
  static const execution_context outside{context_kind::replica, strategy_state::default_strategy(), 0, nullptr};
  return contexts->empty() ? outside : contexts->back();
}

bool execution_context::entered() { return !contexts->empty(); }

time_point execution_context::earliest_deadline() {
  auto earliest = never;
  for (const auto& each : *contexts) earliest = std::min(earliest, each.deadline);
  return earliest;
}

context_scope::context_scope(execution_context entered) { contexts->push_back(std::move(entered)); }

context_scope::~context_scope() { contexts->pop_back(); }

std::string_view to_string(context_kind kind) {
  switch (kind) {
    case context_kind::cross_replica:
      return "cross-replica context";
    case context_kind::replica:
      return "replica context";
    case context_kind::update:
      return "update context";
  }
  return "unknown context";
}

}  // namespace troupe
