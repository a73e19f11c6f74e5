// Who is in the cluster: the chief's actor that takes members in, watches them, and tells everybody.
//
// For each member of the specification:
//
//   ABSENT --dialled--> ADOPTING --identity and role--> PRESENT --suspected--> ABSENT
//      ^--------- any failure: again after dial_retry -------'
//
// M-1 An epoch never decreases: each change makes a new view. M-2 A member that comes back as another process has
// another incarnation; messages to the old one are refused or fail. Each member is taken in on its own: one that is
// lost never holds up another.
//
// Clusters are large, so a change must cost what it changes. Only servers concern other members, since only variables
// look for them: a worker hears of all servers when it comes, and then of each one that changes. So the admission of N
// workers costs N messages, and that of a server one record for each worker. Who follows the application's actors on a
// member (offers/directory.hpp) hears of that member only.
//
// Semantics: examples/reference/semantics.md 5.2.3.
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

#include <map>
#include <memory>
#include <vector>

namespace troupe {

struct membership_options {
  member_identity chief;
  /// Workers and servers; the chief itself is not among them.
  std::vector<std::pair<task_id, task_address>> members;
  failure_detector_options detection;
  /// The detector has a thread of its own, so that members hear of the chief whatever keeps CAF's threads.
  bool detached = false;
  /// How long members bear the chief's silence before they end themselves.
  duration chief_silence_max = std::chrono::seconds{10};
  duration dial_limit = std::chrono::seconds{2};
  duration dial_retry = std::chrono::milliseconds{100};
  /// How long members may take to acknowledge that they retire.
  duration retire_limit = std::chrono::seconds{2};
};

/// The chief's own actors that follow the membership; any may be missing.
struct membership_audience {
  coordinator_actor coordinator;
  client_actor client;
  event_bus_actor events;
  /// Of the chief's own actors.
  directory_actor directory;
};

class membership_state {
 public:
  static constexpr const char* name = "membership";
  using pointer = membership_actor::stateful_pointer<membership_state>;

  explicit membership_state(pointer self) : self_(self), clock_(self), requests_(self, clock_) {}
  ~membership_state();
  membership_actor::behavior_type make_behavior(dialer_actor dialer, membership_options options,
                                                membership_audience audience);

 private:
  struct member_entry {
    member_record record;
    member_actor handle;
    std::uint64_t key = 0;
    /// Why it is not in, last time: for people who wait for it.
    status last_failure;
  };
  struct waiting {
    std::vector<task_id> tasks;
    caf::typed_response_promise<wire<cluster_view>> promise;
    time_point deadline;
    timers::ticket timer;
  };

  void dial(member_entry& member);
  void adopt(member_entry& member, const member_actor& handle);
  void enter(member_entry& member, const member_actor& handle, const member_identity& who);
  void present(member_entry& member, const member_actor& handle, const member_identity& who,
               const worker_actor& worker);
  void present(member_entry& member, const member_actor& handle, const member_identity& who,
               const parameter_server_actor& server);
  void present(member_entry& member, const member_actor& handle, const member_identity& who, const member_actor& role);
  void suspect(std::uint64_t key, const status& why);
  void retry(member_entry& member, const status& why);
  wire<cluster_view> view() const;
  wire<cluster_view> servers() const;
  job_sizes jobs() const;
  void changed(const member_entry& member);
  void follow(const presence_listener& listener, const std::vector<task_id>& tasks);
  void tell(const presence_listener& listener, const task_id& task) const;
  caf::result<wire<cluster_view>> watch(const std::vector<task_id>& tasks, duration limit);
  void answer_waiting();
  bool all_present(const std::vector<task_id>& tasks) const;
  caf::result<caf::ok_atom> retire(const status& why);
  caf::result<wire<cluster_waits>> tell_waits(duration limit);
  void ask_coordinator(const std::shared_ptr<waits_inquiry>& inquiry, duration limit);
  void publish(event_kind kind, const member_entry& member, const status& why = {});

  pointer self_;
  timers clock_;
  requests requests_;
  dialer_actor dialer_;
  failure_detector_actor detector_;
  membership_options options_;
  membership_audience audience_;
  std::vector<std::unique_ptr<member_entry>> members_;
  std::map<task_id, const member_entry*> by_task_;
  std::vector<waiting> waiting_;
  /// Who hears of a member.
  std::map<task_id, std::vector<presence_listener>> followers_;
  waits_inquiries inquiries_;
  std::uint64_t epoch_ = 0;
  bool retiring_ = false;
};

membership_actor::behavior_type membership(membership_state::pointer self, dialer_actor dialer,
                                           membership_options options, membership_audience audience);

}  // namespace troupe
