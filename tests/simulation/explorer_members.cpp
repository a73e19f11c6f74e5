// Random closures of members and random failures, one course for each seed, with the invariants checked at the end; see
// explorer_seeds.hpp. Its siblings: explorer.cpp, explorer_variables.cpp, explorer_calls.cpp, explorer_replicas.cpp.
#include "explorer_cluster.hpp"

#include <troupe/actors/offers/member.hpp>
#include <troupe/runtime/remote_coordinator.hpp>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(explorer_members_suite)

namespace {

/// Seeds that once failed.
const std::vector<std::uint64_t> known_seeds{};
constexpr std::uint64_t seeds_default = 100;

struct scheduled {
  task_id by;
  int number = 0;
  remote_value<int> result;
};

struct course : cluster_course {
  explicit course(std::uint64_t seed) : cluster_course(begun(seed), true) {}

  static std::uint64_t begun(std::uint64_t seed) {
    observations::here() = {};
    return seed;
  }

  void go();
  void act();
  task_id any_member() { return draw(3) == 0 ? chief : draw(2) == 0 ? any_server() : worker_task(draw(workers)); }
  void schedule_by(const task_id& task);
  void check();
  void check_that_all_schedule_again();
  bool is_expected(const status& how) const;

  std::vector<scheduled> all;
  int last_number = 0;
};

void course::schedule_by(const task_id& task) {
  if (!cluster.running(task)) return;
  auto coordinator = cluster.here(task).coordinator();
  const schedule_options chosen{.limit = 20s, .priority = draw(3), .worker = draw(4) == 0 ? draw(workers) : -1};
  const auto number = ++last_number;
  const auto before = std::find_if(all.rbegin(), all.rend(), [&](const auto& each) { return each.by == task; });
  remote_value<int> result;
  if (const auto kind = draw(5); kind == 0) {
    result = coordinator.schedule(
        chosen,
        [](int which) -> int {
          const execution here{which};
          throw out_of_range_error{"on purpose"};
        },
        number);
  } else if (kind == 1 && before != all.rend()) {
    result = coordinator.schedule(
        chosen,
        [](int which, int input) {
          const execution here{which};
          return here.finish() + input - input;
        },
        number, before->result);
  } else {
    result = coordinator.schedule(
        chosen,
        [](int which, std::int64_t nanoseconds) {
          const execution here{which};
          sleep_for(duration{nanoseconds});
          return here.finish();
        },
        number, duration{draw(400) * 1ms}.count());
  }
  all.push_back({task, number, std::move(result)});
}

void course::act() {
  switch (draw(8)) {
    case 0:
    case 1:
      fail_something();
      return;
    case 2:
      cluster.advance(draw(4'000) * 1ms);
      return;
    case 3:
      if (!all.empty()) one_of(all).result.cancel();
      return;
    default:
      for (auto i = draw(4); i >= 0; --i) schedule_by(any_member());
      cluster.advance(draw(50) * 1ms);
  }
}

void course::go() {
  cluster.run_until_ready();
  const auto actions = 20 + draw(60);
  for (int i = 0; i < actions; ++i) act();
  heal_everything();
  const auto everything = [this] {
    return std::all_of(all.begin(), all.end(), [](const auto& each) { return ended(each.result); });
  };
  require(cluster.run_until(everything, 30s), "a closure of a member outlives its limit");
  check();
  check_that_all_schedule_again();
}

bool course::is_expected(const status& how) const {
  switch (how.code()) {
    case status_code::cancelled:
    case status_code::unavailable:
    case status_code::deadline_exceeded:
    case status_code::failed_precondition:
      return true;
    default:
      return how.ok() || contains(how.render(), "on purpose");
  }
}

void course::check() {
  cluster.run_until_ready();
  // What a lost member had scheduled is given up with it.
  cluster.advance(10s);
  see_who_is_back();
  require(observations::here().executing() == 0, "CD-2: a closure runs that nobody waits for");
  require(!cluster.error_pending(), "an error of a member's closure became one of the program's");
  for (const auto& each : all) {
    const auto how = end_of(each.result);
    require(is_expected(how), how.render());
    if (how.ok()) require(each.result.fetch() == each.number, "a closure has the result of another");
  }
}

void course::check_that_all_schedule_again() {
  all.clear();
  for (const auto& task : cluster.tasks()) {
    auto coordinator = cluster.here(task).coordinator();
    all.push_back({task, 0, coordinator.schedule({.limit = 10s}, [] { return 0; })});
  }
  cluster.advance(10s);
  for (const auto& each : all) {
    const auto how = end_of(each.result);
    require(how.ok(), to_string(each.by) + " can't schedule: " + how.render());
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_closure_of_a_member_ends_whatever_happens_to_members_and_links) {  // CD-1, CD-2
  explore_courses<course>(known_seeds, seeds_default);
}

BOOST_AUTO_TEST_SUITE_END()
