// The directory of a member: answers others who look for the actors that it offers, and looks for those that its own
// actors, closures and programs follow.
//
// Each link (actor_link.hpp) of a member that is followed:
//
//   WAITING FOR THE MEMBER --the chief says that it is present--> SEARCHING --found--> FOUND
//        ^  ^                                                       |   ^                |
//        |  '----------- it is absent ------------------------------'   '--actor ended---|
//        '------------------------------ it is absent, its link broke -------------------'
//
// The chief knows who is present, so a directory tells the chief's membership once whom it follows, and hears of each
// change. The chief has a link to each member; another member dials it, watches that link, since nobody else does, and
// looks for the name at its door. A search waits there until the name is offered.
//
// All waiting has limits: offer_limits.hpp.
#pragma once

#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/membership/failure_detector.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/offers/address_book.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <list>
#include <map>
#include <memory>
#include <vector>

namespace troupe {

class directory_state {
 public:
  static constexpr const char* name = "directory";
  using pointer = directory_actor::stateful_pointer<directory_state>;

  explicit directory_state(pointer self) : self_(self), clock_(self), requests_(self, clock_) {}
  ~directory_state();
  directory_actor::behavior_type make_behavior(std::shared_ptr<address_book> book, dialer_actor dialer,
                                               failure_detector_options detection);

 private:
  using found_promise = caf::typed_response_promise<caf::strong_actor_ptr, wire<actor_interface>>;

  struct open_search {
    std::string name;
    found_promise promise;
    timers::ticket deadline;
  };
  struct followed_link {
    std::shared_ptr<actor_link> link;
    caf::actor_addr found;
    bool searching = false;
    /// It is known what its member offers instead.
    bool reason_known = false;
  };
  struct followed_member {
    std::uint64_t key = 0;
    bool present = false;
    /// Nobody gives its door to this process.
    bool is_dialled = false;
    /// How to reach it; null until it was dialled.
    member_actor door;
    bool dialling = false;
    std::list<followed_link> links;
  };

  // for others
  caf::result<caf::strong_actor_ptr, wire<actor_interface>> find(const std::string& which, duration limit);
  void offered(const std::string& which);
  status not_offered(const std::string& which) const;

  // for this member
  void follow(const std::shared_ptr<actor_link>& link);
  void release(const std::shared_ptr<actor_link>& link);
  void take_chief(const presence_actor& chief);
  void ask_of(std::vector<task_id> tasks);
  void take_presence(const caf::strong_actor_ptr& door, const member_record& record);
  static bool is_reached(const task_id& task, const followed_member& member);
  void reach(const task_id& task, followed_member& member);
  void reached(const task_id& task, followed_member& member, const member_actor& door);
  void search_all(const task_id& task, followed_member& member);
  void search_here(followed_link& one);
  void search(const task_id& task, followed_member& member, followed_link& one);
  void settle(followed_link& one, const caf::strong_actor_ptr& actor, const actor_interface& interface);
  void later_again(const task_id& task);
  void lose(followed_member& member, const status& why, bool lasting = false);
  void lose_door(followed_member& member, const status& why);
  void lose_actor(followed_link& one);
  void suspect(std::uint64_t key, const status& why);
  void watch(const caf::actor_addr& whom);
  void unwatch(const caf::actor_addr& whom);
  void down(const caf::down_msg& what);

  pointer self_;
  timers clock_;
  requests requests_;
  std::shared_ptr<address_book> book_;
  dialer_actor dialer_;
  failure_detector_options detection_;
  failure_detector_actor detector_;
  presence_actor chief_;
  std::list<open_search> searches_;
  std::map<task_id, followed_member> followed_;
  std::map<task_id, task_address> addresses_;
  /// Who is monitored, and for how many offers, links and doors: CAF ends all monitors of an actor together.
  std::map<caf::actor_addr, int> watched_;
  std::uint64_t last_key_ = 0;
};

directory_actor::behavior_type directory(directory_state::pointer self, std::shared_ptr<address_book> book,
                                         dialer_actor dialer, failure_detector_options detection);

}  // namespace troupe
