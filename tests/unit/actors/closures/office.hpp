// A coordinator with stand-ins for its workers, which answer when the test says so, all in virtual time.
#pragma once

#include "support/held_transport.hpp"
#include "support/virtual_system.hpp"

#include <troupe/actors/closures/coordinator.hpp>
#include <troupe/actors/fibers/fault.hpp>

#include <caf/typed_event_based_actor.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe {

/// What a stand-in for a worker was sent: sessions it was admitted to, and closures of each.
struct heard_by_worker {
  outcome_sink coordinator;
  std::vector<session_id> sessions;
  std::vector<std::pair<session_id, closure_id>> orders;
  /// What each of them had left of its time.
  std::vector<duration> times_left;
  /// Messages in which they came.
  int messages = 0;
  /// Per-worker values that it was to build, in each session.
  std::vector<std::pair<session_id, resource_id>> builds;
  std::vector<closure_id> cancelled;
  /// What it says of its closures.
  std::vector<closure_activity> activities;
  /// Its thread is in a closure: it hears nothing.
  bool busy = false;
  /// What its process was told when it was asked to end.
  std::vector<status> dismissals;
  /// What it was asked to give back, and what its desk says to that: orders are known by their numbers, and what it
  /// does not name has begun.
  std::vector<order_recall> recalls;
  recalled_orders gives;
  bool desk_answers = true;
};

inline worker_desk_actor::behavior_type stand_in_desk(worker_desk_actor::pointer self,
                                                      std::shared_ptr<heard_by_worker> heard) {
  return {[self, heard](recall_atom, session_id, wire<order_recall>& recall) -> caf::result<wire<recalled_orders>> {
    heard->recalls.push_back(*recall);
    if (heard->desk_answers) return wire<recalled_orders>{heard->gives};
    return self->make_response_promise<caf::typed_response_promise<wire<recalled_orders>>>();
  }};
}

inline worker_actor::behavior_type stand_in(worker_actor::pointer self, std::shared_ptr<heard_by_worker> heard) {
  const worker_desk_actor desk = self->spawn<caf::linked>(stand_in_desk, heard);
  return {[self, heard, desk](admit_atom, const outcome_sink& coordinator,
                              wire<session_terms>& terms) -> caf::result<worker_desk_actor> {
            if (heard->busy) return self->make_response_promise<caf::typed_response_promise<worker_desk_actor>>();
            heard->coordinator = coordinator;
            heard->sessions.push_back(terms->session);
            return desk;
          },
          [](dismiss_atom, session_id) {},
          [heard](run_atom, session_id session, std::uint64_t, std::uint64_t, wire<run_orders>& message) {
            ++heard->messages;
            for (const auto& each : message->orders) {
              if (each.builds != 0) {
                heard->builds.emplace_back(session, each.builds);
                continue;
              }
              heard->orders.emplace_back(session, each.id);
              heard->times_left.emplace_back(each.deadline_ns);
            }
          },
          [heard](cancel_atom, session_id, wire<cancel_orders>& message) {
            const auto& closures = message->closures;
            heard->cancelled.insert(heard->cancelled.end(), closures.begin(), closures.end());
          },
          [](view_atom, wire<cluster_view>&) {},
          [self, heard](activity_atom, session_id, closure_id) -> caf::result<wire<std::vector<closure_activity>>> {
            if (!heard->busy) return wire<std::vector<closure_activity>>{heard->activities};
            return self->make_response_promise<caf::typed_response_promise<wire<std::vector<closure_activity>>>>();
          }};
}

inline member_actor::behavior_type stand_in_door(member_actor::pointer, std::shared_ptr<heard_by_worker> heard) {
  return {[](adopt_atom, const membership_actor&, wire<adoption>&) { return wire<member_identity>{}; },
          [](worker_atom) { return worker_actor{}; },
          [](server_atom) { return parameter_server_actor{}; },
          [](leave_atom, wire<status>&) {},
          [](waits_atom) { return wire<process_waits>{}; },
          [](why_atom, std::int64_t) { return wire<cluster_waits>{}; },
          [](find_atom, const std::string&, std::int64_t) -> caf::result<caf::strong_actor_ptr, wire<actor_interface>> {
            return make_error(status{status_code::not_found, "no actor is offered here"});
          },
          [](alive_atom, std::uint64_t number) { return number; },
          [](view_atom, wire<cluster_view>&) {},
          [](retire_atom, wire<status>&) { return caf::ok_atom_v; },
          [heard](dismiss_atom, wire<status>& why) { heard->dismissals.push_back(*why); }};
}

/// Whether and how a join was answered.
struct join_answer {
  bool given = false;
  /// Not within its limit.
  bool late = false;
  status problem;
};

constexpr duration never_ends = duration::max();

inline int unused(int number) { return number; }

struct office : virtual_system {
  struct desk {
    std::shared_ptr<heard_by_worker> heard = std::make_shared<heard_by_worker>();
    worker_actor worker;
    member_actor door;
    std::uint64_t incarnation = 0;
  };

