// Strangers that speak troupe's messages: an actor system of this process, of the same binary, that dials members of a
// job, and asks and tells them what only their chief, or nobody, may. Who is no chief gets nothing, and ends nothing.
#include "attacked_job.hpp"
#include "basp_stranger.hpp"
#include "intruder.hpp"
#include "rpc_kill_program.hpp"

#include <troupe/actors/rpc/rpc_messages.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/actors.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <caf/scoped_actor.hpp>
#include <fmt/format.h>

#include <array>
#include <csignal>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace troupe::hostile {

BOOST_AUTO_TEST_SUITE(hostile_members_suite)

namespace {

using namespace std::chrono_literals;

outcome_sink::behavior_type deaf_sink(outcome_sink::pointer) {
  return {[](outcome_atom, session_id, std::uint64_t, const wire<run_outcomes>&) {},
          [](await_atom, session_id, closure_id, const std::shared_ptr<const closure>&) {}};
}

status of_a_stranger() { return {status_code::cancelled, "a stranger says so"}; }

// --- a worker that is to have two coordinators ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_worker_is_not_taken_away_from_its_coordinator) {
  attacked_job job;
  intruder here;
  const own_actor sink{here.system().spawn(deaf_sink)};
  for (const auto index : {0, 1}) {
    const auto door = here.dial<member_actor>(job.port_of(worker_task(index)).address);
    const auto worker = here.ask<worker_actor>(door, worker_atom_v);
    if (!worker) continue;
    const auto admitted = here.ask<worker_desk_actor>(
        *worker, admit_atom_v, *sink, wire<session_terms>{{.session = 77, .worker = index, .slots = 1}});
    BOOST_TEST(!admitted.has_value(), "worker " << index << " has taken a stranger for its coordinator");
    here.tell(door, *worker, dismiss_atom_v, session_id{0});
  }
  job.check_goes_on("an admission by a stranger");
  job.check_end();
}

// --- what only the chief may say ------------------------------------------------------------------------------------

/// Says it to the door of a member.
using saying = void (*)(intruder& here, const member_actor& door);

struct named_saying {
  const char* name;
  saying say;
};

std::ostream& operator<<(std::ostream& to, const named_saying& what) { return to << what.name; }

constexpr std::array<named_saying, 4> sayings{
    {{"a view of the last epoch",
      [](intruder& here, const member_actor& door) {
        here.tell(door, door, view_atom_v,
                  wire<cluster_view>{{.epoch = std::numeric_limits<std::uint64_t>::max(), .members = {}}});
      }},
     {"a retirement",
      [](intruder& here, const member_actor& door) {
        here.ask<caf::ok_atom>(door, retire_atom_v, wire<status>{of_a_stranger()});
      }},
     {"a dismissal",
      [](intruder& here, const member_actor& door) {
        here.tell(door, door, dismiss_atom_v, wire<status>{of_a_stranger()});
      }},
     {"a leave", [](intruder& here, const member_actor& door) {
        here.tell(door, door, leave_atom_v, wire<status>{of_a_stranger()});
      }}}};

BOOST_DATA_TEST_CASE(a_member_obeys_its_own_chief_only, sayings, what) {
  attacked_job job;
  intruder here;
  for (const auto& port : job.ports())
    if (port.task != chief_task) what.say(here, here.dial<member_actor>(port.address));
  job.check_goes_on(what.name);
  job.check_end();
}

// --- exit messages --------------------------------------------------------------------------------------------------

constexpr std::array exit_reasons{caf::exit_reason::user_shutdown, caf::exit_reason::kill};
/// The shards of a small job have numbers below this.
constexpr std::uint64_t shards_max = 16;

void end_shards(intruder& here, const attacked_job& job, const parameter_server_actor& server, caf::exit_reason why) {
  for (std::uint64_t number = 0; number < shards_max; ++number)
    if (const auto shard = here.ask<shard_actor>(server, find_atom_v, job.server_incarnation(), number))
      here.end(*shard, why);
}

BOOST_AUTO_TEST_CASE(exit_messages_of_strangers_end_no_door) {
  attacked_job job;
  intruder here;
  for (const auto reason : exit_reasons) {
    for (const auto& port : job.ports()) here.end(here.dial<member_actor>(port.address), reason);
    job.check_goes_on("exit messages to the doors: " + to_string(reason));
  }
  // Who has lost its door works on, and is found by nobody any more.
  for (const auto& port : job.ports())
    if (port.task != chief_task)
      BOOST_TEST(
          here.ask<std::uint64_t>(here.dial<member_actor>(port.address), alive_atom_v, std::uint64_t{5}).has_value(),
          to_string(port.task) << " has no door");
  job.check_end();
}

BOOST_AUTO_TEST_CASE(exit_messages_of_strangers_end_no_shard_and_no_role) {
  attacked_job job;
  intruder here;
  const auto door_of = [&](const task_id& task) { return here.dial<member_actor>(job.port_of(task).address); };
  for (const auto reason : exit_reasons) {
    if (const auto server = here.ask<parameter_server_actor>(door_of(server_task(0)), server_atom_v)) {
      end_shards(here, job, *server, reason);
      job.check_goes_on("exit messages to the shards: " + to_string(reason));
      here.end(*server, reason);
    }
    for (const auto index : {0, 1})
      if (const auto worker = here.ask<worker_actor>(door_of(worker_task(index)), worker_atom_v))
        here.end(*worker, reason);
    job.check_goes_on("exit messages to the roles: " + to_string(reason));
  }
  job.check_end();
}

