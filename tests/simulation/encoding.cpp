// Arguments and results whose own code fails while they are made into bytes: an error for the one closure concerned.
#include "probe.hpp"

#include <boost/test/unit_test.hpp>

#include <new>
#include <stdexcept>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(encoding_suite)

namespace {

/// A user's type that can't be encoded when it holds a certain number.
struct moody {
  static constexpr int throws_exception = 1;
  static constexpr int throws_bad_alloc = 2;
  static constexpr int throws_anything = 3;

  int mood = 0;

  template <class Archive>
  void save(Archive& archive) const {
    if (mood == throws_exception) throw std::runtime_error{"not in the mood"};
    if (mood == throws_bad_alloc) throw std::bad_alloc{};
    if (mood == throws_anything) throw 7;
    archive(mood);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(mood);
  }
};

constexpr std::array moods{moody::throws_exception, moody::throws_bad_alloc, moody::throws_anything};

/// One place, so that a place which is not given back is missed.
simulation_options one_place() {
  simulation_options result{.seed = 1, .size = {.workers = 1, .servers = 0}};
  result.cluster.coordinator.windows = {.slots = 1, .window_max = 1};
  return result;
}

remote_value<int> take(simulation& cluster, int mood) {
  return cluster.schedule([](moody x) { return x.mood; }, moody{mood});
}

remote_value<moody> give(simulation& cluster, int mood) {
  return cluster.schedule([](int x) { return moody{x}; }, mood);
}

/// Raises what is pending.
status raise(simulation& cluster) {
  const auto join = cluster.join();
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return join.ended(); }, 1s));
  return join.problem();
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_argument_that_can_not_be_encoded_fails_its_closure_and_no_other) {  // C-1
  ready_cluster cluster{one_place()};
  for (const auto mood : moods) {
    const auto before = take(cluster, 0);
    const auto fails = take(cluster, mood);
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return ended(before) && ended(fails); }, 1s));
    BOOST_TEST(cluster.fetch(before) == 0);
    const auto why = end_of(fails).render();
    BOOST_TEST(contains(why, "could not be sent to /job:worker/task:0"), why);
    if (mood == moody::throws_exception) BOOST_TEST(contains(why, "not in the mood"), why);
    if (mood == moody::throws_bad_alloc) BOOST_TEST(contains(why, "resource_exhausted"), why);
    BOOST_TEST(!raise(cluster).ok());
    // Its place on the worker is free again.
    BOOST_TEST(cluster.fetch(take(cluster, 9)) == 9);
  }
  BOOST_TEST(cluster.occurrences().size() > 0u);
}

BOOST_AUTO_TEST_CASE(among_many_in_one_message_only_those_fail_that_can_not_be_encoded) {
  ready_cluster cluster{{.seed = 2, .size = {.workers = 1, .servers = 0}}};
  std::vector<remote_value<int>> all;
  for (int i = 0; i < 8; ++i) all.push_back(take(cluster, i % 4 == 1 ? moody::throws_exception : 100 + i));
  cluster.advance(100ms);
  for (std::size_t i = 0; i < 8; ++i) BOOST_TEST(end_of(all[i]).ok() == (i % 4 != 1), i);
}

BOOST_AUTO_TEST_CASE(a_result_that_can_not_be_encoded_fails_its_closure_and_its_worker_lives) {  // C-1
  ready_cluster cluster{one_place()};
  for (const auto mood : moods) {
    const auto fails = give(cluster, mood);
    BOOST_TEST_REQUIRE(cluster.run_until([&] { return ended(fails); }, 1s));
    const auto why = end_of(fails).render();
    BOOST_TEST(contains(why, "the closure's result could not be sent"), why);
    if (mood == moody::throws_exception) BOOST_TEST(contains(why, "not in the mood"), why);
    BOOST_TEST(!raise(cluster).ok());
    BOOST_TEST(cluster.fetch(give(cluster, 9)).mood == 9);
  }
  for (const auto& each : cluster.occurrences()) BOOST_TEST((each.what.kind != event_kind::member_lost));
}

BOOST_AUTO_TEST_CASE(a_per_worker_value_that_can_not_be_encoded_fails_whoever_uses_it) {
  ready_cluster cluster{{.seed = 3, .size = {.workers = 2, .servers = 0}}};
  const auto values = cluster.create_per_worker_values([](moody x) { return x.mood; }, moody{moody::throws_exception});
  const auto at_once = cluster.schedule([](int x) { return x; }, values);
  cluster.advance(100ms);
  const auto later = cluster.schedule([](int x) { return x; }, values);
  const auto innocent = take(cluster, 5);
  cluster.advance(100ms);
  const auto why = end_of(at_once).render();
  BOOST_TEST(contains(why, "could not be sent to the workers"), why);
  BOOST_TEST(contains(why, "not in the mood"), why);
  BOOST_TEST(!raise(cluster).ok());
  BOOST_TEST(ended(later));
  BOOST_TEST(ended(innocent));
  BOOST_TEST(cluster.fetch(take(cluster, 5)) == 5);
  const auto again = cluster.schedule([](int x) { return x; }, values);
  cluster.advance(100ms);
  BOOST_TEST(contains(end_of(again).render(), "not in the mood"), end_of(again).render());
}

BOOST_AUTO_TEST_SUITE_END()
