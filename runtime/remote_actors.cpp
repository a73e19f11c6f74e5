#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/cluster/publish.hpp>
#include <troupe/runtime/cluster/reach.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/remote_actors.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace troupe::detail {

std::uint16_t publish(caf::actor_system& system, const caf::strong_actor_ptr& whom, std::set<std::string> interface,
                      std::uint16_t port, duration limit) {
  const auto with = credentials::of_process();
  const auto* const host = with->secret || with->insecure ? "" : "localhost";
  return open_port(system, whom, std::move(interface), {host, port}, limit,
                   fmt::format("publishing an actor at port {}", port));
}

namespace {

/// Between two attempts to find what is not there yet.
constexpr duration pause = std::chrono::milliseconds{10};

published_actor reach_once(caf::actor_system& system, const task_address& where, duration limit,
                           const std::string& what) {
  auto found = reach(system, where, limit, what);
  if (!found.handle) throw unavailable_error{what + ": no actor is published there"};
  return found;
}

published_actor reach_when_there(caf::actor_system& system, const task_address& where, duration limit,
                                 const std::string& what) {
  for (const auto deadline = later(current_time(), limit);;) {
    try {
      return reach_once(system, where, deadline - current_time(), what);
    } catch (const unavailable_error&) {
      if (current_time() + pause >= deadline) throw;
    }
    sleep_for(pause);
  }
}

}  // namespace

caf::strong_actor_ptr find_published(caf::actor_system& system, const std::set<std::string>& interface,
                                     const std::string& host, std::uint16_t port, duration limit) {
  const auto what = fmt::format("connecting to {}:{}", host, port);
  const auto found = reach_when_there(system, {host, port}, limit, what);
  if (!system.assignable(found.interface, interface))
    throw failed_precondition_error{fmt::format("{}: the actor there takes {}, which is not what was asked for, {}",
                                                what, fmt::join(found.interface, ", "), fmt::join(interface, ", "))};
  return found.handle;
}

}  // namespace troupe::detail
