// A channel that a loop waits for; closed with this object. Under TLS, too, `ready` is called as long as there is
// something to read, although no socket tells of it.
#pragma once

#include <troupe/runtime/door/channel.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace troupe {

/// Belongs to the thread of the loop.
class watched_channel {
 public:
  /// `ready` may destroy it. @throws resource_exhausted_error when the kernel watches no more sockets
  watched_channel(event_loop& loop, channel connection, event_loop::events expected,
                  std::function<void(event_loop::events)> ready);
  watched_channel(const watched_channel&) = delete;
  watched_channel& operator=(const watched_channel&) = delete;
  ~watched_channel();

  /// Waits for these events from now on; errors and hang-ups are always reported.
  void expect(event_loop::events expected);
  stream_progress receive_some(std::span<std::byte> into);
  stream_progress send_some(std::span<const std::byte> from, bool more = false);

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace troupe
