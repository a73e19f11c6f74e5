// Checkpoints of models that are larger than the chief's window, of many variables, and restored when a server is gone.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(checkpoints_suite)

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t mebibyte_of_floats = (std::int64_t{1} << 20) / std::int64_t{sizeof(float)};

/// The most memory that this process has had, files that it has mapped included.
std::int64_t peak_mebibytes() {
  std::ifstream in{"/proc/self/status"};
  for (std::string word; in >> word;)
    if (word == "VmHWM:") {
      std::int64_t kibibytes = 0;
      in >> kibibytes;
      return kibibytes >> 10;
    }
  return 0;
}

void require_all(const tensor& content, float expected) {
  const auto values = content.values<float>();
  require(std::all_of(values.begin(), values.end(), [&](float x) { return x == expected; }), "the content is whole");
}

void run_passes_a_large_model(cluster& here) {
  const auto& file = here.arguments().at(1);
  parameter_server_strategy strategy{here};
  std::vector<tensor_variable> variables;
  for (int i = 0; i < 12; ++i)
    variables.push_back(strategy.sharded(fmt::format("v{}", i),
                                         tensor::full(shape{64 * mebibyte_of_floats}, static_cast<float>(i)),
                                         fixed_shards_partitioner(4)));
  const auto before = peak_mebibytes();
  const checkpoint_options narrow{.window_bytes = std::size_t{64} << 20};
  const stopwatch saving;
  save_checkpoint(strategy, file, {}, narrow);
  const stopwatch restoring;
  restore_checkpoint(strategy, file, narrow);
  const auto growth = peak_mebibytes() - before;
  say("768 MiB were saved in {} ms and restored in {} ms, the chief grew by {} MiB",
      saving.elapsed().count() - restoring.elapsed().count(), restoring.elapsed().count(), growth);
  require(growth < 200, "the chief's memory is bounded by the window");
  for (int i = 0; i < 12; ++i) require_all(variables[static_cast<std::size_t>(i)].read(), static_cast<float>(i));
  say("all is there");
}

const chief_program passes_a_large_model{"passes a large model", run_passes_a_large_model};

void run_keeps_many_variables(cluster& here) {
  const auto& file = here.arguments().at(1);
  const auto count = std::stoi(here.arguments().at(2));
  parameter_server_strategy strategy{here};
  std::vector<std::pair<std::string, tensor>> initial;
  for (int i = 0; i < count; ++i)
    initial.emplace_back(fmt::format("layer/{}", i), tensor::full(shape{8}, 0.5f * static_cast<float>(i)));
  const stopwatch creating;
  const auto variables = strategy.create_variables(std::move(initial));
  say("{} variables were made in {} ms", count, creating.elapsed().count());
  const stopwatch saving;
  save_checkpoint(strategy, file);
  say("saved in {} ms", saving.elapsed().count());
  const stopwatch restoring;
  restore_checkpoint(strategy, file);
  say("restored in {} ms", restoring.elapsed().count());
  const auto contents = read_all(variables);
  for (int i = 0; i < count; ++i) require_all(contents[static_cast<std::size_t>(i)], 0.5f * static_cast<float>(i));
  say("all is there");
}

const chief_program keeps_many_variables{"keeps many variables", run_keeps_many_variables};

void run_restores_without_a_server(cluster& here) {
  const auto& file = here.arguments().at(1);
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto content = tensor::full(shape{64}, 2.0f);
  const auto v = strategy.sharded("v", content, fixed_shards_partitioner(4));
  const auto w = strategy.variable("w", content);
  save_checkpoint(strategy, file);
  say("saved");
  while (status_of_call([&] { v.read(); }).ok()) {
  }
  restore_checkpoint(strategy, file);
  for (const auto& device : v.devices()) require(device.starts_with("/job:ps/task:0"), device);
  require_all(v.read(), 2.0f);
  require_all(w.read(), 2.0f);
  const auto read = [](sharded_variable x) { return x.read().values<float>()[63]; };
  require(coordinator.schedule(read, v).fetch() == 2.0f, "a closure reads what was restored");
  say("all is there");
}

const chief_program restores_without_a_server{"restores without a server", run_restores_without_a_server};

struct checkpoint_path {
  std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("troupe-checkpoints-{}", ::getpid())).string();
  ~checkpoint_path() { std::filesystem::remove(path); }
};

void require_end(process_cluster& cluster) {
  cluster.wait_for("all is there");
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_model_that_is_larger_than_the_window_passes_through_a_chief_that_does_not_grow_with_it) {
  const checkpoint_path file;
  process_cluster cluster{passes_a_large_model.name(), {.workers = 1, .servers = 2, .arguments = {file.path}}};
  cluster.start();
  require_end(cluster);
}

BOOST_AUTO_TEST_CASE(thousands_of_variables_are_made_saved_and_restored_in_a_few_messages) {
  const checkpoint_path file;
  const auto* count = std::getenv("TROUPE_VARIABLES");
  process_cluster cluster{keeps_many_variables.name(),
                          {.workers = 1, .servers = 2, .arguments = {file.path, count != nullptr ? count : "5000"}}};
  cluster.start();
  require_end(cluster);
}

BOOST_AUTO_TEST_CASE(a_restore_places_all_variables_on_the_servers_that_are_there) {
  const checkpoint_path file;
  process_cluster cluster{restores_without_a_server.name(), {.workers = 1, .servers = 2, .arguments = {file.path}}};
  cluster.start();
  cluster.wait_for("saved");
  cluster.signal(server_task(1), SIGKILL);
  require_end(cluster);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