  explicit office(coordinator_options options = {}) {
    queue = std::make_shared<submission_queue>(4'000'000);
    handle = spawn(coordinator, queue, options, event_bus_actor{});
    for (int i = 0; i < options.workers; ++i) {
      auto& added = desks.emplace_back();
      added.worker = spawn(stand_in, added.heard);
      added.door = spawn(stand_in_door, added.heard);
    }
  }
  ~office() {
    for (auto& each : desks) each.heard->coordinator = nullptr;
  }

  heard_by_worker& heard(int worker = 0) { return *desks.at(static_cast<std::size_t>(worker)).heard; }
  session_id session(int worker = 0) { return heard(worker).sessions.back(); }

  /// The worker comes, as a new process; of another binary, if it is foreign.
  void up(int worker = 0, bool foreign = false) {
    auto& its = desks.at(static_cast<std::size_t>(worker));
    send_up({"worker", worker}, ++its.incarnation, its, foreign);
  }
  void send_up(const task_id& task, std::uint64_t incarnation, const desk& its, bool foreign = false) {
    caf::anon_send(handle, up_atom_v, its.door, its.worker,
                   wire<member_identity>{
                       {.task = task, .incarnation = incarnation, .build_id = program_build_id() + (foreign ? 1 : 0)}});
    run();
  }
  void down(int worker = 0) { send_down({"worker", worker}, desks.at(static_cast<std::size_t>(worker)).incarnation); }
  void send_down(const task_id& task, std::uint64_t incarnation) {
    caf::anon_send(handle, down_atom_v,
                   wire<member_record>{{.task = task,
                                        .address = {},
                                        .incarnation = incarnation,
                                        .why = {status_code::unavailable, "it is lost"}}});
    run();
  }

  std::shared_ptr<closure> make(schedule_options options = {}, std::vector<closure_input> inputs = {}) {
    return std::make_shared<closure>(function_registry::instance().id_of(registered<unused, int>()),
                                     value::of(std::tuple{1}), std::move(inputs), options);
  }
  std::shared_ptr<closure> schedule(schedule_options options = {}, std::vector<closure_input> inputs = {}) {
    auto result = make(options, std::move(inputs));
    push(result);
    run();
    return result;
  }
  void push(const std::shared_ptr<closure>& scheduled) {
    if (queue->push(scheduled)) caf::anon_send(handle, submit_atom_v);
  }
  void cancel(const std::shared_ptr<closure>& unwanted) {
    caf::anon_send(handle, cancel_atom_v, unwanted);
    run();
  }

  /// The same; true when nothing of the closure runs any more, or an error has come.
  const bool& cancel_and_hear(const std::shared_ptr<closure>& unwanted) {
    auto& over = overs_.emplace_back(false);
    scheduler().inline_next_enqueue();
    spawn([this, &over, unwanted](caf::event_based_actor* self) {
      self->request(handle, caf::infinite, cancel_atom_v, unwanted)
          .then([&over](caf::ok_atom) { over = true; }, [&over](caf::error&) { over = true; });
    });
    run();
    return over;
  }

  /// Asks for a join, whose answer comes when it comes.
  const join_answer& join(duration limit = never_ends) {
    const auto& answer = ask_for_join(limit);
    run();
    return answer;
  }
  /// The same, but the coordinator has not looked at it yet when this returns.
  const join_answer& ask_for_join(duration limit = never_ends) {
    auto& answer = joins_.emplace_back();
    scheduler().inline_next_enqueue();
    spawn([this, &answer, limit](caf::event_based_actor* self) {
      self->request(handle, caf::infinite, drained_atom_v, std::int64_t{limit.count()})
          .then(
              [&answer](bool all) { answer = {.given = true, .late = !all, .problem = {}}; },
              [&answer](caf::error& failed) { answer = {.given = true, .late = false, .problem = status_of(failed)}; });
    });
    return answer;
  }

  void outcome(session_id session, closure_id id, const tensor& result) {
    send(session, {.outcomes = {{.id = id, .ended = {}, .result = value::of(result)}}, .session_ended = {}});
  }
  void send(session_id session, run_outcomes message, int worker = 0, std::uint64_t heard_of = 0) {
    caf::send_as(desks.at(static_cast<std::size_t>(worker)).worker, handle, outcome_atom_v, session, heard_of,
                 from_elsewhere(std::move(message)));
    run();
  }
  /// The worker ends its order of this number, in its present session.
  void end(int worker, std::size_t order, const status& ended = {}) {
    send(session(worker), {.outcomes = {{.id = heard(worker).orders.at(order).second, .ended = ended, .result = {}}}},
         worker);
  }

  installed_transport transport;
  std::deque<desk> desks;
  std::shared_ptr<submission_queue> queue;
  coordinator_actor handle;

 private:
  std::deque<join_answer> joins_;
  std::deque<bool> overs_;
};

}  // namespace troupe
