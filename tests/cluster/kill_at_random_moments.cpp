// Any process of a cluster, killed or frozen at any moment: nothing hangs, no acknowledged assignment is lost, and what
// is lost is announced (counting_program.hpp says what exactly is checked after each fault).
//
// TROUPE_KILL_ROUNDS: how many faults; TROUPE_KILL_SEED: the seed of their choice, which a failure prints.
#include "counting_program.hpp"
#include "process_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(kill_at_random_moments_suite)

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Arguments: the number of the first round, and a file whose coming into being ends the program after a round.
void run_counts(cluster& here) {
  auto round = std::stoi(here.arguments().at(1));
  const std::filesystem::path enough{here.arguments().at(2)};
  counting_program program{here};
  while (!std::filesystem::exists(enough)) program.run(round++);
}

/// How long a member waits for a chief. A member that was started again just before its chief is killed has none yet.
constexpr auto adoption_limit = 10s;

const chief_program counts{"counts", run_counts, {.members = {.adoption_limit = adoption_limit}}};

int number_from_environment(const char* name, int otherwise) {
  const auto* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoi(text);
}

struct fault {
  task_id victim;
  milliseconds delay;
  /// Zero: it is killed.
  milliseconds frozen;
};

std::string to_string(const fault& what) {
  const auto how = what.frozen == 0ms ? std::string{"killed"} : fmt::format("frozen for {} ms", what.frozen.count());
  return fmt::format("{} is {} after {} ms", to_string(what.victim), how, what.delay.count());
}

/// Freezes end before and after everybody's limits, except that the chief's members are more patient than that.
fault draw(std::mt19937& random, const std::vector<task_id>& tasks) {
  constexpr auto delay_max_ms = 400;
  constexpr auto frozen_max_ms = 3'000;
  fault what;
  what.victim = tasks[random() % tasks.size()];
  what.delay = milliseconds{random() % delay_max_ms};
  what.frozen = milliseconds{random() % 2 == 0 ? 0 : 1 + random() % frozen_max_ms};
  return what;
}

/// Members that have lost their chief, or never had one, end by themselves; then everything is started again.
void replace_chief(process_cluster& cluster) {
  for (const auto& task : cluster.tasks())
    if (task != chief_task) BOOST_TEST(to_string(cluster.end_of(task, adoption_limit + 5s)) == "exit code 3");
  cluster.start();
}

void commit(process_cluster& cluster, const fault& what) {
  cluster.pass(what.delay);
  if (what.frozen != 0ms) {
    cluster.signal(what.victim, SIGSTOP);
    cluster.pass(what.frozen);
    cluster.signal(what.victim, SIGCONT);
  } else {
    cluster.signal(what.victim, SIGKILL);
    cluster.end_of(what.victim);
    what.victim == chief_task ? replace_chief(cluster) : cluster.start(what.victim);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(killing_or_freezing_any_process_at_any_moment_hangs_nothing_and_loses_no_acknowledged_assignment) {
  const auto rounds = number_from_environment("TROUPE_KILL_ROUNDS", 20);
  const auto seed = number_from_environment("TROUPE_KILL_SEED", static_cast<int>(std::random_device{}() >> 1));
  BOOST_TEST_MESSAGE("TROUPE_KILL_SEED=" << seed);
  std::mt19937 random{static_cast<std::mt19937::result_type>(seed)};
  const auto enough = std::filesystem::temp_directory_path() / fmt::format("troupe-enough-{}", ::getpid());
  process_cluster cluster{counts.name(), {.servers = 2, .arguments = {"0", enough.string()}}};
  cluster.start();
  for (int round = 0; round < rounds; ++round) {
    const auto what = draw(random, cluster.tasks());
    cluster.set_arguments({std::to_string(round + 1), enough.string()});
    std::string line = "the chief is new";
    BOOST_TEST_CONTEXT("TROUPE_KILL_SEED=" << seed << ", round " << round << ": " << to_string(what)) {
      cluster.wait_for(fmt::format("round {} begins", round));
      commit(cluster, what);
      if (what.victim != chief_task || what.frozen != 0ms) line = cluster.wait_for(fmt::format("round {} ends", round));
    }
    BOOST_TEST_MESSAGE(to_string(what) << "; " << line);
  }
  std::ofstream{enough} << "enough";
  for (const auto& task : cluster.tasks()) BOOST_TEST(to_string(cluster.end_of(task)) == "exit code 0");
  std::filesystem::remove(enough);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
