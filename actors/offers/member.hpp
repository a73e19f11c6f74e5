// A member of a cluster as the application's code there has it: its actors, and those of all other members by name.
//
//   void on_member(troupe::member& here) {                 // run() calls it on each worker, server and extra role
//     here.offer("sensor", here.spawn(sensor));
//   }
//   auto sensor = cluster.find<sensor_actor>({"worker", 0}, "sensor");     // on the chief
//   auto sensor = troupe::current_member().find<sensor_actor>(...);        // in a closure
//
// Actors that fail are started again by a supervisor (supervision.hpp, supervisor.hpp):
//
//   here.supervise({.restarts_max = 5}, {{"sensor", [](troupe::member& here) { return here.spawn(sensor); }}});
//
// What is spawned here ends with the member: after its `at_stop` functions, the latest first, each actor is asked to
// end (`exit_reason::user_shutdown`) and waited for. CAF keeps an actor that others know; here it ends all the same.
//
// A copy is the same member. Any thread, fiber or actor, except that `find` and `find_all` wait: a handler of an
// event-based actor uses `follow`, which doesn't.
#pragma once

#include <troupe/actors/fibers/answer_exceptions.hpp>
#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/actors/offers/actor_reference.hpp>
#include <troupe/actors/offers/member_context.hpp>

#include <caf/actor_system.hpp>
#include <caf/spawn_options.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class child_scope;
class remote_coordinator;
class supervised_child;
struct supervision_options;

class member {
 public:
  explicit member(std::shared_ptr<member_context> context) : context_(std::move(context)) {}
  /// As a supervisor's child has it: what is spawned ends with the child.
  member(std::shared_ptr<member_context> context, std::shared_ptr<child_scope> scope)
      : context_(std::move(context)), scope_(std::move(scope)) {}

  const task_id& task() const { return context_->book->owner(); }
  /// @throws failed_precondition_error when the cluster has ended, since the system may have ended, too.
  caf::actor_system& system() const { return context_->live_system(); }

  /// `system().spawn(...)`; the actor ends with the member, and after the member's end at once. Who asks it hears what
  /// an event-based one throws (answer_exceptions.hpp). In a simulation, where nothing has a thread,
  /// a detached one (`spawn<caf::detached>`) takes turns, and a blocking one is a fiber (blocking_fiber.hpp).
  /// @throws as `system`
  template <caf::spawn_options Options = caf::no_spawn_options, class F, class... Ts>
  auto spawn(F body, Ts&&... arguments) const {
    auto handle =
        spawn_where_threads_are<Options>(system(), detail::answering(std::move(body)), std::forward<Ts>(arguments)...);
    keep(caf::actor_cast<caf::actor>(handle));
    return handle;
  }

  /// Starts these actors, soon and in their order, offers each under its name, and restarts those that end by an error;
  /// include <troupe/actors/offers/supervision.hpp>. Returns the supervisor, which is an actor: it may be a child of
  /// another one, and its end is that of its children. After the member's end it ends at once.
  /// @throws invalid_argument_error for options or children that cannot be; already_exists_error for a name that a
  /// living actor of somebody else's has.
  caf::actor supervise(supervision_options options, std::vector<supervised_child> children) const;

  /// Others find the actor by this name, until it ends or `withdraw`. The name is this member's: others may use it,
  /// too.
  /// @throws already_exists_error while a living actor has it; resource_exhausted_error (offer_limits.hpp);
  /// invalid_argument_error for messages of a type that nobody has registered (TROUPE_MESSAGE).
  template <class Actor>
  actor_reference<Actor> offer(const std::string& name, const Actor& actor) const {
    require_known_messages(system(), std::type_identity<Actor>{});
    context_->book->offer(name, {caf::actor_cast<caf::strong_actor_ptr>(actor), interface_of<Actor>()});
    return follow<Actor>(task(), name);
  }
  /// Nobody finds it any more; who has found it keeps it. False: there is no such name.
  bool withdraw(const std::string& name) const { return context_->book->withdraw(name); }

  /// An actor of any member, found now or later. Its interface may offer more than `Actor` has.
  /// @throws invalid_argument_error as `offer`
  template <class Actor>
  actor_reference<Actor> follow(const task_id& task, const std::string& name) const {
    require_known_messages(system(), std::type_identity<Actor>{});
    return actor_reference<Actor>{context_->book->follow(task, name, interface_of<Actor>())};
  }
  /// The same, and waits until it is there. @throws deadline_exceeded_error that says what is missing: the member, or
  /// the name, and what it offers instead; failed_precondition_error that says what an actor of another interface
  /// takes; not_found_error for no task of the cluster; cancelled_error when the fiber is cancelled.
  template <class Actor>
  actor_reference<Actor> find(const task_id& task, const std::string& name, duration limit = find_limit) const {
    auto found = follow<Actor>(task, name);
    found.await_up(limit);
    return found;
  }

  /// One reference for each task of the job ("worker"), in their order: each found, or not there within `limit`; those
  /// lead to their actors when they come. @throws failed_precondition_error for an actor of another interface;
  /// not_found_error for no job of the cluster; cancelled_error when the fiber is cancelled.
  template <class Actor>
  std::vector<actor_reference<Actor>> find_all(const std::string& job, const std::string& name,
                                               duration limit = find_limit) const {
    std::vector<actor_reference<Actor>> all;
    const auto deadline = later(current_time(), limit);
    for (const auto& task : context_->book->tasks(job, limit)) all.push_back(follow<Actor>(task, name));
    for (const auto& each : all) detail::await_until(each.link(), deadline);
    return all;
  }

  // With <troupe/runtime/actors.hpp>:
  /// Schedules closures onto the cluster's workers, through the chief, from this member.
  remote_coordinator coordinator() const;
  /// What happens in the cluster, as the chief tells it: `send(here.events(), listen_atom_v, listener)`. A listener
  /// hears what happens from then on, unless the link to the chief is lost meanwhile.
  /// @throws failed_precondition_error after the member's end.
  event_bus_actor events() const;

  /// Called when the member ends, before its actors do, in the thread that ends it. What it throws goes to the log.
  /// @throws failed_precondition_error after the member's end.
  void at_stop(std::function<void()> work) const;

  const std::shared_ptr<member_context>& context() const { return context_; }

 private:
  void keep(caf::actor actor) const;

  std::shared_ptr<member_context> context_;
  /// Null: what is spawned is the member's own.
  std::shared_ptr<child_scope> scope_;
};

/// The member whose code runs here: that of the running closure, or the only one of this process.
/// @throws failed_precondition_error where there is none, or several.
member current_member();

}  // namespace troupe
