// What the application has on one member, as everything that runs there shares it; see member.hpp.
#pragma once

#include <troupe/actors/offers/address_book.hpp>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
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
  /// What is spawned from now on ends at once.
  bool has_ended = false;
  /// The end has begun: nothing is restarted any more.
  bool is_ending = false;
  std::vector<std::function<void()>> at_stop;
  /// What happens to the application's actors, a line each; any thread. Null: nobody wants to know. Of the runtime, as
  /// the next; both are set before the application's code runs.
  std::function<void(const std::string&)> report;
  /// What it has of the chief's services (services/member_services.hpp).
  std::once_flag services_made;
  std::shared_ptr<member_services> services;

  /// Of the member whose code runs here: the fiber's, or the only one that has entered this process. Null if there is
  /// none.
  static std::shared_ptr<member_context> here();
  /// What runs in no fiber is this one's, if there is no other in the process.
  static void enter(const std::shared_ptr<member_context>& member);

  /// What is to happen when the application can't go on here: the member is to end. Any thread.
  void set_on_failure(std::function<void(const status&)> act);
  /// A supervisor has given up. Does nothing once the end has begun.
  void fail(const status& why);
  /// From here on nothing is restarted, and nobody hears of failures: whoever is told of one is done with it.
  void begin_end();
  bool has_begun_to_end();

  /// The actor system may be destroyed from now on.
  void leave_system() { system_is_gone_ = true; }
  /// @throws failed_precondition_error when it may be destroyed.
  caf::actor_system& live_system() const;

  /// What is to be done next at the end, the latest first; null: nothing more.
  std::function<void()> take_at_stop();
  /// The actors that end then, the latest first.
  std::vector<caf::actor> take_actors();

 private:
  std::atomic<bool> system_is_gone_ = false;
  std::mutex failure_mutex_;
  std::function<void(const status&)> on_failure_;
};

}  // namespace troupe
