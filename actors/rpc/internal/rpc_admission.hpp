// Counts what a server has accepted, so that neither all clients together nor one of them can exceed the limits.
#pragma once

#include <troupe/actors/rpc/rpc_limits.hpp>
#include <troupe/device/base/error.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace troupe::rpc {

/// Any thread.
class admission {
 public:
  explicit admission(const limits& chosen) : limits_(chosen) {}

  /// One more call of this client, or why not (resource_exhausted). Each admitted call must `leave`.
  status enter(std::uint64_t client);
  void leave(std::uint64_t client);

  std::size_t calls() const;
  /// Clients with open calls.
  std::size_t clients() const;

 private:
  const limits limits_;
  mutable std::mutex mutex_;
  std::size_t calls_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> calls_of_;
};

}  // namespace troupe::rpc
