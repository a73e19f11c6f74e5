// Variables that servers keep on their GPUs, which are emulated: workers' closures train them as on processors, a
// server that is lost comes back with them from a checkpoint, and who asks for a GPU that servers don't have is told
// so.
#include "process_cluster.hpp"
#include "support/environment_variable.hpp"
#include "test_program.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <filesystem>
#include <set>
#include <string>

#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(variables_on_devices_suite)

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t rows = 1000;
constexpr std::int64_t columns = 300;

/// Steps of Adam and changes of rows from closures, one after the other, so that the result does not depend on who is
/// first.
void train(cluster_coordinator& coordinator, const sharded_variable& table) {
  for (int step = 1; step <= 3; ++step) {
    coordinator.schedule(
        [](sharded_variable weights, int at) {
          weights.apply_gradient(optimizer::adam(0.01), tensor::full({rows, columns}, 0.5f * static_cast<float>(at)));
          weights.scatter_add(std::vector<std::int64_t>{1, 999, 1}, tensor::full({3, columns}, 2.0f));
        },
        table, step);
    coordinator.join();
  }
}

void run_keeps_variables_on_devices(cluster& here) {
  const auto& file = here.arguments().at(1);
  parameter_server_strategy on_host{here};
  parameter_server_strategy on_devices{here, {.server_device = "GPU:0"}};
  cluster_coordinator coordinator{on_devices};
  const auto initial = tensor::full({rows, columns}, 1.0f);
  const auto on_cpu = on_host.sharded("on the host", initial, fixed_shards_partitioner(2));
  const auto on_gpu = on_devices.sharded("on the device", initial, fixed_shards_partitioner(2));
  const auto same = [&] { return on_gpu.read().bitwise_equal(on_cpu.read()); };
  const auto is_on_gpus = [&] {
    const std::set<std::string> expected{"/job:ps/task:0/device:GPU:0", "/job:ps/task:1/device:GPU:0"};
    const auto devices = on_gpu.devices();
    return std::set<std::string>{devices.begin(), devices.end()} == expected;
  };
  require(is_on_gpus(), "each server has a part of it on its GPU");
  for (const auto& each : {on_cpu, on_gpu}) train(coordinator, each);
  require(same(), "GPUs give what processors give");
  save_checkpoint(on_devices, file);
  const auto saved = on_gpu.read();
  event_watch events{here};
  say("saved");
  events.wait_for(event_kind::member_lost, server_task(1));
  events.wait_for(event_kind::member_joined, server_task(1));
  restore_checkpoint(on_devices, file);
  require(on_gpu.read().bitwise_equal(saved), "it came back");
  require(is_on_gpus(), "to the GPU of the server that came back, too");
  parameter_server_strategy elsewhere{here, {.server_device = "GPU:5"}};
  const auto why = status_of_call([&] { elsewhere.variable("nowhere", 1.0f); });
  say("refused: {}", why.render());
}

const chief_program keeps_variables_on_devices{"keeps variables on devices", run_keeps_variables_on_devices};

}  // namespace

BOOST_AUTO_TEST_CASE(variables_on_the_servers_devices_are_trained_lost_and_restored_as_on_hosts) {
  const environment_variable emulated{emulated_gpus_variable, "2"};
  const auto file = std::filesystem::temp_directory_path() / fmt::format("troupe-devices-{}.safetensors", ::getpid());
  process_cluster cluster{keeps_variables_on_devices.name(),
                          {.workers = 2, .servers = 2, .arguments = {file.string()}}};
  cluster.start();
  cluster.wait_for("[chief] saved");
  cluster.signal(server_task(1), SIGKILL);
  cluster.end_of(server_task(1));
  cluster.start(server_task(1));
  const auto line = cluster.wait_for("[chief] refused: ");
  BOOST_TEST(line.find("\"GPU:5\" does not exist: this process has 2 emulated GPUs") != std::string::npos, line);
  BOOST_TEST(line.find("variable \"nowhere\" on GPU:5 of its server") != std::string::npos, line);
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0", cluster.output());
  std::filesystem::remove(file);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
