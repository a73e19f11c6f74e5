// A port of this process on the loopback, for tests that stand between two others, or answer as something else.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace troupe {

/// No descriptor when nobody listens there. It checks nothing: relays' threads call it, and Boost.Test belongs to one.
descriptor connect_to_loopback(std::uint16_t port);

/// The other side may close in the middle: that is its right.
void write_to(const descriptor& file, std::string_view words);

/// What comes next; empty at the end of the connection, or when nothing comes before `enough`.
std::string read_from(const descriptor& file, const std::stop_token& enough);

/// What is done with each connection is done in a thread of its own that ends with the port.
class loopback_port {
 public:
  using handler = std::function<void(const std::stop_token&, descriptor)>;

  explicit loopback_port(handler serve);

  std::uint16_t number() const { return number_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(number_); }

 private:
  void accept_until(const std::stop_token& enough);

  handler serve_;
  descriptor socket_;
  std::uint16_t number_ = 0;
  std::jthread accepts_;
};

/// Passes on what either side says to the other one, until both have ended; `hears` is told what `from` says.
void relay(const std::stop_token& enough, const descriptor& from, const descriptor& to,
           const std::function<void(std::string_view)>& hears);

}  // namespace troupe
