// A host of a simulation that is no part of the cluster and speaks troupe's messages: it gets refusals, and the job
// goes on (actors/messages/link_rules.hpp holds on simulated links, too).
#include "probe.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/remote_actors.hpp>
#include <troupe/runtime/run.hpp>
#include <troupe/runtime/simulation/simulated_member.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <string>
#include <vector>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(strangers_suite)

using namespace troupe;

namespace {

const status by_stranger{status_code::cancelled, "a stranger says so"};

/// What came of it.
struct visit {
  status retired;
  status admitted;
  status created;
  int knocked = 0;
};

member_actor door_of(simulated_host& here, const task_id& task) {
  return remote_actor<member_actor>(here.system(), host_of(task), members_port, 2s);
}

/// Tries all that would stop the job, or have its worker for itself.
void disturb(simulated_host& here, visit& seen) {
  auto& system = here.system();
  const auto worker_door = door_of(here, {"worker", 0});
  const auto server_door = door_of(here, {"ps", 0});
  for (const auto& door : {worker_door, server_door}) {
    seen.retired = problem_of([&] {
      ask(
          system, door, 1s, "retiring", [](caf::ok_atom) {}, retire_atom_v, wire<status>{by_stranger});
    });
    caf::anon_send(door, dismiss_atom_v, wire<status>{by_stranger});
    caf::anon_send(door, leave_atom_v, wire<status>{by_stranger});
    caf::anon_send(door, view_atom_v, wire<cluster_view>{{.epoch = ~std::uint64_t{0}, .members = {}}});
    caf::anon_send_exit(door, caf::exit_reason::kill);
    ++seen.knocked;
  }
  seen.admitted = problem_of([&] {
    ask(
        system, worker_door, 1s, "asking for the worker", [](const worker_actor&) {}, worker_atom_v);
  });
  parameter_server_actor server;
  ask(
      system, server_door, 1s, "asking for the server", [&](const parameter_server_actor& it) { server = it; },
      server_atom_v);
  seen.created = problem_of([&] {
    ask(
        system, server, 1s, "making a shard", [](caf::ok_atom) {}, create_atom_v, std::uint64_t{1},
        wire<shard_orders>{});
  });
  caf::anon_send_exit(server, caf::exit_reason::kill);
}

/// Counts with both roles, longer than the stranger tries.
void count(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto counter = strategy.variable<std::int64_t>("counter", 0);
  constexpr auto rounds = 50;
  for (auto i = 0; i < rounds; ++i) {
    coordinator.schedule([](variable<std::int64_t> shared) { shared.assign_add(1); }, counter);
    sleep_for(100ms);
  }
  coordinator.join(10s);
  if (counter.read() != rounds) throw internal_error{"some additions are lost"};
  for (const auto& each : here.view().members)
    if (each.state != member_presence::present) throw internal_error{to_string(each.task) + " is lost"};
}

scenario job_with_stranger(visit& seen) {
  return [&seen](simulated_world& world) {
    world.host("stranger", [&seen](simulated_host& here) {
      sleep_for(1s);
      disturb(here, seen);
    });
    run_options program;
    program.program = count;
    program.size = {.workers = 1, .servers = 1};
    simulate(world, program, 1min);
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_stranger_gets_refusals_and_the_job_goes_on) {
  visit seen;
  const auto result = explore(job_with_stranger(seen), {.runs = 20});
  BOOST_TEST(!result.found.has_value(), (result.found ? result.found->report() : std::string{}));
  BOOST_TEST(seen.knocked == 2 * 20);
  BOOST_TEST((seen.retired.code() == status_code::permission_denied), seen.retired.render());
  BOOST_TEST(seen.retired.render().find("takes \"retire\" from its chief only") != std::string::npos,
             seen.retired.render());
  BOOST_TEST((seen.admitted.code() == status_code::permission_denied), seen.admitted.render());
  BOOST_TEST((seen.created.code() == status_code::permission_denied), seen.created.render());
}

BOOST_AUTO_TEST_SUITE_END()
