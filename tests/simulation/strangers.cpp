// A host of a simulation that is no part of the cluster and speaks troupe's messages: it gets refusals, and the job
// goes on (actors/messages/link_rules.hpp holds on simulated links, too).
#include "probe.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/actors/variables/parameter_server.hpp>
#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
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

void throw_if_refused(const status& how) {
  if (!how.ok()) throw_status(how);
}

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

// Otherwise whoever has heard a client's number could go on in its place, and the client could not.
BOOST_AUTO_TEST_CASE(a_client_of_variables_is_of_its_own_process) {
  constexpr std::uint16_t port = 7000;
  constexpr client_id client = 7;
  const auto operate = [](simulated_host& here, link_number link, std::uint64_t sequence) {
    const auto shard = remote_actor<shard_actor>(here.system(), "server", port, 2s);
    operation_batch batch{.first_open = 1, .incarnation = 1, .shard = 1};
    batch.operations.push_back(
        {.sequence = sequence, .kind = operation_kind::assign_add, .operand = tensor::of({1.0F})});
    status ended;
    ask(
        here.system(), shard, 2s, "adding",
        [&](wire<outcome_batch>& answer) { ended = answer.open().ok() ? answer->refused : status{}; }, operate_atom_v,
        client_id{client}, link_number{link}, wire<operation_batch>{batch});
    return ended;
  };
  std::vector<status> own;
  std::vector<status> strange;
  simulated_world world{{.seed = 1}};
  world.host("server", [](simulated_host& here) {
    publish_actor(here.system(),
                  here.spawn(shard, shard_order{.shard = 1, .name = "w", .initial = tensor::of({0.0F})},
                             std::uint64_t{1}, std::make_shared<session_gate>(),
                             std::make_shared<served_device>("CPU:0", 1s, 1s), parameter_server_options{}),
                  port, 1s);
  });
  world.host("client", [&](simulated_host& here) {
    for (std::uint64_t i = 1; i <= 10; ++i) {
      own.push_back(problem_of([&] { throw_if_refused(operate(here, 1, i)); }));
      sleep_for(100ms);
    }
  });
  world.host("stranger", [&](simulated_host& here) {
    sleep_for(500ms);
    for (const auto link : {link_number{1}, link_number{1} << 40})
      strange.push_back(problem_of([&] { throw_if_refused(operate(here, link, 1)); }));
  });
  world.advance(5s);
  BOOST_TEST(own.size() == 10u);
  for (const auto& each : own) BOOST_TEST(each.ok(), each.render());
  BOOST_TEST(strange.size() == 2u);
  for (const auto& each : strange) BOOST_TEST((each.code() == status_code::permission_denied), each.render());
}

// They come in pieces (link_limits::piece).
BOOST_AUTO_TEST_CASE(messages_of_any_size_arrive_whole) {
  constexpr std::uint16_t port = 7000;
  constexpr std::size_t piece = 1 << 20;
  using echo_actor = caf::typed_actor<caf::replies_to<caf::get_atom, std::string>::with<std::string>>;
  std::vector<std::size_t> sizes{1, piece - 1, piece, piece + 1, 2 * piece, 3 * piece + 12'345, 8 * piece};
  // The types and the like before it make some of these frames exactly one piece long.
  for (std::size_t less = 20; less < 80; ++less) sizes.push_back(piece - less);
  std::size_t whole = 0;
  simulated_world world{{.seed = 2}};
  world.host("server", [](simulated_host& here) {
    publish_actor(here.system(), here.spawn([](echo_actor::pointer) -> echo_actor::behavior_type {
      return {[](caf::get_atom, std::string& text) { return std::move(text); }};
    }),
                  port, 1s);
  });
  world.host("client", [&](simulated_host& here) {
    const auto server = remote_actor<echo_actor>(here.system(), "server", port, 2s);
    for (const auto size : sizes) {
      std::string text(size, 'a');
      for (std::size_t i = 0; i < size; i += 1'009) text[i] = static_cast<char>('a' + i % 23);
      ask(
          here.system(), server, 10s, "echoing", [&](const std::string& heard) { whole += heard == text ? 1 : 0; },
          caf::get_atom_v, text);
    }
  });
  world.advance(1min);
  BOOST_TEST(whole == sizes.size());
}

BOOST_AUTO_TEST_SUITE_END()
