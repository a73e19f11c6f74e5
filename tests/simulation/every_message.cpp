// One process dies after each single step of a scripted run: whatever message it had just sent or was about to take,
// everything that others wait for still ends.
#include "probe.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(every_message_suite)

namespace {

/// What a program does with a small cluster: values for each worker, operations, chains, a join.
struct script {
  explicit script(simulation& on) : cluster(on) {
    counter = cluster.make_variable<std::int64_t>("counter", 0);
    cluster.advance(1ms);
  }

  void begin() {
    for (int i = 0; i < 4; ++i) {
      values.push_back(cluster.schedule(
          [](int number, variable<std::int64_t> shared) {
            const execution here{number};
            shared.assign_add(1);
            ++observations::here().finished[number];
            return static_cast<int>(shared.read());
          },
          i, counter));
      values.push_back(cluster.schedule([](int x) { return x * 2; }, values.back()));
    }
    operations.push_back(cluster.start(counter.as_tensor().plan_read(), 20s));
    join.emplace(cluster.join());
  }

  bool all_ended() const {
    for (const auto& value : values)
      if (!ended(value)) return false;
    for (const auto& operation : operations)
      if (operation->missing != 0) return false;
    return join->ended();
  }

  simulation& cluster;
  variable<std::int64_t> counter;
  std::vector<remote_value<int>> values;
  std::vector<std::shared_ptr<operation_group>> operations;
  std::optional<eventual<bool>> join;
};

constexpr std::uint64_t seed = 11;

simulation_options small() { return {.seed = seed, .size = {.workers = 2, .servers = 1}}; }

/// How many steps the script takes when nothing fails.
std::uint64_t steps_of_script() {
  simulation cluster{small()};
  cluster.run_until_ready();
  script run{cluster};
  const auto before = cluster.steps();
  run.begin();
  BOOST_REQUIRE(cluster.run_until([&] { return run.all_ended(); }, 1s));
  return cluster.steps() - before;
}

/// The script with one process that ends after so many steps.
template <class Fail, class Check>
void sweep(Fail fail, Check check) {
  const auto last = steps_of_script();
  BOOST_TEST_REQUIRE(last > 50u);
  for (std::uint64_t k = 0; k <= last; ++k) {
    observations::here() = {};
    simulation cluster{small()};
    cluster.run_until_ready();
    script run{cluster};
    run.begin();
    for (std::uint64_t i = 0; i < k; ++i) cluster.step();
    fail(cluster);
    BOOST_TEST_INFO_SCOPE("after step " << k << " of " << last);
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return run.all_ended(); }, 10s));
    BOOST_TEST(observations::here().overlaps == 0);
    check(run);
  }
}

void all_succeeded(script& run) {
  for (const auto& value : run.values) BOOST_TEST(end_of(value).ok(), end_of(value).render());
  BOOST_TEST(run.join->problem().ok());
  // V-1: each closure that was told of its addition added once; a lost one may have added, too.
  int tried = 0;
  for (const auto& [_, count] : observations::here().started) tried += count;
  const auto total = run.cluster.read(run.counter);
  BOOST_TEST(total >= 4);
  BOOST_TEST(total <= tried);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(every_message, observed)

BOOST_AUTO_TEST_CASE(a_worker_dies_after_each_step) {  // C-1, C-3, V-1
  sweep([](simulation& cluster) { cluster.kill(worker_task(0)); }, all_succeeded);
}

BOOST_AUTO_TEST_CASE(a_worker_dies_after_each_step_and_comes_back_at_once) {  // C-1, C-3, V-1, M-2
  sweep(
      [](simulation& cluster) {
        cluster.kill(worker_task(0));
        cluster.restart(worker_task(0));
      },
      [](script& run) {
        all_succeeded(run);
        run.cluster.run_until_ready();
      });
}

BOOST_AUTO_TEST_CASE(a_worker_freezes_after_each_step_and_wakes_later) {  // C-1, C-3, V-1
  sweep(
      [](simulation& cluster) {
        freeze_worker(cluster, 0);
        cluster.advance(4s);
        thaw_worker(cluster, 0);
      },
      all_succeeded);
}

BOOST_AUTO_TEST_CASE(links_break_after_each_step) {  // C-1, V-1
  sweep(
      [](simulation& cluster) {
        cluster.break_link(server_task(0), worker_task(0));
        cluster.break_link(server_task(0), worker_task(1));
        break_worker(cluster, 0);
      },
      all_succeeded);
}

BOOST_AUTO_TEST_CASE(the_server_dies_after_each_step) {  // C-1, C-2
  sweep([](simulation& cluster) { cluster.kill(server_task(0)); },
        [](script& run) {
          const auto& answer = run.operations.front()->outcomes.front().ended;
          BOOST_TEST((answer.ok() || answer.code() == status_code::unavailable), answer.render());
          for (const auto& value : run.values) {
            const auto how = end_of(value);
            BOOST_TEST((how.ok() || how.code() == status_code::unavailable || how.code() == status_code::cancelled),
                       how.render());
          }
          BOOST_TEST(observations::here().executing() == 0u);
        });
}

BOOST_AUTO_TEST_CASE(the_chief_dies_after_each_step) {  // C-1
  sweep([](simulation& cluster) { cluster.kill(chief); },
        [](script& run) {
          for (const auto& value : run.values)
            BOOST_TEST((end_of(value).ok() || value.state() == remote_value_state::aborted));
        });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
