// The addresses of a host for an event loop, which must not wait for a name service.
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
/// is looked up in a thread of its own, since a name service may take many seconds and can't be interrupted: neither
/// the loop nor its end waits for it. After the loop's end nothing is called.
void look_up_name(const std::shared_ptr<event_loop>& loop, const std::string& host, std::uint16_t port,
                  std::function<void(std::vector<socket_address> addresses, const status& why)> found);

}  // namespace troupe
