// Keeps the thread of a detached actor looking at its mailbox for a moment, instead of letting it sleep.
//
// The next message of a lock step is mostly microseconds away, and putting a thread to sleep and waking it costs
// several times that. So an actor that expects one sends itself messages in between, and lets other threads run before
// each. On a busy machine a yield gives a whole time slice away: then sleeping is better, and for a while nobody tries
// again.
//
// An actor without a thread of its own (in a simulation, for one) is left alone.
#pragma once

#include <caf/scheduled_actor.hpp>

#include <chrono>

namespace troupe {

class keep_awake {
 public:
  explicit keep_awake(caf::scheduled_actor* self);
  keep_awake(const keep_awake&) = delete;

  /// From now on, for a moment. In the actor.
  void start();
  /// The message has come.
  void stop() { until_ = {}; }

 private:
  using clock = std::chrono::steady_clock;

  void look_again();

  caf::scheduled_actor* self_;
  bool has_thread_;
  bool looking_ = false;
  clock::time_point until_{};
};

}  // namespace troupe
