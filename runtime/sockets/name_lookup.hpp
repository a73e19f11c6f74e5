// The addresses of a host for an event loop, which must not wait for a name service, and for threads that may.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// Calls `found` in the loop with the addresses, or with none and the reason. A numeric host is known at once; a name
/// is looked up by the process's name_service: neither the loop nor its end waits for it. After the loop's end nothing
/// is called, and after the deadline perhaps nothing: the caller has a timer for it.
void look_up_name(const std::shared_ptr<event_loop>& loop, const std::string& host, std::uint16_t port,
                  loop_clock::time_point deadline,
                  std::function<void(std::vector<socket_address> addresses, const status& why)> found);

/// The same for a thread that may wait; at most for `limit`. Throws unavailable_error, deadline_exceeded_error,
/// resource_exhausted_error.
std::vector<socket_address> resolve_within(const std::string& host, std::uint16_t port, loop_clock::duration limit);

}  // namespace troupe
