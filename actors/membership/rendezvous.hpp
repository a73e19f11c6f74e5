// Where the processes of a group meet before they compute together, and hear of it when one of them is lost.
//
//                 all expected are here                 one is lost, or says that it failed
//   GATHERING(g) -----------------------> FORMED(g) ------------------------------------> GATHERING(g + 1)
//      ^  `-- one is lost: expected no more (but in the first group, which waits for it) --'   expects the survivors
//
// One process hosts the rendezvous, all take part. Ranks are the order of the expected tasks, without those that were
// lost. When a group breaks, all its processes are told which one was the cause, so that their collectives end (D-1);
// those that want to go on gather again, and form a group of the survivors.
//
// G-1 A process that was declared lost is part of no later group. G-2 All processes of a generation get the same
// roster.
//
// Killed processes are noticed when their link breaks, frozen ones by the failure detector.
#pragma once

#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/membership/failure_detector.hpp>
#include <troupe/actors/membership/waits_inquiry.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct rendezvous_options {
  /// In the order of ranks.
  std::vector<task_id> expected;
  /// How long a group may take to gather, from the first that comes.
  duration gather_limit = std::chrono::seconds{60};
  /// How long a process may wait for another one's word.
  duration fetch_limit = std::chrono::seconds{60};
  failure_detector_options detection;
  /// Called while a group gathers, after 1 s and then each 5 s, with those that have not come.
  std::function<void(const std::vector<task_id>&)> report = {};
  /// What one process may tell the others, in all.
  std::size_t words_max = 10'000;
};

class rendezvous_state {
 public:
  static constexpr const char* name = "rendezvous";
  using pointer = rendezvous_actor::stateful_pointer<rendezvous_state>;

  explicit rendezvous_state(pointer self) : self_(self), clock_(self), requests_(self, clock_) {}
  ~rendezvous_state();
  rendezvous_actor::behavior_type make_behavior(rendezvous_options options);

 private:
  using roster_promise = caf::typed_response_promise<wire<group_roster>>;
  using word_promise = caf::typed_response_promise<std::string>;

  struct gathered {
    participant_actor participant;
    group_candidate candidate;
    std::uint64_t key = 0;
    std::optional<roster_promise> promise;
  };
  struct waiting_fetch {
    word_promise promise;
    timers::ticket deadline;
  };

  caf::result<wire<group_roster>> gather(const participant_actor& participant, const group_candidate& candidate);
  void form();
  void give_up_gathering();
  std::vector<task_id> missing() const;
  void report_missing_after(duration pause);
  void lose(std::uint64_t key, const status& why);
  void break_group(const status& why);
  caf::result<caf::ok_atom> set(std::uint64_t generation, const std::string& key, std::string word);
  caf::result<std::string> fetch(std::uint64_t generation, const std::string& key);
  bool is_expected(const task_id& task) const;
  caf::result<wire<cluster_waits>> tell_waits(duration limit);

  pointer self_;
  timers clock_;
  requests requests_;
  waits_inquiries inquiries_;
  rendezvous_options options_;
  failure_detector_actor detector_;
  bool formed_ = false;
  /// Of the group that is formed, or was last.
  std::uint64_t generation_ = 0;
  std::map<task_id, gathered> gathered_;
  timers::ticket gather_deadline_;
  timers::ticket report_;
  std::uint64_t last_key_ = 0;
  std::map<std::string, std::string> words_;
  std::map<std::string, std::vector<waiting_fetch>> fetching_;
};

rendezvous_actor::behavior_type rendezvous(rendezvous_state::pointer self, rendezvous_options options);

}  // namespace troupe
