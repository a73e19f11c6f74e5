// The actors that make a process, or a part of one, a member of a cluster: its door, its role, and its directory of the
// application's actors.
#pragma once

#include <troupe/actors/membership/member_end.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/offers/member_context.hpp>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <caf/typed_actor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct node_options;

struct member_plan {
  member_identity who;
  dialer_actor dialer;
  /// Called once, in an actor of the member's; not any more when the application's end has begun.
  std::function<void(const member_end&)> on_end;
  /// Takes what happens to the application's actors. Empty: the program's log does.
  std::function<void(const std::string&)> report = {};
};

struct member_actors {
  std::shared_ptr<member_context> application;
  member_actor door;
  /// All of them, for their end.
  std::vector<caf::actor> all;

  /// Spawns what the task needs: a worker, a parameter server, or neither. Calls `options.on_member`, whose exceptions
  /// pass through, after which nothing is left.
  static member_actors spawn(caf::actor_system& system, member_plan plan, const node_options& options);
};

/// Ends what the application has on a member, one after the other, within `limit`: what it wants to be done at the end,
/// then its actors, the latest first. False if some are left.
bool stop_application(member_context& application, duration limit);

}  // namespace troupe
