// What a server has accepted: it counts calls, so that neither all clients together nor one of them can exceed the
// limits, and knows the sessions of clients, whose calls are taken only until their end, and their roles.
#pragma once

#include <troupe/actors/rpc/rpc_limits.hpp>
#include <troupe/device/base/error.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
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

  /// Clients that come through the door: from the beginning of its session until its end each may call. What was still
  /// under way then would run for nobody, some of it for ever.
  void open_session(std::uint64_t session, std::string role);
  void close_session(std::uint64_t session);
  /// Of the client; nothing: it is over.
  std::optional<std::string> role_in(std::uint64_t session) const;

  std::size_t calls() const;
  /// Clients with open calls.
  std::size_t clients() const;

 private:
  const limits limits_;
  mutable std::mutex mutex_;
  std::size_t calls_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> calls_of_;
  std::unordered_map<std::uint64_t, std::string> sessions_;
};

}  // namespace troupe::rpc
