// Datasets of each worker, over processes: the chief describes one, the workers make it, and make it again.
// Semantics: examples/reference/semantics.md 1.1.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/dataset_sources.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/ranges.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(worker_datasets_suite)

namespace {

using namespace std::chrono_literals;

std::vector<std::int64_t> next_batch(dataset_iterator<tensor> elements) {
  const auto batch = elements.next();
  const auto rows = batch.values<std::int64_t>();
  return {rows.begin(), rows.end()};
}

void run_reads_on_workers(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto squares = range(6).map([](const std::int64_t& x) { return x * x; }).batch(4);
  const auto elements = coordinator.create_per_worker_dataset(squares).iterate();
  for (int worker = 0; worker < here.worker_count(); ++worker)
    for (int batch = 0; batch < 2; ++batch)
      say("worker {}: {}", worker,
          fmt::join(coordinator.schedule<next_batch>({.worker = worker}, elements).fetch(60s), " "));
  const auto beyond = status_of_call([&] { coordinator.schedule<next_batch>({.worker = 0}, elements).fetch(60s); });
  say("then: {}", to_string(beyond.code()));
}

const chief_program reads_on_workers{"reads datasets on workers", run_reads_on_workers};

BOOST_AUTO_TEST_CASE(each_worker_process_makes_the_dataset_that_the_chief_described_and_reads_all_of_it) {
  process_cluster cluster{reads_on_workers.name(), {.workers = 2, .servers = 1}};
  cluster.start();
  for (int worker = 0; worker < 2; ++worker) {
    cluster.wait_for(fmt::format("worker {}: 0 1 4 9", worker));
    cluster.wait_for(fmt::format("worker {}: 16 25", worker));
  }
  cluster.wait_for("then: out_of_range");
  for (const auto& task : cluster.tasks()) BOOST_TEST(to_string(cluster.end_of(task)) == "exit code 0");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
