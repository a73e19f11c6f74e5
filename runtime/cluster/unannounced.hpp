// Waiting for what CAF 0.17 tells nobody: that an actor is destroyed, that a detached one's thread is gone. The thread
// looks, each millisecond, for a short while.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <functional>

namespace troupe {

/// Blocks the thread until it holds. False: not within 500 ms.
bool await_unannounced(const std::function<bool()>& holds);

}  // namespace troupe
