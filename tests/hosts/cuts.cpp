// Links that are cut for longer than a silence may last, in both directions or one, or reset, and hosts that are
// switched off: a worker is back as soon as its link is, and nobody else waits for it.
#include "watched_job.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <csignal>

namespace troupe {

BOOST_AUTO_TEST_SUITE(cuts_suite)

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Breaks something for so long, in which the watched worker is lost, and sees how soon it is back.
template <class Break, class Mend>
void require_return_after(milliseconds time, Break break_it, Mend mend) {
  host_network network{3};
  auto cluster = watched_cluster(network, 1);
  cluster.start();
  wait_until_it_runs(cluster);
  const stopwatch broken;
  break_it(network);
  cluster.wait_for("lost", 10s);
  cluster.pass(time - broken.elapsed());
  const stopwatch mended;
  mend(network);
  require_return(cluster, mended, fmt::format("a fault of {} ms", time.count()));
  require_good_ends(cluster);
}

constexpr std::array cuts_s{3, 5, 7};

}  // namespace

BOOST_DATA_TEST_CASE(a_worker_whose_cable_was_pulled_out_is_back_as_soon_as_it_is_in_again, cuts_s, time_s) {
  require_return_after(
      std::chrono::seconds{time_s}, [](auto& network) { network.cut(watched_host); },
      [](auto& network) { network.heal(watched_host); });
}

BOOST_AUTO_TEST_CASE(a_worker_is_back_as_soon_as_the_chief_has_its_cable_again) {
  require_return_after(
      3s, [](auto& network) { network.cut(chief_host); }, [](auto& network) { network.heal(chief_host); });
}

BOOST_AUTO_TEST_CASE(a_worker_that_heard_nothing_is_back_as_soon_as_it_hears) {
  require_return_after(
      3s, [](auto& network) { network.drop(chief_host, watched_host); },
      [](auto& network) { network.pass(chief_host, watched_host); });
}

BOOST_AUTO_TEST_CASE(a_worker_that_was_not_heard_is_back_as_soon_as_it_is_heard) {
  require_return_after(
      3s, [](auto& network) { network.drop(watched_host, chief_host); },
      [](auto& network) { network.pass(watched_host, chief_host); });
}

namespace {

const chief_program short_of_patience{
    "watched job of an impatient chief", tell_of_watched_task, {.chief_silence_max = 4s}};

}  // namespace

BOOST_AUTO_TEST_CASE(a_worker_that_is_cut_off_for_longer_than_it_bears_ends_and_is_taken_in_when_it_is_started_again) {
  host_network network{3};
  auto cluster = watched_cluster(network, 1, short_of_patience.name());
  cluster.start();
  wait_until_it_runs(cluster);
  network.cut(watched_host);
  BOOST_TEST(to_string(cluster.end_of(watched_task, 15s)) == "exit code 3");
  network.heal(watched_host);
  const stopwatch watch;
  cluster.start(watched_task);
  require_return(cluster, watch, "its new start");
  require_good_ends(cluster);
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_reset_is_made_again_at_once) {
  host_network network{3};
  auto cluster = watched_cluster(network, 1);
  cluster.start();
  wait_until_it_runs(cluster);
  const stopwatch watch;
  network.reset(chief_host, watched_host);
  require_return(cluster, watch, "the reset");
  require_good_ends(cluster);
}

// --- a link that only the chief lacks -------------------------------------------------------------------------------

namespace {

/// Writes at its end, when the chief may have given its worker up.
int count_late(variable<int> counter) {
  say("closure on worker {}", current_worker_index());
  sleep_for(5s);
  const auto how = status_of_call([&] { counter.assign_add(1); });
  if (!how.ok()) {
    say("refused: {}", how.render());
    throw_status(how);
  }
  return 0;
}

void run_late_counters(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  here.wait_for({server_task(0), worker_task(0), worker_task(1)}, 30s);
  const auto counter = strategy.variable("counter", 0);
  // Who is present may be taken in by the coordinator a moment later: until then the other one would get both.
  for (int i = 0; i < 2; ++i) coordinator.schedule<current_worker_index>({.limit = 30s, .worker = i});
  coordinator.join(30s);
  for (int i = 0; i < 2; ++i) coordinator.schedule<count_late>({.limit = 60s}, counter);
  coordinator.join(60s);
  say("counted {}", counter.read());
  here.wait_for({worker_task(0)}, 30s);
}

const chief_program late_counters{"closures that write late", run_late_counters};

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_worker_writes_whom_only_the_chief_does_not_reach_does_not_count) {  // C-3
  host_network network{3};
  auto host_of = watched_places();
  host_of[server_task(0)] = other_host;
  process_cluster cluster{late_counters.name(), {.place = placed(network, host_of)}};
  cluster.start();
  for (int i = 0; i < 2; ++i) cluster.wait_for(fmt::format("closure on worker {}", i));
  network.drop(chief_host, watched_host);
  network.drop(watched_host, chief_host);
  cluster.wait_for("refused: cancelled: the chief has given up the worker that sent this operation", 20s);
  network.pass(chief_host, watched_host);
  network.pass(watched_host, chief_host);
  cluster.wait_for("counted 2", 20s);
  require_good_ends(cluster);
}

// --- a host that is switched off ------------------------------------------------------------------------------------

namespace {

void run_with_one_host_off(cluster& here) {
  here.wait_for({worker_task(0), worker_task(1)}, 30s);
  event_watch events{here};
  say("all are there");
  events.wait_for(event_kind::member_lost, worker_task(1));
  say("one is off");
  tell_of_watched_task(here);
}

const chief_program with_one_host_off{"watched job beside a host that is off", run_with_one_host_off};

}  // namespace

BOOST_AUTO_TEST_CASE(a_host_that_is_switched_off_holds_up_no_other_worker) {
  constexpr int kills = 5;
  host_network network{3};
  auto cluster = watched_cluster(network, kills, with_one_host_off.name());
  cluster.start();
  for (std::size_t i = 0; i < cluster.tasks().size(); ++i) cluster.wait_for("begins");
  cluster.wait_for("all are there");
  network.switch_off(other_host);
  cluster.signal(worker_task(1), SIGKILL);
  cluster.end_of(worker_task(1));
  cluster.wait_for("one is off");
  wait_until_it_runs(cluster);
  for (int i = 0; i < kills; ++i) {
    cluster.signal(watched_task, SIGKILL);
    cluster.end_of(watched_task);
    // While it is away, the chief tries to reach both.
    cluster.pass(500ms);
    cluster.start(watched_task);
    cluster.wait_for("begins");
    const stopwatch watch;
    require_return(cluster, watch, "it began");
  }
  require_good_ends(cluster, {worker_task(1)});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
