// Raw CAF programs that do what troupe does: what the benches compare with.
//
// They run in the same actor system, in processes with the same configuration (runtime/system_config.hpp), or in a
// system of their own where that is faster, and use the cheapest means that CAF has: no deadlines, no retries, untyped
// actors, one builtin type per message. So a request to a dead actor would wait for ever; the process that started the
// bench ends what takes too long.
#pragma once

#include <troupe/runtime/launch/child_process.hpp>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <cstdint>
#include <vector>

namespace troupe::tools {

/// Answers a number with itself, and a size in bytes with that many bytes.
caf::behavior caf_echo(caf::event_based_actor* self);

/// Answers a number after two requests to the server, the second one with the answer of the first.
caf::behavior caf_relay(caf::event_based_actor* self, caf::actor server);

/// A system with CAF's defaults, but no more threads than processors. Under their work stealing, actors that keep each
/// other busy answer several times as many requests as under troupe's configuration, while a single request takes
/// several times as long.
class caf_stealing_system {
 public:
  caf::actor_system& operator*() { return system_; }

 private:
  struct config : caf::actor_system_config {
    config();
  };
  config config_;
  caf::actor_system system_{config_};
};

/// A process of its own with an echo; or a relay, whose server is the echo at `upstream_port`.
class caf_reference_process {
 public:
  /// @throws unavailable_error when the process does not start or cannot be reached.
  explicit caf_reference_process(caf::actor_system& system, std::uint16_t upstream_port = 0);

  const caf::actor& handle() const { return handle_; }
  std::uint16_t port() const { return port_; }
  pid_t pid() const { return child_.pid(); }

 private:
  child_process child_;
  std::uint16_t port_ = 0;
  caf::actor handle_;
};

/// What such a process does; returns its exit code.
int serve_caf_reference(std::uint16_t upstream_port);

/// With more open requests it is not faster, with fewer it is slower.
inline constexpr std::int64_t best_window = 256;

/// Requests per second: one actor keeps `window` requests open at each of these actors.
double pipelined_requests(caf::actor_system& system, const std::vector<caf::actor>& servers,
                          std::chrono::nanoseconds slice, std::int64_t window = best_window);

/// One request of a number and its answer, blocking.
void blocking_request(caf::scoped_actor& self, const caf::actor& server);

}  // namespace troupe::tools
