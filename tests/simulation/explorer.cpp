// Random schedules of closures and failures, one for each seed, with the invariants checked at the end; see
// explorer_seeds.hpp. Its siblings: explorer_variables.cpp, explorer_calls.cpp, explorer_replicas.cpp.
#include "explorer_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(explorer_suite)

namespace {

/// Seeds that once failed.
const std::vector<std::uint64_t> known_seeds{14, 35, 126, 175};
constexpr std::uint64_t seeds_default = 200;

/// What became of the additions to a counter. The value lies between those that were acknowledged and those that were
/// tried: an operation is applied exactly once when it is acknowledged, once or never when its sender is lost (V-1).
struct additions {
  int tried = 0;
  int acknowledged = 0;
};

additions& counted() {
  static additions one;
  return one;
}

/// The same for a variable that is so large that it travels beside the messages.
additions& counted_weights() {
  static additions one;
  return one;
}

/// So many elements travel beside the messages.
constexpr std::int64_t large = 20'000;

tensor large_tensor(int content) { return tensor::full<std::int32_t>({large}, content); }

void require_content(const tensor& x, int content) {
  for (const auto each : x.values<std::int32_t>())
    if (each != content) throw data_loss_error{"a large tensor is not what it was"};
}

struct course : cluster_course {
  using cluster_course::cluster_course;

  void go();
  void act();
  void schedule_something();
  void schedule_something_large();
  void count_end_of_last();
  void check();
  void check_weights();
  void require_expected(const status& how, bool may_be_cancelled);

