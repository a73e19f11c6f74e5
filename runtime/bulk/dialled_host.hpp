// The hosts that this process has dialled by name, as its user asked.
//
// Problem: a ticket of another process could make this one look up any name. Solution: the host in a ticket is an
// address in numbers. Tickets of a server that was dialled are redirected to where it was dialled, whatever they hold,
// and that may be a name; so the channels to such servers register it here.
#pragma once

#include <string>

namespace troupe {

/// Registers a host for as long as it lives.
class dialled_host {
 public:
  explicit dialled_host(std::string host);
  dialled_host(const dialled_host&) = delete;
  dialled_host& operator=(const dialled_host&) = delete;
  ~dialled_host();

  /// Any thread.
  static bool is_one(const std::string& host);

 private:
  const std::string host_;
};

}  // namespace troupe
