// The chief that freezes, dies, and starts again; the end of a cluster in order.
#include "probe.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(chief_loss_suite)

namespace {

bool all_members_ended(const simulation& cluster) {
  for (const auto& task : cluster.tasks())
    if (task != chief && cluster.running(task)) return false;
  return true;
}

simulation_options of_size(std::uint64_t seed) { return {.seed = seed, .size = {.workers = 2, .servers = 2}}; }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(chief_loss, observed)

BOOST_AUTO_TEST_CASE(nothing_is_lost_when_the_chief_freezes_for_less_than_its_members_bear) {  // C-1, C-3, V-1
  for (const auto pause : {500ms, 1600ms, 2500ms, 5000ms, 9000ms}) {
    observations::here() = {};
    ready_cluster cluster{of_size(1)};
    const auto counter = cluster.make_variable<std::int64_t>("counter", 3);
    std::vector<remote_value<int>> values;
    for (int i = 0; i < 40; ++i) values.push_back(schedule_work(cluster, i, 1s));
    cluster.advance(1500ms);
    cluster.freeze(chief);
    cluster.advance(pause);
    cluster.thaw(chief);
    for (int i = 0; i < 40; ++i) BOOST_TEST(cluster.fetch(values[static_cast<std::size_t>(i)]) == i);
    BOOST_TEST(cluster.read(counter) == 3);
    BOOST_TEST(seen.overlaps == 0);
    for (const auto& [number, count] : seen.started) BOOST_TEST(count == 1, number);
    for (const auto& task : cluster.tasks()) BOOST_TEST((task == chief || cluster.present(task)), to_string(task));
  }
}

BOOST_AUTO_TEST_CASE(members_end_when_the_chief_is_silent_for_too_long) {
  ready_cluster cluster{of_size(2)};
  for (int i = 0; i < 10; ++i) schedule_work(cluster, i, 1h);
  cluster.advance(1s);
  cluster.freeze(chief);
  const auto since = cluster.now();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return all_members_ended(cluster); }, 1min));
  BOOST_TEST((cluster.now() - since >= 9500ms));
  BOOST_TEST((cluster.now() - since <= 10500ms));
  for (const auto& task : cluster.tasks()) {
    if (task == chief) continue;
    const auto end = cluster.end_of(task);
    BOOST_TEST_REQUIRE(end.has_value());
    BOOST_TEST((end->how == member_end::kind::orphaned));
    BOOST_TEST(contains(end->why.render(), "nothing was heard of it for 10000 ms"), end->why.render());
  }
  BOOST_TEST(seen.executing() == 0u);
}

BOOST_AUTO_TEST_CASE(members_end_soon_after_the_chief_is_killed) {
  ready_cluster cluster{of_size(3)};
  const auto value = schedule_work(cluster, 1, 1h);
  const auto join = cluster.join();
  cluster.advance(1s);
  cluster.kill(chief);
  BOOST_TEST((value.state() == remote_value_state::aborted));  // C-1
  BOOST_TEST(join.ended());
  BOOST_TEST(!join.problem().ok());
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return all_members_ended(cluster); }, 2s));
  for (const auto& task : cluster.tasks())
    if (task != chief) BOOST_TEST(contains(cluster.end_of(task)->why.render(), "the chief is lost"));
  BOOST_TEST(seen.executing() == 0u);
  BOOST_CHECK_THROW(schedule_work(cluster, 2, 1s), failed_precondition_error);
}

BOOST_AUTO_TEST_CASE(a_member_that_no_chief_adopts_ends_itself) {
  auto options = of_size(4);
  options.cluster.members.adoption_limit = 20s;
  simulation cluster{options};
  cluster.kill(chief);
  BOOST_TEST(cluster.run_until([&] { return !cluster.running(worker_task(0)); }, 21s));
  BOOST_TEST((cluster.now() >= 20s));
  BOOST_TEST(contains(cluster.end_of(worker_task(0))->why.render(), "no chief came within 20000 ms"));
}

BOOST_AUTO_TEST_CASE(a_new_chief_takes_restarted_members_in_and_works) {  // M-2
  ready_cluster cluster{of_size(5)};
  schedule_work(cluster, 1, 1h);
  cluster.advance(1s);
  cluster.kill(chief);
  cluster.advance(10ms);
  // The members still belong to the old chief and refuse the new one until they have started again.
  cluster.restart(chief);
  cluster.advance(200ms);
  BOOST_TEST(!cluster.present(worker_task(0)));
  cluster.advance(5s);
  for (const auto& task : cluster.tasks())
    if (!cluster.running(task)) cluster.restart(task);
  cluster.run_until_ready();
  BOOST_TEST(cluster.fetch(schedule_work(cluster, 2, 1s)) == 2);
  BOOST_TEST(cluster.read(cluster.make_variable<std::int64_t>("v", 4)) == 4);
}

BOOST_AUTO_TEST_CASE(epochs_never_decrease_whatever_happens_to_members) {  // M-1
  ready_cluster cluster{of_size(6)};
  for (int i = 0; i < 20; ++i) {
    const auto task = i % 3 == 0 ? server_task(i % 2) : worker_task(i % 2);
    if (!cluster.running(task)) continue;
    cluster.kill(task);
    cluster.advance(i * 7ms);
    cluster.restart(task);
    cluster.advance(i * 13ms);
  }
  cluster.run_until_ready();
  BOOST_TEST(epochs_never_decrease(cluster));
  BOOST_TEST(cluster.occurrences().size() > 30u);
}

BOOST_AUTO_TEST_CASE(members_that_are_retired_end_in_order_and_say_so) {
  ready_cluster cluster{of_size(7)};
  const auto retired = cluster.retire({status_code::cancelled, "the job is done"});
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return retired.ended() && all_members_ended(cluster); }, 1s));
  BOOST_TEST(retired.problem().ok());
  for (const auto& task : cluster.tasks()) {
    if (task == chief) continue;
    BOOST_TEST((cluster.end_of(task)->how == member_end::kind::retired));
    BOOST_TEST(cluster.end_of(task)->why.message() == "the job is done");
  }
}

BOOST_AUTO_TEST_CASE(retiring_does_not_wait_for_a_frozen_member) {
  ready_cluster cluster{of_size(8)};
  cluster.freeze(worker_task(1));
  const auto since = cluster.now();
  const auto retired = cluster.retire();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return retired.ended(); }, 10s));
  BOOST_TEST((cluster.now() - since <= 2100ms));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
