// An actor that hosts fibers, and how a fiber of a test waits.
#pragma once

#include "support/virtual_system.hpp"

#include <troupe/actors/fibers/fiber.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

class marked_environment : public fiber_environment {};

struct fiber_state {
  explicit fiber_state(caf::event_based_actor* self) : clock(self) {
    fibers.emplace(clock, fiber_host::options{}, &around);
  }
  marked_environment around;
  timers clock;
  std::optional<fiber_host> fibers;
};

struct fiber_actor : simulated_actor<fiber_state> {
  using simulated_actor::simulated_actor;
  fiber_host& fibers() { return *state().fibers; }
  void start(std::uint64_t key, std::function<void()> work) {
    act([this, key, work = std::move(work)]() mutable { fibers().run(key, std::move(work)); });
  }
};

inline const status stop{status_code::cancelled, "stop"};

using point = std::shared_ptr<wait_point>;

/// Parks the running fiber on a new wait point, which it leaves in `here`.
inline void park(point& here, time_point deadline = never) {
  here = wait_point::make();
  here->wait_until(deadline, "a sign");
}

/// How the wait ended: "completed", or the message of what it threw.
inline std::string park_and_tell(point& here, time_point deadline = never) {
  try {
    park(here, deadline);
    return "completed";
  } catch (const error& thrown) {
    return thrown.what();
  }
}

}  // namespace troupe
