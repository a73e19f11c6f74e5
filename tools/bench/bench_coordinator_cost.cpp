#include "bench_coordinator_cost.hpp"
#include "bench_simulation.hpp"

#include <troupe/actors/closures/coordinator.hpp>
#include <troupe/device/base/error.hpp>

#include <caf/send.hpp>

#include <vector>

namespace troupe::tools {

namespace {

struct stand_in_state {
  /// No aggregate, which CAF would construct from the actor's pointer.
  stand_in_state() = default;
  outcome_sink coordinator;
};

/// A worker that ends every closure at once.
worker_actor::behavior_type stand_in(worker_actor::stateful_pointer<stand_in_state> self) {
  return {
      [self](admit_atom, const outcome_sink& coordinator, wire<session_terms>&) -> caf::result<worker_desk_actor> {
        self->state.coordinator = coordinator;
        return worker_desk_actor{};
      },
      [](dismiss_atom, session_id) {},
      [self](run_atom, session_id session, std::uint64_t, std::uint64_t, wire<run_orders>& message) {
        run_outcomes outcomes;
        outcomes.outcomes.reserve(message->orders.size());
        for (const auto& order : message->orders) outcomes.outcomes.push_back({.id = order.id});
        self->send(self->state.coordinator, outcome_atom_v, session, std::uint64_t{0},
                   wire<run_outcomes>{std::move(outcomes)});
      },
      [](cancel_atom, session_id, wire<cancel_orders>&) {},
      [](view_atom, wire<cluster_view>&) {},
      [](activity_atom, session_id, closure_id) { return wire<std::vector<closure_activity>>{}; },
  };
}

}  // namespace

struct coordinator_world::implementation {
  explicit implementation(int worker_count) {
    coordinator = world.system().spawn(troupe::coordinator, queue, coordinator_options{.workers = worker_count},
                                       event_bus_actor{});
    for (int i = 0; i < worker_count; ++i) {
      workers.push_back(world.system().spawn(stand_in));
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

  /// Runs everything; returns the coordinator's part of the time.
  std::int64_t run_ns() {
    std::int64_t spent = 0;
    world.run(coordinator, [&](std::int64_t took) { spent += took; });
    return spent;
  }

  bench_simulation world;
  std::shared_ptr<submission_queue> queue = std::make_shared<submission_queue>();
  coordinator_actor coordinator;
  std::vector<worker_actor> workers;
};

coordinator_world::coordinator_world(int workers) : implementation_(new implementation{workers}) {}
coordinator_world::~coordinator_world() = default;

double coordinator_world::cost_ns(std::int64_t closures) {
  static const auto no_op = function_registry::instance().id_of(registered<decltype([] {})>());
  auto& self = *implementation_;
  std::shared_ptr<closure> last;
  for (std::int64_t i = 0; i < closures; ++i) {
    last = std::make_shared<closure>(no_op, value{}, std::vector<closure_input>{}, schedule_options{});
    if (self.queue->push(last)) caf::anon_send(self.coordinator, submit_atom_v);
  }
  const auto spent = self.run_ns();
  if (!last->ended()) throw internal_error{"the simulated workers did not run all closures"};
  return static_cast<double>(spent) / static_cast<double>(closures);
}

}  // namespace troupe::tools
