// Large tensors between processes, what is over a limit, and workers and servers that are killed while they move data.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/actors/values/internal/archive.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <thread>

namespace troupe {

BOOST_AUTO_TEST_SUITE(large_values_suite)

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t large_bytes = std::int64_t{64} << 20;

tensor numbered(std::int64_t first, std::int64_t bytes = large_bytes) {
  auto result = tensor::zeros(dtype::int64, {bytes / std::int64_t{sizeof(std::int64_t)}});
  for (auto& x : result.mutable_values<std::int64_t>()) x = first++;
  return result;
}

bool is_numbered(const tensor& content, std::int64_t first) {
  for (const auto x : content.values<std::int64_t>())
    if (x != first++) return false;
  return content.size_bytes() == static_cast<std::size_t>(large_bytes);
}

tensor add_to_each(tensor content, std::int64_t increment) {
  for (auto& x : content.mutable_values<std::int64_t>()) x += increment;
  return content;
}

/// 64 MiB out and 64 MiB back for each closure.
std::vector<remote_value<tensor>> send_around(cluster_coordinator& coordinator, const tensor& content, int count) {
  std::vector<remote_value<tensor>> results;
  for (int i = 0; i < count; ++i) results.push_back(coordinator.schedule<add_to_each>(content, i));
  return results;
}

void run_moves_64_mebibytes(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto content = numbered(7);
  require(is_numbered(send_around(coordinator, content, 2)[1].get(), 8), "an argument and a result");
  const auto v = strategy.variable("v", content);
  require(is_numbered(v.read(), 7), "a new variable and a read by the chief");
  v.assign(numbered(50));
  const auto first = coordinator.schedule(
      [](tensor_variable x) {
        const auto before = x.read();
        x.assign(add_to_each(before, 50));
        return before.values<std::int64_t>()[0];
      },
      v);
  require(first.fetch() == 50 && is_numbered(v.read(), 100), "a read and an assignment by a worker");
  const auto produced = coordinator.schedule([] { return numbered(3); });
  require(is_numbered(coordinator.schedule<add_to_each>(produced, 4).get(), 7), "a result as an argument");
  say("all moved");
}

const chief_program moves_64_mebibytes{"moves 64 MiB", run_moves_64_mebibytes};

void run_moves_through_a_kill(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto content = numbered(0);
  const auto results = send_around(coordinator, content, 12);
  results[0].get();
  say("running");
  for (std::size_t i = 0; i < results.size(); ++i)
    require(is_numbered(results[i].get(), static_cast<std::int64_t>(i)), "each result is whole");
  coordinator.join(60s);
  say("all moved");
}

const chief_program moves_through_a_kill{"moves through a kill", run_moves_through_a_kill};

void run_reads_through_a_kill(cluster& here) {
  parameter_server_strategy strategy{here};
  const auto v = strategy.variable("v", numbered(5));
  status why;
  for (int i = 0; why.ok(); ++i) {
    why = status_of_call([&] {
      if (i % 2 == 0)
        require(is_numbered(v.read(), 5), "each read is whole");
      else
        v.assign(numbered(5));
    });
    if (i == 2) say("running");
  }
  say("read: {}", why.render());
}

const chief_program reads_through_a_kill{"reads through a kill", run_reads_through_a_kill};

/// 1 where all are; the sum would not say which.
bool is_all(const tensor& content, float expected) {
  const auto values = content.values<float>();
  return std::all_of(values.begin(), values.end(), [&](float x) { return x == expected; });
}

constexpr std::int64_t mebibyte_of_floats = (std::int64_t{1} << 20) / std::int64_t{sizeof(float)};

void run_shares_large_variables(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto v = strategy.variable("v", tensor::full(shape{160 * mebibyte_of_floats}, 1.0f));
  std::vector<remote_value<bool>> reads;
  for (int i = 0; i < 8; ++i)
    reads.push_back(coordinator.schedule([](tensor_variable x) { return is_all(x.read(), 1.0f); }, v));
  for (const auto& each : reads) require(each.fetch(), "a read of 160 MiB is whole");
  say("8 closures have read 160 MiB");
  const auto w = strategy.variable("w", tensor::zeros(dtype::float32, {128 * mebibyte_of_floats}));
  for (int i = 0; i < 8; ++i)
    coordinator.schedule(
        [](tensor_variable x) {
          // All begin to write when one answer has come.
          x.gather(std::vector<std::int64_t>{0});
          x.apply_gradient(optimizer::sgd(1.0), tensor::full(x.get_shape(), 1.0f));
        },
        w);
  coordinator.join(120s);
  require(is_all(w.read(), -8.0f), "each gradient of 128 MiB was applied once");
  say("8 gradients of 128 MiB");
  strategy.remove("v");
  strategy.remove("w");
  const auto large = strategy.variable("large", tensor::full(shape{1229 * mebibyte_of_floats}, 3.0f));
  require(coordinator.schedule([](tensor_variable x) { return is_all(x.read(), 3.0f); }, large).fetch(120s),
          "1.2 GiB are read whole");
  say("a variable of 1.2 GiB");
}

const chief_program shares_large_variables{"shares large variables", run_shares_large_variables};

/// Both the chief and the workers set the limit, as an application would.
tensor over_the_limit() {
  set_value_bytes_max(std::size_t{1} << 20);
  return numbered(0);
}

void run_exceeds_limits(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto tell = [](std::string_view what, auto work) { say("{}: {}", what, status_of_call(work).render()); };
  const auto raise = [&] { status_of_call([&] { coordinator.join(10s); }); };
  tell("result", [&] { coordinator.schedule<over_the_limit>().fetch(20s); });
  raise();
  set_value_bytes_max(std::size_t{1} << 20);
  tell("argument", [&] { coordinator.schedule<add_to_each>(numbered(0), 1).fetch(20s); });
  raise();
  const auto v = strategy.variable("v", tensor::zeros(dtype::float32, {2}));
  tell("shape", [&] { v.assign(tensor::zeros(dtype::float32, {3})); });
  tell("dtype", [&] { v.assign(tensor::zeros(dtype::int64, {2})); });
  require(coordinator.schedule([](int x) { return x + 1; }, 1).fetch() == 2, "the coordinator is usable after errors");
  say("went on");
}

const chief_program exceeds_limits{"exceeds limits", run_exceeds_limits};

void run_fills_the_queue(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto open = strategy.variable("open", 0);
  // None ends before the queue has been full.
  const auto held_up = [](variable<int> opened) {
    while (opened.read() == 0) {
    }
  };
  const auto full = status_of_call([&] {
    while (true) coordinator.schedule({.queue_limit = 50ms}, held_up, open);
  });
  say("full: {}", full.render());
  open.assign(1);
  // With patience there is room for everything.
  for (int i = 0; i < 20; ++i) coordinator.schedule([] {});
  coordinator.join(60s);
  say("went on");
}

const chief_program fills_the_queue{"fills the queue", run_fills_the_queue, {.queue_capacity = 10}};

bool contains(const std::string& line, std::string_view text) { return line.find(text) != std::string::npos; }

void require_line(process_cluster& cluster, std::string_view begin, std::string_view code, std::string_view text) {
  const auto line = cluster.wait_for(begin);
  BOOST_TEST(contains(line, fmt::format("{}: ", code)), line);
  BOOST_TEST(contains(line, text), line);
}

void require_orderly_end(process_cluster& cluster) {
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0");
}

}  // namespace

