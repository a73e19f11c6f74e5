// Finds a free TCP port and keeps it for a task that will listen there.
//
// Asking the kernel for a free port and closing the socket leaves a gap in which anybody can take the port. A socket
// that is bound but does not listen closes the gap: as both sides set SO_REUSEADDR, Linux lets the task bind and listen
// beside it, while the kernel gives the port to nobody else, neither for bind(0) nor for outgoing connections. So a
// task finds its port free again even when it is started a second time.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <cstdint>
#include <string>

namespace troupe {

/// A port that is free for programs which listen with SO_REUSEADDR, for as long as this object lives.
class port_reservation {
 public:
  /// Reserves some free port at an address of this machine.
  /// @throws invalid_argument_error when `host` is no address of this machine, resource_exhausted_error when no port
  ///         or descriptor is left.
  explicit port_reservation(const std::string& host);

  std::uint16_t port() const noexcept { return port_; }

 private:
  descriptor socket_;
  std::uint16_t port_ = 0;
};

}  // namespace troupe
