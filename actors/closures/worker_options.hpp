// How a worker runs closures.
#pragma once

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/messages/task.hpp>
#include <troupe/actors/values/inbox_limits.hpp>
#include <troupe/actors/variables/variable_operations.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace troupe {

struct worker_options {
  /// Whose worker it is, for those who ask who waits; an empty job: not known.
  task_id task;
  fiber_host::options fibers;
  variable_client_options variables;
  /// How long the worker runs closures before it looks at its mailbox.
  duration turn_budget = std::chrono::milliseconds{1};
  /// Outcomes are sent at the end of a turn, or when so many wait, or the first has waited so long.
  std::size_t outcomes_max = 128;
  duration outcome_delay = std::chrono::microseconds{500};
  /// While a closure computes, outcomes of others are sent by the worker's desk, after so long.
  duration desk_delay = std::chrono::milliseconds{2};
  inbox_limits inbox;
  /// Orders that have come and not begun; when more come the worker gives its session up. A coordinator lets a worker
  /// hold `window_options::window_max` closures, 1,024, and others only for those that wait for closures, so whoever
  /// sends so many is none, or has lost count.
  std::size_t orders_max = 8192;
  /// Closures that may wait for other closures at the same time; each keeps its stack.
  std::uint32_t waiting_max = 4096;
  /// A closure that has waited for another one for so long, of a coordinator in the same process, is told to that: it
  /// looks whether they wait for each other.
  duration long_wait = std::chrono::seconds{1};
  /// What the application has beside the worker, for its closures; null: nothing.
  std::shared_ptr<member_context> application;
};

}  // namespace troupe
