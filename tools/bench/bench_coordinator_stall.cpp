#include "bench_coordinator_stall.hpp"
#include "bench_simulation.hpp"

#include <troupe/actors/closures/coordinator.hpp>
#include <troupe/device/base/error.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe::tools {

namespace {

constexpr int workers_count = 1000;
constexpr std::size_t closures_count = submission_queue::capacity_default;
constexpr auto long_limit = std::chrono::hours{1};
constexpr auto short_limit = std::chrono::seconds{1};

struct keeping_worker_state {
  /// No aggregate, which CAF would construct from the actor's pointer.
  keeping_worker_state() = default;
  outcome_sink coordinator;
  /// As workers do. What they would free in this thread, the C library would put in order at the coordinator's expense.
  std::vector<wire<run_orders>> orders;
};

/// A worker that keeps closures until it is told to end them.
worker_actor::behavior_type keeping_worker(worker_actor::stateful_pointer<keeping_worker_state> self) {
  return {
      [self](admit_atom, const outcome_sink& coordinator, wire<session_terms>&) -> caf::result<worker_desk_actor> {
        self->state.coordinator = coordinator;
        return worker_desk_actor{};
      },
      [](dismiss_atom, session_id) {},
      [self](run_atom, session_id, std::uint64_t, std::uint64_t, wire<run_orders>& message) {
        self->state.orders.push_back(message);
      },
      [self](cancel_atom, session_id session, wire<cancel_orders>& message) {
        run_outcomes ended;
        ended.outcomes.reserve(message->closures.size());
        for (const auto id : message->closures)
          ended.outcomes.push_back({.id = id, .ended = {status_code::cancelled, "as it was told"}, .result = {}});
        self->send(self->state.coordinator, outcome_atom_v, session, std::uint64_t{0},
                   wire<run_outcomes>{std::move(ended)});
      },
      [](view_atom, wire<cluster_view>&) {},
      [](activity_atom, session_id, closure_id) { return wire<std::vector<closure_activity>>{}; },
  };
}

coordinator_options options_for(stalling_world::closures_are where) {
  coordinator_options options{.workers = workers_count};
  constexpr auto share = static_cast<std::uint32_t>(closures_count / workers_count + 1);
  options.windows.slots = options.windows.window_max = where == stalling_world::closures_are::in_flight ? share : 1;
  return options;
}

}  // namespace

struct stalling_world::implementation {
  explicit implementation(closures_are where) {
    coordinator = world.system().spawn(troupe::coordinator, queue, options_for(where), event_bus_actor{});
    for (int i = 0; i < workers_count; ++i) {
      workers.push_back(world.system().spawn(keeping_worker));
      member_identity who;
      who.task = {"worker", i};
      who.build_id = program_build_id();
      caf::anon_send(coordinator, up_atom_v, member_actor{}, workers.back(), wire<member_identity>{who});
    }
    world.run();
  }

  ~implementation() {
    for (const auto& worker : workers) caf::anon_send_exit(worker, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
    workers.clear();
    coordinator = nullptr;
    world.run();
    world.scheduler().clock().cancel_all();
  }

  void schedule(duration limit) {
    static const auto no_op = function_registry::instance().id_of(registered<decltype([] {})>());
    all.push_back(
        std::make_shared<closure>(no_op, value{}, std::vector<closure_input>{}, schedule_options{.limit = limit}));
    if (queue->push(all.back())) caf::anon_send(coordinator, submit_atom_v);
  }

  /// Runs everything; the longest message of the coordinator, in ms.
  double run_ms() {
    std::int64_t longest_ns = 0;
    do world.run(coordinator, [&](std::int64_t took) { longest_ns = std::max(longest_ns, took); });
    while (world.scheduler().clock().advance_time({}) != 0);
    return static_cast<double>(longest_ns) / 1e6;
  }

  void require_ended(bool all_of_them) const {
    const auto count = std::count_if(all.begin(), all.end(), [](const auto& each) { return each->ended(); });
    if (static_cast<std::size_t>(count) != (all_of_them ? all.size() : 0))
      throw internal_error{fmt::format("{} of {} closures have ended in a simulation where {} should have", count,
                                       all.size(), all_of_them ? "all" : "none")};
  }

  bench_simulation world;
  std::shared_ptr<submission_queue> queue = std::make_shared<submission_queue>();
  coordinator_actor coordinator;
  std::vector<worker_actor> workers;
  std::vector<std::shared_ptr<closure>> all;
};

stalling_world::stalling_world(closures_are where) : implementation_(new implementation{where}) {}
stalling_world::~stalling_world() = default;

double stalling_world::fill() {
  auto& self = *implementation_;
  self.schedule(short_limit);
  while (self.all.size() < closures_count) self.schedule(long_limit);
  const auto took = self.run_ms();
  self.require_ended(false);
  return took;
}

double stalling_world::lose_worker() {
  auto& self = *implementation_;
  caf::anon_send(
      self.coordinator, down_atom_v,
      wire<member_record>{{.task = {"worker", 7}, .why = {status_code::unavailable, "as the bench wants it"}}});
  const auto took = self.run_ms();
  self.require_ended(false);
  return took;
}

double stalling_world::pass_limit() {
  auto& self = *implementation_;
  self.world.scheduler().clock().advance_time(long_limit + coordinator_options{}.deadline_interval);
  const auto took = self.run_ms();
  self.require_ended(true);
  return took;
}

double stalling_world::join_after_error() {
  auto& self = *implementation_;
  self.world.scheduler().clock().advance_time(short_limit);
  self.run_ms();
  caf::anon_send(self.coordinator, drained_atom_v, std::int64_t{duration{long_limit}.count()});
  const auto took = self.run_ms();
  self.require_ended(true);
  return took;
}

}  // namespace troupe::tools
