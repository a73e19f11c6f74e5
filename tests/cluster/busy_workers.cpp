// A closure that keeps a worker process's thread does not keep other closures from the worker that idles.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(busy_workers_suite)

namespace {

using namespace std::chrono_literals;

constexpr auto patience = 60s;

/// Keeps the thread until there is such a file.
void wait_for_file(const std::string& path) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!std::filesystem::exists(path)) {
    if (std::chrono::steady_clock::now() > limit) throw deadline_exceeded_error{"there is no " + path};
    std::this_thread::sleep_for(1ms);
  }
}

tensor doubled(const tensor& x) {
  auto result = x;
  for (auto& each : result.mutable_values<float>()) each *= 2;
  return result;
}

void run_beside_a_slow_one(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  const auto path = std::filesystem::temp_directory_path() / fmt::format("troupe_busy_workers_{}", ::getpid());
  const auto slow = coordinator.schedule<wait_for_file>(path.string());
  // Small ones, and such whose tensors come beside their messages.
  constexpr auto large = 100'000;
  std::vector<remote_value<tensor>> quick;
  for (auto i = 0; i < 30; ++i)
    quick.push_back(
        coordinator.schedule<doubled>(tensor::of(std::vector<float>(i % 2 == 0 ? 1 : large, static_cast<float>(i)))));
  auto right = 0;
  for (auto i = 0; i < 30; ++i)
    right +=
        quick[static_cast<std::size_t>(i)].fetch(patience / 2).values<float>().back() == 2.0f * static_cast<float>(i);
  say("{} right, slow one ended: {}", right, slow.state() != remote_value_state::not_ready);
  std::ofstream{path} << "go on";
  coordinator.join(patience);
  std::filesystem::remove(path);
  say("all ended");
}

const chief_program beside_a_slow_one{"beside a slow one", run_beside_a_slow_one};

}  // namespace

BOOST_AUTO_TEST_CASE(no_closure_waits_for_a_busy_worker_process_while_another_idles) {
  process_cluster cluster{beside_a_slow_one.name()};
  cluster.start();
  cluster.wait_for("30 right, slow one ended: false");
  cluster.wait_for("all ended");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
