// A parameter-server job over hosts, some with several of its processes: everything that moves values between tasks
// does so by the addresses and names that the tasks have in TF_CONFIG.
#include "cluster/test_program.hpp"
#include "placement.hpp"

#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>

#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(job_suite)

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t rows = 2'048;
constexpr std::int64_t columns = 512;
constexpr std::int64_t large_elements = rows * columns;  // 4 MiB

tensor numbered(std::int32_t first) {
  auto result = tensor::zeros(dtype::int32, {rows, columns});
  for (auto& x : result.mutable_values<std::int32_t>()) x = first++;
  return result;
}

bool is_numbered(const tensor& content, std::int32_t first) {
  for (const auto x : content.values<std::int32_t>())
    if (x != first++) return false;
  return content.size_bytes() == large_elements * sizeof(std::int32_t);
}

/// A file beside the chief, removed with this.
class checkpoint_file {
 public:
  ~checkpoint_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ =
      (std::filesystem::temp_directory_path() / fmt::format("troupe-hosts-{}.safetensors", ::getpid())).string();
};

tensor last_row(const tensor& content) { return content.slice(rows - 1, rows); }

void use_variables(parameter_server_strategy& strategy, cluster_coordinator& coordinator) {
  constexpr int additions = 200;
  const auto count = strategy.variable("count", 0);
  const auto large = strategy.variable("large", numbered(5));
  const auto spread = strategy.sharded("spread", numbered(6));
  for (int i = 0; i < additions; ++i) coordinator.schedule([](variable<int> v) { v.assign_add(1); }, count);
  const auto added = coordinator.schedule(
      [](tensor_variable one, sharded_variable parts) {
        auto sum = one.read();
        const auto other = parts.read();
        auto left = sum.mutable_values<std::int32_t>();
        const auto right = other.values<std::int32_t>();
        for (std::size_t i = 0; i < left.size(); ++i) left[i] -= right[i];
        return sum;
      },
      large, spread);
  const auto first_row = coordinator.schedule(
      [](tensor_variable one) {
        one.assign(one.read());
        return last_row(one.read());
      },
      large);
  coordinator.join(30s);
  require(count.read() == additions, "the sum of small additions");
  require(added.get().values<std::int32_t>()[large_elements - 1] == -1, "a large result of large variables");
  require(first_row.get().values<std::int32_t>()[0] == 5 + (rows - 1) * columns, "what a worker assigned");

  const checkpoint_file file;
  save_checkpoint(strategy, file.path());
  count.assign(0);
  large.assign(numbered(0));
  spread.assign(numbered(0));
  restore_checkpoint(strategy, file.path());
  require(count.read() == additions && is_numbered(large.read(), 5) && is_numbered(spread.read(), 6),
          "what a checkpoint restores");
}

/// Once on each worker, with arguments and results of several MiB.
void use_each_worker(cluster_coordinator& coordinator) {
  for (int worker = 0; worker < coordinator.strategy().worker_count(); ++worker) {
    const auto moved = coordinator.schedule(
        {.limit = 30s, .worker = worker}, [](tensor x) { return x; }, numbered(worker));
    require(is_numbered(moved.get(), worker), "a tensor there and back");
    const auto host = coordinator.schedule({.limit = 30s, .worker = worker}, [] {
      std::array<char, 256> name{};
      ::gethostname(name.data(), name.size() - 1);
      return std::string{name.data()};
    });
    say("worker {} ran on {}", worker, host.fetch());
  }
  coordinator.join(30s);
}

void run_job(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  here.wait_for({worker_task(0), worker_task(1)}, 30s);
  use_each_worker(coordinator);
  use_variables(strategy, coordinator);
  say("all done");
}

const chief_program job{"job", run_job};

/// What each worker has for itself is built there from a tensor that arrives after the message, and used at once.
void run_with_large_per_worker_values(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  here.wait_for({worker_task(0), worker_task(1)}, 30s);
  for (int round = 0; round < 3; ++round) {
    const auto kept = coordinator.create_per_worker_values([](tensor x) { return x; }, numbered(round));
    std::vector<remote_value<std::int32_t>> firsts;
    for (int i = 0; i < 20; ++i)
      firsts.push_back(coordinator.schedule([](const tensor& x) { return x.values<std::int32_t>()[0]; }, kept));
    coordinator.join(30s);
    for (const auto& each : firsts) require(each.fetch() == round, "the value that a worker has for itself");
  }
  say("all done");
}

const chief_program large_per_worker_values{"large per-worker values", run_with_large_per_worker_values};

void run_on(const host_network& network, const std::string& program, called how, std::map<task_id, int> host_of) {
  process_cluster cluster{program, {.servers = 2, .place = placed(network, host_of, how)}};
  cluster.start();
  cluster.wait_for("all done");
  for (int worker = 0; worker < 2; ++worker)
    if (program == job.name())
      cluster.wait_for(fmt::format("worker {} ran on {}", worker, host_network::name(host_of.at(worker_task(worker)))));
  require_good_ends(cluster);
}

}  // namespace

BOOST_DATA_TEST_CASE(a_job_runs_on_hosts_of_their_own_for_each_process, callings, how) {
  const host_network network{5, how.names};
  run_on(network, job.name(), how.how,
         {{chief_task, 0}, {worker_task(0), 1}, {worker_task(1), 2}, {server_task(0), 3}, {server_task(1), 4}});
}

BOOST_DATA_TEST_CASE(a_job_runs_where_several_processes_share_a_host_beside_others, callings, how) {
  const host_network network{3, how.names};
  run_on(network, job.name(), how.how,
         {{chief_task, 0}, {server_task(0), 0}, {worker_task(0), 1}, {server_task(1), 1}, {worker_task(1), 2}});
}

BOOST_AUTO_TEST_CASE(what_each_worker_has_for_itself_is_made_of_large_tensors_before_it_is_used) {
  host_network network{3};
  // So that the tensor is under way for 0.3 s, while messages arrive.
  for (int host = 1; host < 3; ++host) network.limit(host, "100mbit");
  run_on(network, large_per_worker_values.name(), called::by_address,
         {{chief_task, 0}, {server_task(0), 0}, {server_task(1), 0}, {worker_task(0), 1}, {worker_task(1), 2}});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