BOOST_AUTO_TEST_CASE(tensors_of_64_mebibytes_arrive_whole_whatever_way_they_take) {
  process_cluster cluster{moves_64_mebibytes.name()};
  cluster.start();
  cluster.wait_for("all moved");
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_CASE(many_closures_read_and_change_a_large_variable_at_once_and_one_may_be_larger_than_a_gibibyte) {
  process_cluster cluster{shares_large_variables.name(), {.workers = 1}};
  cluster.start();
  cluster.wait_for("8 closures have read 160 MiB");
  cluster.wait_for("8 gradients of 128 MiB");
  cluster.wait_for("a variable of 1.2 GiB");
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_killed_while_it_moves_data_loses_no_closure_and_damages_no_result) {
  process_cluster cluster{moves_through_a_kill.name()};
  cluster.start();
  cluster.wait_for("running");
  cluster.signal(worker_task(1), SIGKILL);
  cluster.end_of(worker_task(1));
  cluster.start(worker_task(1));
  cluster.wait_for("all moved");
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_killed_while_it_moves_data_is_unavailable_soon) {
  process_cluster cluster{reads_through_a_kill.name()};
  cluster.start();
  cluster.wait_for("running");
  const stopwatch watch;
  cluster.signal(server_task(0), SIGKILL);
  require_line(cluster, "read: ", "unavailable", "/job:ps/task:0");
  BOOST_TEST(watch.elapsed().count() < 3'000);
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_CASE(what_is_over_a_limit_or_does_not_fit_is_refused_with_what_to_do) {
  process_cluster cluster{exceeds_limits.name(), {.workers = 1}};
  cluster.start();
  require_line(cluster, "result: ", "resource_exhausted", "set_value_bytes_max");
  require_line(cluster, "argument: ", "resource_exhausted", "set_value_bytes_max");
  require_line(cluster, "shape: ", "invalid_argument", "variable \"v\"");
  require_line(cluster, "dtype: ", "invalid_argument", "variable \"v\"");
  cluster.wait_for("went on");
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_CASE(a_queue_that_stays_full_refuses_more_and_goes_on_when_there_is_room) {
  process_cluster cluster{fills_the_queue.name()};
  cluster.start();
  require_line(cluster, "full: ", "resource_exhausted", "queue_capacity");
  cluster.wait_for("went on");
  require_orderly_end(cluster);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
