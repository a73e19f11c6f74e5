// Parameter servers that are killed, frozen or slow: whoever needs one gets `unavailable` that names it, soon; what
// lives elsewhere is untouched; and after a restart the job goes on from a checkpoint, with the handles that it has.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

namespace troupe {

BOOST_AUTO_TEST_SUITE(server_loss_suite)

namespace {

using namespace std::chrono_literals;

/// Small enough that it ends in a second, large enough that the server is lost in the middle.
constexpr int additions = 2'000;

void add_one(const variable<std::int64_t>& counter) {
  std::this_thread::sleep_for(500us);
  counter.assign_add(1);
}

std::vector<remote_value<void>> schedule_additions(cluster_coordinator& coordinator,
                                                   const variable<std::int64_t>& counter) {
  std::vector<remote_value<void>> results;
  for (int i = 0; i < additions; ++i) results.push_back(coordinator.schedule<add_one>(counter));
  return results;
}

/// How many were acknowledged. Every other one must have failed for want of the server, or been cancelled for that.
std::int64_t count_acknowledged(const std::vector<remote_value<void>>& results) {
  std::int64_t acknowledged = 0;
  for (const auto& result : results) {
    const auto why = status_of_call([&] { result.fetch(10s); });
    if (why.ok()) ++acknowledged;
    require(why.ok() || why.code() == status_code::unavailable || why.code() == status_code::cancelled, why.render());
  }
  return acknowledged;
}

/// Waits until the server is lost, by using it: reads, closures and join all tell.
std::int64_t use_until_lost(cluster_coordinator& coordinator, const variable<std::int64_t>& counter) {
  const auto results = schedule_additions(coordinator, counter);
  results[additions / 20].fetch();
  say("running");
  status why;
  while (why.ok()) why = status_of_call([&] { counter.read(); });
  say("read: {}", why.render());
  say("join: {}", status_of_call([&] { coordinator.join(30s); }).render());
  return count_acknowledged(results);
}

void run_until_a_server_is_killed(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto lost = strategy.variable<std::int64_t>("lost", 0);
  const auto kept = strategy.variable<std::int64_t>("kept", 7);
  use_until_lost(coordinator, lost);
  say("closures: {}", status_of_call([&] { coordinator.schedule<add_one>(lost).fetch(); }).render());
  status_of_call([&] { coordinator.join(10s); });  // raises the error, unless schedule has
}

const chief_program until_a_server_is_killed{"until a server is killed", run_until_a_server_is_killed};

void run_from_a_checkpoint(cluster& here) {
  const auto& file = here.arguments().at(1);
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto first = strategy.variable<std::int64_t>("first", 100);
  const auto second = strategy.variable<std::int64_t>("second", 200);
  save_checkpoint(strategy, file, {{"epoch", "3"}});
  use_until_lost(coordinator, first);
  require(second.read() == 200, "the other server keeps its variables");
  say("waiting");
  here.wait_for({server_task(0)}, 30s);
  const auto forgotten = status_of_call([&] { first.read(); });
  require(
      forgotten.code() == status_code::unavailable && forgotten.message().find("was restarted") != std::string::npos,
      "a server that came back has not the variables: " + forgotten.render());
  require(restore_checkpoint(strategy, file).metadata.at("epoch") == "3", "the checkpoint's metadata");
  for (const auto& result : schedule_additions(coordinator, first)) result.fetch();
  coordinator.join(30s);
  say("restored to {} and {}", first.read(), second.read());
}

const chief_program from_a_checkpoint{"from a checkpoint", run_from_a_checkpoint};

void run_through_a_freeze(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto counter = strategy.variable<std::int64_t>("counter", 0);
  const auto acknowledged = use_until_lost(coordinator, counter);
  say("waiting");
  here.wait_for({server_task(0)}, 30s);
  const auto found = counter.read();
  require(found >= acknowledged && found <= additions,
          fmt::format("{} acknowledged of {} attempted, but {} applied", acknowledged, additions, found));
  schedule_additions(coordinator, counter);
  coordinator.join(30s);
  // What was sent before the freeze and not acknowledged may be applied on waking, but never twice.
  require(counter.read() >= found + additions && counter.read() <= 2 * additions, "each addition once");
  say("went on");
}

const chief_program through_a_freeze{"server freezes and wakes", run_through_a_freeze};

void run_through_a_pause(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto counter = strategy.variable<std::int64_t>("counter", 0);
  const auto results = schedule_additions(coordinator, counter);
  results[additions / 20].fetch();
  say("running");
  coordinator.join(30s);
  say("counted {}", counter.read());
}

const chief_program through_a_pause{"server pauses", run_through_a_pause};

bool contains(const std::string& line, std::string_view text) { return line.find(text) != std::string::npos; }

void require_unavailable(const std::string& line) {
  BOOST_TEST(contains(line, "unavailable: "), line);
  BOOST_TEST(contains(line, "/job:ps/task:0"), line);
}

void require_orderly_end(process_cluster& cluster) {
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0");
}

}  // namespace

BOOST_AUTO_TEST_CASE(when_a_server_is_killed_everybody_who_needs_it_hears_so_at_once_and_by_name) {
  process_cluster cluster{until_a_server_is_killed.name(), {.servers = 2}};
  cluster.start();
  cluster.wait_for("running");
  const stopwatch watch;
  cluster.signal(server_task(0), SIGKILL);
  require_unavailable(cluster.wait_for("read: "));
  BOOST_TEST(watch.elapsed().count() < 1'000);
  require_unavailable(cluster.wait_for("join: "));
  require_unavailable(cluster.wait_for("closures: "));
  BOOST_TEST(watch.elapsed().count() < 2'000);
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_CASE(after_a_server_was_started_again_the_job_goes_on_from_its_checkpoint) {
  const auto file =
      std::filesystem::temp_directory_path() / fmt::format("troupe-server-loss-{}.safetensors", ::getpid());
  process_cluster cluster{from_a_checkpoint.name(), {.servers = 2, .arguments = {file.string()}}};
  cluster.start();
  cluster.wait_for("running");
  cluster.signal(server_task(0), SIGKILL);
  cluster.wait_for("waiting");
  BOOST_TEST(to_string(cluster.end_of(server_task(0))) == "killed by SIGKILL");
  cluster.start(server_task(0));
  cluster.wait_for(fmt::format("restored to {} and 200", 100 + additions));
  require_orderly_end(cluster);
  std::filesystem::remove(file);
}

BOOST_AUTO_TEST_CASE(a_frozen_server_is_unavailable_after_the_limit_and_keeps_what_it_had_for_when_it_wakes) {
  process_cluster cluster{through_a_freeze.name()};
  cluster.start();
  cluster.wait_for("running");
  const stopwatch watch;
  cluster.signal(server_task(0), SIGSTOP);
  require_unavailable(cluster.wait_for("read: "));
  BOOST_TEST(watch.elapsed().count() > 1'000);
  BOOST_TEST(watch.elapsed().count() < 5'000);
  cluster.wait_for("waiting");
  cluster.signal(server_task(0), SIGCONT);
  cluster.wait_for("went on");
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_CASE(a_server_that_pauses_for_less_than_the_limit_loses_nothing_and_repeats_nothing) {
  process_cluster cluster{through_a_pause.name()};
  cluster.start();
  cluster.wait_for("running");
  cluster.signal(server_task(0), SIGSTOP);
  cluster.pass(500ms);
  cluster.signal(server_task(0), SIGCONT);
  cluster.wait_for(fmt::format("counted {}", additions));
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
