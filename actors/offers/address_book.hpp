// What one member offers and whom it follows, as all of its actors, fibers and threads share it.
//
// The directory (directory.hpp) does what takes time: it answers other members, searches, and hears of losses. What
// must be true at once, such as that a name is taken, is true here.
//
// O-2 A name stands for one living actor at most. O-3 At the member's end nothing here holds an actor any more, and
// every link is down for good, whoever still holds it.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/offers/actor_link.hpp>
#include <troupe/actors/offers/offer_limits.hpp>

#include <caf/actor_control_block.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace troupe {

class address_book {
 public:
  struct offered {
    caf::strong_actor_ptr actor;
    actor_interface interface;
  };

  explicit address_book(task_id owner, offer_limits limits = {}) : owner_(std::move(owner)), limits_(limits) {}
  address_book(const address_book&) = delete;

  const task_id& owner() const { return owner_; }
  const offer_limits& limits() const { return limits_; }

  /// @throws already_exists_error while a living actor has the name; invalid_argument_error for an empty name or no
  /// actor; resource_exhausted_error; failed_precondition_error after the member's end.
  void offer(const std::string& name, offered what);
  /// False: nothing of that name is offered.
  bool withdraw(const std::string& name);
  /// What has ended is found no more, and makes room.
  std::optional<offered> find(const std::string& name);
  /// The application's, for errors: troupe's own begin with "troupe/".
  std::vector<std::string> names() const;
  /// Under which this actor is offered.
  std::vector<std::string> names_of(const caf::actor_addr& actor) const;

  /// The link to that name, a new one if nobody has asked for it yet; one that is down for good is looked for again.
  /// @throws resource_exhausted_error
  std::shared_ptr<actor_link> follow(const task_id& task, const std::string& name, const actor_interface& wanted);

  /// All of a job, present or not; waits until the chief has said it. @throws not_found_error for no job of the
  /// cluster; deadline_exceeded_error; cancelled_error when the fiber is cancelled.
  std::vector<task_id> tasks(const std::string& job, duration limit);
  /// A chief has taken the member in, or it has ended.
  bool knows_jobs() const { return jobs_known_.is_set(); }

  // --- of the directory ---

  void know(job_sizes jobs);
  void open(const directory_actor& directory);
  /// This actor has ended, or nobody waits for its end any more: its names are free.
  void forget(const caf::actor_addr& actor);
  void close(const status& why);

 private:
  using key = std::tuple<task_id, std::string, actor_interface>;

  template <class... Ts>
  void tell(Ts&&... what) const;
  void drop_unused_links();

  const task_id owner_;
  const offer_limits limits_;
  mutable std::mutex mutex_;
  /// Null before `open`.
  caf::weak_actor_ptr directory_;
  status closed_;
  job_sizes jobs_;
  completion jobs_known_;
  std::map<std::string, offered> offers_;
  std::map<key, std::shared_ptr<actor_link>> links_;
  /// Links are looked through when there are so many.
  std::size_t next_look_ = 64;
};

}  // namespace troupe
