// Blocking TCP sockets over loopback: what benches compare with.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::tools {

/// @throws unavailable_error that names the call and errno unless it holds
void require_socket(bool holds, const char* call);

/// Throw unavailable_error.
descriptor listen_on_loopback();
std::uint16_t port_of(const descriptor& listener);
descriptor accept_one(const descriptor& listener);
descriptor connect_to_loopback(std::uint16_t port);

/// All of it; false when the connection breaks.
bool send_all(const descriptor& socket, std::span<const std::byte> data);
bool receive_all(const descriptor& socket, std::span<std::byte> data);

}  // namespace troupe::tools
