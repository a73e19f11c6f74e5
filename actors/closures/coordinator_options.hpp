// How a coordinator schedules.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/messages/messages.hpp>
#include <troupe/actors/values/inbox_limits.hpp>

#include <cstdint>

namespace troupe {

/// How much each worker is given at a time; see worker_roster.hpp.
struct window_options {
  /// Closures that a worker is given before another one counts as freer.
  std::uint32_t slots = 8;
  /// Closures that a worker has begun and not ended, as fibers of one thread; at least `slots`. While some wait for a
  /// server, others that were taken in advance begin, and what they ask of the server leaves in one message.
  std::uint32_t fibers_max = 64;
  /// Closures that a worker may hold, running or waiting.
  std::uint32_t window_max = 1024;
  /// Beside `slots`, a worker is given as many closures as it ends within this time, judged by how long the last ones
  /// took; at most `window_max` in all.
  duration prefetch_horizon = std::chrono::milliseconds{2};
};

struct coordinator_options {
  /// Of the cluster's specification: their indices are 0 to workers - 1, present or not.
  int workers = 1;
  /// Sessions count from here: a chief's incarnation, so that they differ from those of an earlier chief.
  session_id first_session = 1;
  window_options windows;
  /// A closure that was lost with so many workers fails: it is what ends them, most likely.
  std::uint32_t lost_workers_max = 8;
  /// One that was lost with so many runs alone from then on (coordinator_suspects.cpp).
  std::uint32_t suspected_after = 3;
  /// How long a worker that has joined may take to answer that it accepts closures of this coordinator.
  duration admission_limit = std::chrono::seconds{5};
  /// The pause before a worker that did not answer in time is asked again, while it is wanted.
  duration admission_retry = std::chrono::milliseconds{500};
  /// What a worker has held for so long, and may not have begun, is asked back as soon as another one idles; it waits
  /// for about twice as long at most, unless large data is under way with it (coordinator_recalls.cpp).
  duration recall_interval = std::chrono::milliseconds{2};
  /// How long the worker's process may take to answer that.
  duration recall_limit = std::chrono::seconds{5};
  /// How long a worker may take to end closures that were cancelled or have passed their limit. Then it counts as lost,
  /// and its process is asked to end. Closures that compute for longer look for their cancellation
  /// (`fiber_host::throw_if_cancelled`).
  duration cancel_limit = std::chrono::seconds{5};
  /// How long a server may take to hear that a worker's session is over, before what the worker held is given to others
  /// all the same. Longer than it takes to notice that a server is lost.
  duration fence_limit = std::chrono::seconds{5};
  /// Limits of closures up to `exact_limit_max` are kept exactly, longer ones to within `deadline_interval`.
  duration exact_limit_max = std::chrono::minutes{1};
  duration deadline_interval = std::chrono::seconds{5};
  /// Closures that are ended or cancelled before others are heard: what concerns more of them, up to a full queue, goes
  /// on bit by bit. At least 1.
  std::size_t turn_closures_max = 1024;
  /// For outcomes whose results are under way.
  inbox_limits inbox;

  /// @throws invalid_argument_error for what no closure would ever run with.
  void check() const;
};

}  // namespace troupe
