// Supervisors of the application's actors in real processes: one that gives up ends its process, in order and with a
// code of its own, and the launcher starts it again.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/launch/launcher.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <string>

#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(supervision_suite)

namespace supervision_test {

using namespace std::chrono_literals;

/// Says in which process it lives; breaks.
using fragile_actor =
    caf::typed_actor<caf::replies_to<fetch_atom>::with<std::int64_t>, caf::replies_to<cancel_atom>::with<caf::ok_atom>>;

fragile_actor::behavior_type fragile(fragile_actor::pointer) {
  return {[](fetch_atom) { return std::int64_t{::getpid()}; },
          [](cancel_atom) -> caf::result<caf::ok_atom> { throw data_loss_error{"the sensor is broken"}; }};
}

constexpr auto restarts_max = 2;

void supervise_fragile(const member& here) {
  here.at_stop([task = here.task()] { say("{} stops", to_string(task)); });
  here.supervise({.restarts_max = restarts_max, .first_pause = 1ms},
                 {{"fragile", [](member& at) { return at.spawn(fragile); }}});
}

/// Once more than its supervisor bears.
void break_it(const actor_reference<fragile_actor>& whom) {
  for (int broken = 0; broken <= restarts_max;) {
    whom.await_up(30s);
    const auto problem = status_of_call([&] { ask(whom, 10s, cancel_atom_v); });
    // Otherwise it was not there any more.
    if (problem.code() == status_code::data_loss) ++broken;
  }
}

void break_on_worker(cluster& here) {
  event_watch events{here};
  const auto whom = here.find<fragile_actor>({"worker", 0}, "fragile", 60s);
  const auto process = ask(whom, 10s, fetch_atom_v);
  break_it(whom);
  events.wait_for(event_kind::member_lost, worker_task(0));
  events.wait_for(event_kind::member_joined, worker_task(0));
  whom.await_up(30s);
  require(ask(whom, 10s, fetch_atom_v) != process, "the actor is another process's");
  say("found again");
}

const test_program breaks_on_worker{"breaks on worker", [](int argc, char** argv) {
                                      return run(argc, argv,
                                                 {.program = break_on_worker, .on_member = supervise_fragile});
                                    }};

void break_on_chief(cluster& here) {
  here.find<fragile_actor>({"worker", 0}, "fragile", 60s);
  supervise_fragile(here.here());
  break_it(here.here().follow<fragile_actor>(chief_task, "fragile"));
  here.find<fragile_actor>({"worker", 0}, "nobody", 1h);
}

const test_program breaks_on_chief{
    "breaks on chief",
    [](int argc, char** argv) { return run(argc, argv, {.program = break_on_chief, .on_member = supervise_fragile}); }};

}  // namespace supervision_test

BOOST_AUTO_TEST_CASE(a_worker_whose_supervisor_gives_up_ends_in_order_and_is_started_again) {
  using namespace std::chrono_literals;
  std::string text;
  launcher_options options;
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  options.arguments = {supervision_test::breaks_on_worker.name()};
  options.servers = 0;
  options.restart_delay = 1ms;
  options.output = [&](output_stream, std::string_view part) { text += part; };
  launcher job{options};
  job.start();
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (job.poll_once(50ms)) BOOST_REQUIRE_MESSAGE(std::chrono::steady_clock::now() < deadline, text);
  BOOST_TEST(job.exit_code().value() == exit_code::success, text);
  for (const auto* part :
       {"\"fragile\" on /job:worker/task:0 failed; it is restarted in 1 ms, restart 1 of 2 within 60000 ms: data_loss: "
        "the sensor is broken",
        "restart 2 of 2 within 60000 ms",
        // The chief's.
        "/job:worker/task:0 is lost; caused by resource_exhausted: \"fragile\" on /job:worker/task:0 failed, and its "
        "supervisor gave up: after 2 restarts within 60000 ms",
        "/job:worker/task:0 ends itself: resource_exhausted: \"fragile\"", "/job:worker/task:0 stops",
        "worker 0 ended: exit code 7; starting it again in 1 ms (1 of 10)", "found again"})
    BOOST_TEST((text.find(part) != std::string::npos), "\"" << part << "\" is missing in\n" << text);
}

BOOST_AUTO_TEST_CASE(a_chief_whose_supervisor_gives_up_ends_its_program_and_its_members) {
  process_cluster cluster{supervision_test::breaks_on_chief.name(), {.workers = 1, .servers = 0}};
  cluster.start();
  cluster.wait_for(
      "the program was ended: resource_exhausted: \"fragile\" on /job:chief/task:0 failed, and its "
      "supervisor gave up");
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 7");
  cluster.wait_for("/job:chief/task:0 stops");
  // Its own supervisor has done nothing but end.
  cluster.wait_for("/job:worker/task:0 stops");
  BOOST_TEST(to_string(cluster.end_of(worker_task(0))) == "exit code 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