/// By their numbers: nobody needs a handle.
BOOST_AUTO_TEST_CASE(exit_messages_of_strangers_end_no_actor_at_all) {
  constexpr caf::actor_id actors_max = 100;
  attacked_job job;
  intruder here;
  std::mt19937 random{6};
  for (const auto reason : exit_reasons) {
    const auto content = basp::content_of(here.system(), caf::make_message(caf::exit_msg{{}, caf::make_error(reason)}));
    for (const auto& port : job.ports()) {
      basp::stranger visitor{port.address};
      BOOST_TEST(visitor.greet(basp::made_up_node(random)).has_value());
      for (caf::actor_id actor = 1; actor <= actors_max; ++actor)
        visitor.say(basp::frame({basp::message_type::direct_message, 0, 0, basp::ordinary, 0, actor}, content));
      BOOST_TEST(visitor.end());
    }
    job.check_goes_on("exit messages to all numbers: " + to_string(reason));
  }
  job.check_end();
}

// --- a client of remote procedures ----------------------------------------------------------------------------------

rpc::connection_actor::behavior_type quiet_client(rpc::connection_actor::pointer) {
  return {
      [](alive_atom, std::uint64_t number) { return number; },
      [](suspect_atom, std::uint64_t, const wire<status>&) {},
      [](dismiss_atom, std::uint64_t) {},
      [](submit_atom) {},
  };
}

rpc::reply_sink::behavior_type quiet_inbox(rpc::reply_sink::pointer) {
  return {[](outcome_atom, std::uint64_t, const wire<rpc::call_replies>&) {}};
}

/// Where the calls of a client go.
std::vector<rpc::executor_actor> executors_for(intruder& here, const rpc::door_actor& door,
                                               const rpc::connection_actor& client, const rpc::reply_sink& inbox) {
  std::vector<rpc::executor_actor> executors;
  const caf::scoped_actor self{here.system()};
  self->request(door, intruder::dial_max, admit_atom_v, client, inbox, wire<rpc::client_hello>{{.name = "intruder"}})
      .receive(
          [&](const std::vector<rpc::executor_actor>& given, const wire<rpc::server_welcome>&) { executors = given; },
          [](const caf::error&) {});
  return executors;
}

/// Forgets what has come, so that the line means calls that were made from now on.
void expect_calls_are_served(process_cluster& cluster) {
  cluster.pass(1ms);
  while (cluster.has("served")) cluster.wait_for("served");
  for (auto i = 0; i < 2; ++i) cluster.wait_for("served", 20s);
}

/// What one client does to the executors and to the door.
using misdeed = void (*)(intruder& here, const rpc::door_actor& door,
                         const std::vector<rpc::executor_actor>& executors);

struct named_misdeed {
  const char* name;
  misdeed commit;
};

std::ostream& operator<<(std::ostream& to, const named_misdeed& what) { return to << what.name; }

template <caf::exit_reason Why>
void end_executors(intruder& here, const rpc::door_actor&, const std::vector<rpc::executor_actor>& executors) {
  for (const auto& each : executors) here.end(each, Why);
}

template <caf::exit_reason Why>
void end_door(intruder& here, const rpc::door_actor& door, const std::vector<rpc::executor_actor>&) {
  here.end(door, Why);
}

void retire_executors(intruder& here, const rpc::door_actor&, const std::vector<rpc::executor_actor>& executors) {
  for (const auto& each : executors) here.ask<caf::ok_atom>(each, retire_atom_v, wire<status>{of_a_stranger()});
}

/// Sessions count up: those of others are easily guessed.
void dismiss_others(intruder& here, const rpc::door_actor& door, const std::vector<rpc::executor_actor>& executors) {
  constexpr std::uint64_t sessions_max = 100;
  const caf::scoped_actor self{here.system()};
  for (std::uint64_t session = 0; session < sessions_max; ++session) {
    self->send(door, dismiss_atom_v, session);
    for (const auto& each : executors) self->send(each, dismiss_atom_v, session);
  }
}

constexpr std::array<named_misdeed, 6> misdeeds{{
    {"retires the executors", retire_executors},
    {"shuts the executors down", end_executors<caf::exit_reason::user_shutdown>},
    {"kills the executors", end_executors<caf::exit_reason::kill>},
    {"shuts the door down", end_door<caf::exit_reason::user_shutdown>},
    {"kills the door", end_door<caf::exit_reason::kill>},
    {"dismisses the others", dismiss_others},
}};

BOOST_DATA_TEST_CASE(a_client_does_not_end_the_calls_of_others, misdeeds, what) {
  process_cluster cluster{rpc::kill_program, {.workers = 1, .arguments = {"caf"}}};
  cluster.start(server_task(0));
  cluster.wait_for("serving");
  cluster.start(worker_task(0));
  expect_calls_are_served(cluster);
  {
    intruder here;
    const auto door = here.dial<rpc::door_actor>(cluster.config(server_task(0)).cluster.address(server_task(0)));
    BOOST_REQUIRE(door);
    const own_actor client{here.system().spawn(quiet_client)};
    const own_actor inbox{here.system().spawn(quiet_inbox)};
    const auto executors = executors_for(here, door, *client, *inbox);
    BOOST_TEST(!executors.empty());
    what.commit(here, door, executors);
    expect_calls_are_served(cluster);
  }
  expect_calls_are_served(cluster);
  for (const auto* text : {"failed", "WRONG", "HANGS"}) BOOST_TEST(!cluster.has(text), cluster.output());
  for (const auto& task : {worker_task(0), server_task(0)}) {
    cluster.signal(task, SIGTERM);
    BOOST_TEST(to_string(cluster.end_of(task)) == "exit code 0");
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::hostile