  /// How often each value ended; the cluster's end ends some, too.
  std::vector<int> ends;
  std::vector<variable<std::int64_t>> counters;
  std::vector<tensor_variable> weights;
  std::optional<per_worker_values<worker_cell<int>>> own;
  std::vector<remote_value<int>> values;
  std::vector<eventual<bool>> joins;
  std::vector<std::shared_ptr<operation_group>> operations;
  int last_number = 0;
};

void course::schedule_something() {
  const auto number = ++last_number;
  const auto kind = draw(rough ? 5 : 4);
  const schedule_options chosen{.priority = draw(3), .worker = draw(4) == 0 ? draw(workers) : -1};
  if (kind == 0) {
    values.push_back(schedule_work(cluster, number, draw(400) * 1ms, chosen));
  } else if (kind == 1) {
    values.push_back(cluster.schedule(
        chosen,
        [](int which, variable<std::int64_t> counter) {
          const execution here{which};
          ++counted().tried;
          counter.assign_add(1);
          ++counted().acknowledged;
          return here.finish();
        },
        number, counters[static_cast<std::size_t>(draw(servers))]));
  } else if (kind == 2 && !values.empty()) {
    values.push_back(cluster.schedule(
        chosen,
        [](int which, int input) {
          const execution here{which};
          sleep_for(1ms);
          return here.finish() + input - input;
        },
        number, values[static_cast<std::size_t>(draw(static_cast<int>(values.size())))]));
  } else if (kind == 3) {
    values.push_back(cluster.schedule(
        chosen,
        [](int which, worker_cell<int> mine) {
          const execution here{which};
          if (mine.read() != current_worker_index()) throw data_loss_error{"C-4: the value of another worker"};
          return here.finish();
        },
        number, *own));
  } else if (kind == 4) {
    values.push_back(cluster.schedule(
        chosen,
        [](int which) -> int {
          const execution here{which};
          throw out_of_range_error{"on purpose"};
        },
        number));
  }
  count_end_of_last();
}

void course::schedule_something_large() {
  const auto number = ++last_number;
  const schedule_options chosen{.priority = draw(3), .worker = draw(4) == 0 ? draw(workers) : -1};
  switch (draw(4)) {
    case 0:
      values.push_back(cluster.schedule(
          chosen,
          [](int which, tensor content) {
            const execution here{which};
            require_content(content, which);
            return here.finish();
          },
          number, large_tensor(number)));
      break;
    case 1:
      values.push_back(cluster.schedule(
          chosen,
          [](int which, tensor content) {
            const execution here{which};
            require_content(content, which);
            return here.finish();
          },
          number, cluster.schedule([](int content) { return large_tensor(content); }, number)));
      break;
    case 2:
      // Used at once: its tensor comes later than the order for the closure.
      values.push_back(cluster.schedule(
          chosen,
          [](int which, tensor mine) {
            const execution here{which};
            require_content(mine, which);
            return here.finish();
          },
          number, cluster.create_per_worker_values([](tensor content) { return content; }, large_tensor(number))));
      break;
    case 3:
      values.push_back(cluster.schedule(
          chosen,
          [](int which, tensor_variable shared) {
            const execution here{which};
            ++counted_weights().tried;
            shared.assign_add(large_tensor(1));
            ++counted_weights().acknowledged;
            return here.finish();
          },
          number, weights[static_cast<std::size_t>(draw(servers))]));
      break;
  }
  count_end_of_last();
}

void course::count_end_of_last() {
  while (ends.size() < values.size()) {
    ends.push_back(0);
    values.back().scheduled()->on_end([this, i = ends.size() - 1] { ++ends[i]; });
  }
}

void course::act() {
  switch (draw(11)) {
    case 0:
    case 1:
    case 2:
      return schedule_something();
    case 3:
      return schedule_something_large();
    case 4:
    case 5:
      return fail_something();
    case 6:
      return cluster.advance(draw(1000) * 1ms);
    case 7:
      return cluster.advance(draw(2000) * 1us);
    case 8:
      ++counted().tried;
      operations.push_back(cluster.start(
          counters[0].as_tensor().plan_write(operation_kind::assign_add, tensor::scalar<std::int64_t>(1)), 60s));
      return;
    case 9:
      if (draw(4) == 0)
        joins.push_back(cluster.join());
      else if (!values.empty() && draw(4) == 0)
        values[static_cast<std::size_t>(draw(static_cast<int>(values.size())))].cancel();
      return;
    case 10:
      // Several at once.
      for (auto i = draw(4); i >= 0; --i) fail_something();
      return;
  }
}

void course::go() {
  cluster.run_until_ready();
  for (int i = 0; i < servers; ++i)
    counters.push_back(cluster.make_variable<std::int64_t>("counter " + std::to_string(i), 0, i));
  for (int i = 0; i < servers; ++i)
    weights.push_back(cluster.make_variable("weights " + std::to_string(i), large_tensor(0), i));
  own.emplace(cluster.create_per_worker_values([] {
    sleep_for(20ms);
    return worker_cell<int>{current_worker_index()};
  }));
  const auto actions = 20 + draw(60);
  for (int i = 0; i < actions; ++i) act();
  heal_everything();
  joins.push_back(cluster.join());
  const auto everything = [this] {
    for (const auto& value : values)
      if (!ended(value)) return false;
    for (const auto& join : joins)
      if (!join.ended()) return false;
    for (const auto& operation : operations)
      if (operation->missing != 0) return false;
    return true;
  };
  require(cluster.run_until(everything, 120s), "a closure, a join or an operation never ends");
  check();
}

void course::check() {
  cluster.run_until_ready();
  see_who_is_back();
  require(observations::here().overlaps == 0, "C-3: a closure ran on two live workers at once");
  require(observations::here().executing() == 0, "C-2: something executes after a join");
  require(epochs_never_decrease(cluster), "M-1: an epoch decreased");
  for (std::size_t i = 0; i < values.size(); ++i) {
    require(ends[i] == (ended(values[i]) ? 1 : 0), "C-1: a closure ended " + std::to_string(ends[i]) + " times");
    require_expected(end_of(values[i]), true);
  }
  for (const auto& join : joins) require_expected(join.problem(), false);
  for (const auto& operation : operations) {
    require_expected(operation->outcomes[0].ended, false);
    counted().acknowledged += operation->outcomes[0].ended.ok() ? 1 : 0;
  }
  // A server that dies takes its counter along.
  if (rough) return;
  std::int64_t total = 0;
  for (const auto& counter : counters) total += cluster.read(counter);
  require(total >= counted().acknowledged, "V-1: an acknowledged operation was not applied");
  require(total <= counted().tried, "V-1: an operation was applied twice");
  check_weights();
}

void course::check_weights() {
  std::int64_t total = 0;
  for (const auto& each : weights) {
    const auto content = cluster.read(each);
    const auto first = content.values<std::int32_t>()[0];
    require_content(content, first);
    total += first;
  }
  require(total >= counted_weights().acknowledged, "V-1: an acknowledged large operation was not applied");
  require(total <= counted_weights().tried, "V-1: a large operation was applied twice");
}

void course::require_expected(const status& how, bool may_be_cancelled) {
  const auto code = how.code();
  const auto is_expected = code == status_code::unavailable || code == status_code::deadline_exceeded ||
                           contains(how.render(), "on purpose");
  require(how.ok() || (may_be_cancelled && code == status_code::cancelled) || (rough && is_expected), how.render());
}

void explore(std::uint64_t seed, bool rough, bool is_alone) {
  observations::here() = {};
  counted() = {};
  counted_weights() = {};
  course one{seed, rough};
  try {
    one.go();
  } catch (const error& failed) {
    one.require(false, failed.what());
  }
  report(seed, one.violations());
  if (is_alone) one.show_trace();
}

void explore_all(bool rough) {
  explore_seeds(known_seeds, seeds_default, [rough](auto seed, bool is_alone) { explore(seed, rough, is_alone); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(explorer)

BOOST_AUTO_TEST_CASE(closures_and_additions_survive_whatever_happens_to_workers_and_links) {  // C-1 to C-4, M-1, V-1
  explore_all(false);
}

BOOST_AUTO_TEST_CASE(everything_ends_whatever_happens_to_servers_and_closures) {  // C-1 to C-4, M-1
  explore_all(true);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
