// The typed interfaces of troupe's actors: which messages each takes and what it answers.
//
// All of them are public: an application's own actors talk to them directly, and the facade of runtime/ only sends
// these messages. Contents are `wire`s (wire.hpp); handles travel as message elements of their own, since only CAF can
// encode them; and so do sessions and other numbers that a receiver needs before the bulk data of the content are there
// (inbox.hpp). An application's config takes the types with `add_troupe_types` (message_types.hpp).
//
// The public headers of the runtime include this one, and every program them, so it only names the handles: a source
// that holds one or sends to it includes CAF's class, <caf/typed_actor.hpp>, and wire.hpp.
#pragma once

#include <troupe/actors/messages/messages.hpp>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <caf/fwd.hpp>
#include <caf/replies_to.hpp>
#include <caf/type_id.hpp>

#include <memory>

namespace troupe {

template <class T>
class wire;

namespace detail {

/// As typed_actor<...>::extend, without the class.
template <class Handle, class... Messages>
struct extended_interface;
template <class... Inherited, class... Messages>
struct extended_interface<caf::typed_actor<Inherited...>, Messages...> {
  using type = caf::typed_actor<Inherited..., Messages...>;
};
template <class Handle, class... Messages>
using extend = typename extended_interface<Handle, Messages...>::type;

}  // namespace detail

class actor_link;
class closure;
class operation_group;
class lock_step;
struct merge_arrival;
struct replica_result;
struct gathering;

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_atoms, caf::first_custom_type_id)
CAF_ADD_ATOM(troupe_atoms, troupe, submit_atom, "submit")
CAF_ADD_ATOM(troupe_atoms, troupe, run_atom, "run")
CAF_ADD_ATOM(troupe_atoms, troupe, outcome_atom, "outcome")
CAF_ADD_ATOM(troupe_atoms, troupe, cancel_atom, "cancel")
CAF_ADD_ATOM(troupe_atoms, troupe, admit_atom, "admit")
CAF_ADD_ATOM(troupe_atoms, troupe, dismiss_atom, "dismiss")
CAF_ADD_ATOM(troupe_atoms, troupe, drained_atom, "drained")
CAF_ADD_ATOM(troupe_atoms, troupe, idle_atom, "idle")
CAF_ADD_ATOM(troupe_atoms, troupe, errors_atom, "errors")
CAF_ADD_ATOM(troupe_atoms, troupe, resource_atom, "resource")
CAF_ADD_ATOM(troupe_atoms, troupe, release_atom, "release")
CAF_ADD_ATOM(troupe_atoms, troupe, up_atom, "up")
CAF_ADD_ATOM(troupe_atoms, troupe, down_atom, "down")
CAF_ADD_ATOM(troupe_atoms, troupe, create_atom, "create")
CAF_ADD_ATOM(troupe_atoms, troupe, find_atom, "find")
CAF_ADD_ATOM(troupe_atoms, troupe, operate_atom, "operate")
CAF_ADD_ATOM(troupe_atoms, troupe, perform_atom, "perform")
CAF_ADD_ATOM(troupe_atoms, troupe, adopt_atom, "adopt")
CAF_ADD_ATOM(troupe_atoms, troupe, worker_atom, "worker")
CAF_ADD_ATOM(troupe_atoms, troupe, server_atom, "server")
CAF_ADD_ATOM(troupe_atoms, troupe, alive_atom, "alive")
CAF_ADD_ATOM(troupe_atoms, troupe, view_atom, "view")
CAF_ADD_ATOM(troupe_atoms, troupe, retire_atom, "retire")
CAF_ADD_ATOM(troupe_atoms, troupe, dial_atom, "dial")
CAF_ADD_ATOM(troupe_atoms, troupe, hang_up_atom, "hang_up")
CAF_ADD_ATOM(troupe_atoms, troupe, watch_atom, "watch")
CAF_ADD_ATOM(troupe_atoms, troupe, suspect_atom, "suspect")
CAF_ADD_ATOM(troupe_atoms, troupe, event_atom, "event")
CAF_ADD_ATOM(troupe_atoms, troupe, listen_atom, "listen")
CAF_ADD_ATOM(troupe_atoms, troupe, arrive_atom, "arrive")
CAF_ADD_ATOM(troupe_atoms, troupe, merged_atom, "merged")
CAF_ADD_ATOM(troupe_atoms, troupe, finished_atom, "finished")
CAF_ADD_ATOM(troupe_atoms, troupe, gather_atom, "gather")
CAF_ADD_ATOM(troupe_atoms, troupe, broken_atom, "broken")
CAF_ADD_ATOM(troupe_atoms, troupe, set_atom, "set")
CAF_ADD_ATOM(troupe_atoms, troupe, fetch_atom, "fetch")
CAF_ADD_ATOM(troupe_atoms, troupe, offer_atom, "offer")
CAF_ADD_ATOM(troupe_atoms, troupe, follow_atom, "follow")
CAF_ADD_ATOM(troupe_atoms, troupe, presence_atom, "presence")
CAF_ADD_ATOM(troupe_atoms, troupe, leave_atom, "leave")
CAF_ADD_ATOM(troupe_atoms, troupe, activity_atom, "activity")
CAF_ADD_ATOM(troupe_atoms, troupe, recall_atom, "recall")
CAF_ADD_ATOM(troupe_atoms, troupe, await_atom, "await")
CAF_ADD_ATOM(troupe_atoms, troupe, waits_atom, "waits")
CAF_ADD_ATOM(troupe_atoms, troupe, why_atom, "why")
CAF_END_TYPE_ID_BLOCK(troupe_atoms)

