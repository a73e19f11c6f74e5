// Keeps the thread of a detached actor looking at its mailbox for a moment, instead of letting it sleep.
//
// The next message of a lock step is mostly microseconds away, as is the next call of a client that makes one after the
// other, and putting a thread to sleep and waking it costs several times that. So an actor that expects one looks again
// and again (in the middle of its work by sending itself messages) and lets other threads run in between. On a busy
// machine a yield gives a whole time slice away: then sleeping is better, and for a while nobody tries again.
//
// An actor without a thread of its own (in a simulation, for one) is left alone.
#pragma once

#include <caf/scheduled_actor.hpp>

#include <chrono>

namespace troupe {

class keep_awake {
 public:
  using duration = std::chrono::nanoseconds;

  /// About as long as sleeping and waking take.
  static constexpr duration wake_up_time = std::chrono::microseconds{50};

  explicit keep_awake(caf::scheduled_actor* self, duration limit = wake_up_time);
  keep_awake(const keep_awake&) = delete;

  /// From now on, for a moment, beside whatever the actor does. In the actor.
  void start();
  /// The message has come.
  void stop() { until_ = {}; }
  /// The same at the end of a handler, where the actor has nothing else to do: returns when there is a message, or
  /// after a moment.
  void wait() const;

 private:
  using clock = std::chrono::steady_clock;

  void look_again();

  caf::scheduled_actor* self_;
  duration limit_;
  bool has_thread_;
  bool looking_ = false;
  clock::time_point until_{};
};

}  // namespace troupe
