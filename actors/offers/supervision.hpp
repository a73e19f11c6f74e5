// How a supervisor watches over the application's actors on a member, and what it is given to watch.
//
//   here.supervise({.restarts_max = 5, .within = 1min},
//                  {{"sensor", [](troupe::member& here) { return here.spawn(sensor); }},
//                   {"filter", [](troupe::member& here) { return here.spawn(filter, here.task()); }}});
//
// The words are Erlang's: a child that ends by an error is restarted by a policy, at most so often within a time; then
// the supervisor gives up, which is its own failure. supervisor.hpp says what happens when.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/offers/actor_interface.hpp>
#include <troupe/actors/offers/address_book.hpp>
#include <troupe/actors/offers/member.hpp>
#include <troupe/device/base/error.hpp>

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_control_block.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// Which actors begin again when one of them has failed.
enum class restart_policy {
  /// The one that failed.
  one_for_one,
  /// All: the others are ended, the latest first, then all begin again in their order, also those that had ended by
  /// themselves. For actors that rely on what they told each other.
  one_for_all,
};

struct supervision_options {
  /// In one supervisor; supervisors nest.
  static constexpr std::size_t children_max = 4'096;

  restart_policy policy = restart_policy::one_for_one;
  /// So many restarts of all children together within this time; the next failure is one too many, and the supervisor
  /// gives up. With zero it does at the first.
  int restarts_max = 5;
  duration within = std::chrono::minutes{1};
  /// From a failure to the restart: the first time, doubled with each failure that follows, up to the second. It begins
  /// anew after the child (for one_for_all: each of them) has lived for `within`. Pauses so long that `restarts_max` of
  /// them do not fit into `within` mean restarts without end.
  duration first_pause = std::chrono::milliseconds{100};
  duration pause_max = std::chrono::seconds{10};
  /// How long an actor that was asked to end (`exit_reason::user_shutdown`) is waited for; then it is killed, and after
  /// the same time left behind, which the log says. All children of a supervisor inside another one share the other
  /// one's limit.
  duration end_limit = std::chrono::seconds{3};
  /// Called once, in the supervisor, with what it gave up for, in the place of its failure: no member fails, no outer
  /// supervisor hears of it. May not wait. What it throws goes to the log.
  std::function<void(const status&)> on_giving_up = {};

  /// @throws invalid_argument_error that names the field.
  void check() const;
};

/// Whether others find the actor by its child's name.
enum class child_name { offered, not_offered };

/// An actor of a supervisor: its name, and the function that starts it.
class supervised_child {
 public:
  /// `start` returns the actor, `caf::actor` or a typed one, which the supervisor offers under the name with the
  /// interface that this handle has: a restarted one is found by the same name, and followed. It is called in the
  /// supervisor, for each start, and may not wait (`here.follow` does not). That it throws is a failure of the child.
  ///
  /// All that is spawned with the member that it is given, by the child later, too, belongs to the child: it fails when
  /// one of them ends by an error, and they end with it, the latest first. An `at_stop` there is the member's, and
  /// there is one more after each restart.
  ///
  /// Without an offer the name is for errors and the log.
  template <class F>
  requires std::invocable<F&, member&> supervised_child(std::string name, F start, child_name use = child_name::offered)
      : name_(std::move(name)), use_(use) {
    using actor = std::remove_cvref_t<std::invoke_result_t<F&, member&>>;
    static_assert(
        std::is_same_v<actor, caf::actor> || requires { typename actor::signatures; },
        "the function of a child returns the actor that it has spawned, caf::actor or caf::typed_actor; the "
        "supervisor offers it");
    start_ = [start = std::move(start)](member& here) mutable -> address_book::offered {
      return {caf::actor_cast<caf::strong_actor_ptr>(actor{start(here)}), interface_of<actor>()};
    };
  }

  const std::string& name() const { return name_; }
  bool is_offered() const { return use_ == child_name::offered; }
  address_book::offered start(member& here) const { return start_(here); }

 private:
  std::string name_;
  child_name use_;
  std::function<address_book::offered(member&)> start_;
};

/// @throws invalid_argument_error for no children, too many, or names that are empty or not their own.
void check(const std::vector<supervised_child>& children);

}  // namespace troupe