namespace troupe {

/// Takes outcomes of closures from workers.
using outcome_sink = caf::typed_actor<
    // With the serial of the last recall of which the worker has heard.
    caf::reacts_to<outcome_atom, session_id, std::uint64_t, wire<run_outcomes>>,
    // From the same process: this closure of the session waits for that one; or, null, for none any more.
    caf::reacts_to<await_atom, session_id, closure_id, std::shared_ptr<const closure>>>;

/// Hears while its worker is in a closure; see worker_desk.hpp.
using worker_desk_actor =
    caf::typed_actor<caf::replies_to<recall_atom, session_id, wire<order_recall>>::with<wire<recalled_orders>>>;
/// As its worker knows it, which sets its alarm.
using worker_desk_with_alarm = detail::extend<worker_desk_actor, caf::reacts_to<caf::tick_atom>>;

/// Runs closures; see worker.hpp.
using worker_actor = caf::typed_actor<
    // A coordinator admits the worker: an older session ends, its closures are cancelled.
    caf::replies_to<admit_atom, outcome_sink, wire<session_terms>>::with<worker_desk_actor>,
    // This session, or any (0), is over.
    caf::reacts_to<dismiss_atom, session_id>,
    // The numbers of the first and the last of these orders, which are all between them; 0: they build resources.
    caf::reacts_to<run_atom, session_id, std::uint64_t, std::uint64_t, wire<run_orders>>,
    caf::reacts_to<cancel_atom, session_id, wire<cancel_orders>>, caf::reacts_to<view_atom, wire<cluster_view>>,
    // What this closure does; 0: what its closures do, those first that wait for the longest, and not all of many.
    caf::replies_to<activity_atom, session_id, closure_id>::with<wire<std::vector<closure_activity>>>>;

/// One shard of a variable; see parameter_server.hpp.
using shard_actor = caf::typed_actor<
    // The numbers of a client and of its link. An error breaks the link; problems of operations are in their outcomes.
    caf::replies_to<operate_atom, client_id, link_number, wire<operation_batch>>::with<wire<outcome_batch>>>;

/// Holds variables; see parameter_server.hpp. What concerns shards begins with the incarnation of the server that it is
/// meant for: another one refuses it (M-2).
using parameter_server_actor =
    caf::typed_actor<caf::replies_to<create_atom, std::uint64_t, wire<shard_orders>>::with<caf::ok_atom>,
                     caf::replies_to<release_atom, std::uint64_t, wire<shard_numbers>>::with<caf::ok_atom>,
                     caf::replies_to<find_atom, std::uint64_t, std::uint64_t>::with<shard_actor>,
                     // Sessions of workers are over: their operations are refused from now on.
                     caf::replies_to<dismiss_atom, std::uint64_t, wire<session_fence>>::with<caf::ok_atom>,
                     caf::replies_to<alive_atom, std::uint64_t>::with<std::uint64_t>>;

/// Hears of one member each time that it comes or goes. The first element is its door, for a listener of the chief's
/// own process; null: the listener reaches it by its address.
using presence_listener = caf::typed_actor<caf::reacts_to<presence_atom, caf::strong_actor_ptr, wire<member_record>>>;

/// Hears that a peer is lost, by the key that it is watched under.
using suspicion_listener = caf::typed_actor<caf::reacts_to<suspect_atom, std::uint64_t, wire<status>>>;

/// Knows the actors that the application offers on a process, by their names, and answers as soon as there is one of
/// this name, or with an error after so many nanoseconds; see offers/directory.hpp.
using actor_finder = caf::typed_actor<
    caf::replies_to<find_atom, std::string, std::int64_t>::with<caf::strong_actor_ptr, wire<actor_interface>>>;

/// Says who is there: the chief's membership, or who stands in for it (runtime/simulation/simulated_member.hpp).
using presence_actor = detail::extend<actor_finder,
                                      // Tells how these members are now, and each change, until the listener ends.
                                      caf::reacts_to<follow_atom, presence_listener, wire<std::vector<task_id>>>>;

/// Tells who waits, in all processes that it can reach, for those who ask why a job stands still. They have so many
/// nanoseconds; of those that have not answered then it says so.
using wait_teller = caf::typed_actor<caf::replies_to<why_atom, std::int64_t>::with<wire<cluster_waits>>>;

/// Who is in, with epochs; see membership.hpp.
using membership_actor =
    detail::extend<detail::extend<presence_actor, caf::replies_to<why_atom, std::int64_t>::with<wire<cluster_waits>>>,
                   caf::reacts_to<suspect_atom, std::uint64_t, wire<status>>,
                   caf::replies_to<view_atom>::with<wire<cluster_view>>,
                   // A member ends: the chief takes back what it has given to it.
                   caf::reacts_to<leave_atom, wire<departure>>,
                   // Answers with the view as soon as all these tasks are present, or after so many nanoseconds.
                   caf::replies_to<watch_atom, wire<std::vector<task_id>>, std::int64_t>::with<wire<cluster_view>>,
                   // Ends all members in order, with this status as their reason.
                   caf::replies_to<retire_atom, wire<status>>::with<caf::ok_atom>>;

/// The process's own door: who it is, whether it is alive, which roles it has; see member_door.hpp.
using member_actor = detail::extend<
    actor_finder,
    // Who waits in this process, and, from the chief, in all.
    caf::replies_to<waits_atom>::with<wire<process_waits>>,
    caf::replies_to<why_atom, std::int64_t>::with<wire<cluster_waits>>,
    // A chief takes the process in.
    caf::replies_to<adopt_atom, membership_actor, wire<adoption>>::with<wire<member_identity>>,
    caf::replies_to<worker_atom>::with<worker_actor>, caf::replies_to<server_atom>::with<parameter_server_actor>,
    caf::replies_to<alive_atom, std::uint64_t>::with<std::uint64_t>, caf::reacts_to<view_atom, wire<cluster_view>>,
    caf::replies_to<retire_atom, wire<status>>::with<caf::ok_atom>,
    // From the same process: it ends.
    caf::reacts_to<leave_atom, wire<status>>,
    // The process's worker does not do what it is told: the process ends and can be started anew.
    caf::reacts_to<dismiss_atom, wire<status>>>;

/// Reaches another process by its address; see runtime/cluster/dialer.hpp, or a map inside one process.
using dialer_actor =
    caf::typed_actor<caf::replies_to<dial_atom, std::string, std::uint16_t>::with<member_actor>,
                     // This process is silent: its link is ended on this side, so that the next dial makes a new one.
                     caf::reacts_to<hang_up_atom, caf::node_id>>;

/// Takes events; an application's own actors subscribe with this interface.
using event_listener = caf::typed_actor<caf::reacts_to<event_atom, wire<event>>>;

/// Passes each event on to all listeners; see event_bus.hpp.
using event_bus_actor = detail::extend<event_listener, caf::reacts_to<listen_atom, event_listener>>;

/// Whoever has made the handles of a process: a program's coordinator, or a member's courier.
using closure_owner = caf::typed_actor<
    // Nobody wants this closure's value any more. Answers when nothing of it runs, or will: at once, if it has ended.
    caf::replies_to<cancel_atom, std::shared_ptr<closure>>::with<caf::ok_atom>,
    // Nobody wants this resource any more.
    caf::reacts_to<release_atom, resource_id>,
    // Says of this closure, or of all (null), why it has not ended: where it is and for what it waits. Workers have so
    // many nanoseconds to tell.
    caf::replies_to<activity_atom, std::shared_ptr<closure>, std::int64_t>::with<std::string>>;

/// Takes closures of a member's own queue to the chief; see closure_courier.hpp.
using closure_courier_actor = detail::extend<closure_owner, caf::reacts_to<submit_atom>>;

/// Takes closures of other members to the coordinator and answers with their ends, also with their errors: an error of
/// the request is one of its way; see closure_desk.hpp. The numbers are the sender's own.
using closure_desk_actor =
    caf::typed_actor<caf::replies_to<submit_atom, std::uint64_t, wire<closure_submission>>::with<wire<closure_outcome>>,
                     // Nobody wants that one any more. Answers as a closure_owner.
                     caf::replies_to<cancel_atom, std::uint64_t>::with<caf::ok_atom>,
                     // Why it has not ended; as a closure_owner's.
                     caf::replies_to<activity_atom, std::uint64_t, std::int64_t>::with<std::string>>;

/// Schedules closures onto workers; see coordinator.hpp.
using coordinator_actor = detail::extend<
    outcome_sink,
    // Closures wait in the submission queue.
    caf::reacts_to<submit_atom>,
    // As a closure_owner.
    caf::replies_to<cancel_atom, std::shared_ptr<closure>>::with<caf::ok_atom>,
    // A closure whose result stays on each worker, as a resource, for as long as `release` does not name it.
    caf::replies_to<resource_atom, wire<closure_order>>::with<caf::ok_atom>, caf::reacts_to<release_atom, resource_id>,
    // A member came or went. `up` starts the worker's admission.
    caf::reacts_to<up_atom, member_actor, worker_actor, wire<member_identity>>,
    caf::reacts_to<up_atom, parameter_server_actor, wire<member_identity>>,
    caf::reacts_to<down_atom, wire<member_record>>,
    // Answers with true when all that was scheduled before has ended; with false after so many nanoseconds; or with the
    // first error, once everything else is cancelled.
    caf::replies_to<drained_atom, std::int64_t>::with<bool>,
    // The same at once: is everything finished?
    caf::replies_to<idle_atom>::with<bool>,
    // All errors of the last generation that was cancelled.
    caf::replies_to<errors_atom>::with<wire<std::vector<status>>>,
    // As a closure_owner.
    caf::replies_to<activity_atom, std::shared_ptr<closure>, std::int64_t>::with<std::string>,
    // Closures that somebody waits for and a worker holds.
    caf::replies_to<waits_atom>::with<wire<std::vector<awaited_closure>>>>;

/// Whoever answers pings.
using pingable_actor = caf::typed_actor<caf::replies_to<alive_atom, std::uint64_t>::with<std::uint64_t>>;

/// Where a member looks up the application's actors, its own and others'; see offers/directory.hpp.
using directory_actor = caf::typed_actor<
    caf::replies_to<find_atom, std::string, std::int64_t>::with<caf::strong_actor_ptr, wire<actor_interface>>,
    caf::reacts_to<presence_atom, caf::strong_actor_ptr, wire<member_record>>,
    caf::reacts_to<suspect_atom, std::uint64_t, wire<status>>,
    // From the same process: this name is offered now, this link is wanted, or not any more; the door has a chief.
    caf::reacts_to<offer_atom, std::string>, caf::reacts_to<follow_atom, std::shared_ptr<actor_link>>,
    caf::reacts_to<release_atom, std::shared_ptr<actor_link>>,
    // From the clock: requests over the link may be late.
    caf::reacts_to<caf::tick_atom, std::shared_ptr<actor_link>>,
    caf::reacts_to<adopt_atom, presence_actor, wire<job_sizes>>>;

/// Judges by silence; see failure_detector.hpp.
using failure_detector_actor = caf::typed_actor<caf::reacts_to<watch_atom, std::uint64_t, pingable_actor>,
                                                caf::reacts_to<dismiss_atom, std::uint64_t>>;

/// A process's part in groups; see participant.hpp.
using participant_actor = detail::extend<pingable_actor,
                                         // Who waits in this process.
                                         caf::replies_to<waits_atom>::with<wire<process_waits>>,
                                         caf::reacts_to<broken_atom, std::uint64_t, wire<status>>,
                                         // From a thread of the same process.
                                         caf::reacts_to<gather_atom, std::shared_ptr<gathering>>>;

/// Brings the processes of a group together; see rendezvous.hpp.
using rendezvous_actor =
    detail::extend<suspicion_listener,
                   // Who waits in all processes of the group; see wait_teller.
                   caf::replies_to<why_atom, std::int64_t>::with<wire<cluster_waits>>,
                   // Answers when the group is complete.
                   caf::replies_to<gather_atom, participant_actor, wire<group_candidate>>::with<wire<group_roster>>,
                   // A process says that the group of this generation can't go on, and why.
                   caf::reacts_to<broken_atom, std::uint64_t, wire<status>>,
                   // What the processes of a generation tell each other before they are connected; `fetch` waits for
                   // the key.
                   caf::replies_to<set_atom, std::uint64_t, std::string, std::string>::with<caf::ok_atom>,
                   caf::replies_to<fetch_atom, std::uint64_t, std::string>::with<std::string>>;

/// Performs variable operations for threads that are no actors; see variable_client.hpp.
using client_actor = caf::typed_actor<caf::reacts_to<perform_atom, std::shared_ptr<operation_group>>,
                                      caf::reacts_to<view_atom, wire<cluster_view>>,
                                      // The session whose closures it serves is over.
                                      caf::reacts_to<dismiss_atom>>;

/// Handles that are held without CAF's class; null where there is none.
using coordinator_ptr = std::shared_ptr<const class weak_coordinator>;
using client_ptr = std::shared_ptr<const client_actor>;

using lock_step_ptr = std::shared_ptr<lock_step>;
using merge_arrival_ptr = std::shared_ptr<merge_arrival>;
using replica_result_ptr = std::shared_ptr<replica_result>;

/// Runs functions on one device, in step with other replicas; see replica.hpp.
using replica_actor = caf::typed_actor<caf::reacts_to<run_atom, lock_step_ptr>,
                                       // This replica's part of a merge_call, or why there is none.
                                       caf::reacts_to<merged_atom, std::uint64_t, replica_result_ptr>,
                                       // The lock step has failed: its function is cancelled.
                                       caf::reacts_to<cancel_atom, std::uint64_t, replica_result_ptr>>;

/// Starts lock steps on its replicas and merges what they bring; see merge_barrier.hpp.
using merge_barrier_actor = caf::typed_actor<caf::reacts_to<run_atom, lock_step_ptr>,
                                             // A replica waits in merge_call.
                                             caf::reacts_to<arrive_atom, std::uint64_t, int, merge_arrival_ptr>,
                                             // A replica's function has ended.
                                             caf::reacts_to<finished_atom, std::uint64_t, int, replica_result_ptr>,
                                             // Nobody waits for this lock step any more.
                                             caf::reacts_to<cancel_atom, std::uint64_t, replica_result_ptr>>;

}  // namespace troupe

// These never leave the process: the facade hands them to actors beside it.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::shared_ptr<::troupe::actor_link>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::shared_ptr<::troupe::closure>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::shared_ptr<const ::troupe::closure>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::shared_ptr<::troupe::operation_group>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::shared_ptr<::troupe::lock_step>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::shared_ptr<::troupe::merge_arrival>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::shared_ptr<::troupe::replica_result>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::shared_ptr<::troupe::gathering>)
