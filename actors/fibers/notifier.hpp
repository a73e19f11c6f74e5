// How a thread that is no actor lets an actor go on.
#pragma once

#include <caf/fwd.hpp>

#include <functional>

namespace troupe {

/// A one-shot that any thread may call to run `work` in the actor; calls after the actor's end do nothing. Works
/// without an entry in the actor's interface: it is the answer to a request that was never sent.
std::function<void()> make_notifier(caf::scheduled_actor* self, std::function<void()> work);

}  // namespace troupe
