// What the application has on one member, as everything that runs there shares it; see member.hpp.
#pragma once

#include <troupe/actors/offers/address_book.hpp>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

class member_services;

struct member_context {
  member_context(caf::actor_system& of, const task_id& task) : system(of), book(std::make_shared<address_book>(task)) {}

  caf::actor_system& system;
  const std::shared_ptr<address_book> book;

  std::mutex mutex;
  /// That end with the member, in the order of their spawning.
  std::vector<caf::actor> actors;
  std::vector<std::function<void()>> at_stop;
  /// What it has of the chief's services (services/member_services.hpp).
  std::once_flag services_made;
  std::shared_ptr<member_services> services;

  /// Of the member whose code runs here: the fiber's, or the only one that has entered this process. Null if there is
  /// none.
  static std::shared_ptr<member_context> here();
  /// What runs in no fiber is this one's, if there is no other in the process.
  static void enter(const std::shared_ptr<member_context>& member);

  /// What is to be done next at the end, the latest first; null: nothing more.
  std::function<void()> take_at_stop();
  /// The actors that end then, the latest first.
  std::vector<caf::actor> take_actors();
};

}  // namespace troupe
