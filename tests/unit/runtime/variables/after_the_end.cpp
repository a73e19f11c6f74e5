// Handles that outlive their cluster, or belong to another one: an error at once that says so.
#include "support/local_world.hpp"

#include <chrono>
#include <optional>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(after_the_end_suite)

namespace {

template <class Work>
void require_end_is_said(Work work) {
  const auto began = std::chrono::steady_clock::now();
  BOOST_CHECK_EXCEPTION(work(), failed_precondition_error,
                        [](const failed_precondition_error& thrown) { return says(thrown, "has ended"); });
  BOOST_TEST((std::chrono::steady_clock::now() - began < 1s));
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_asked_of_handles_after_the_clusters_end_fails_at_once) {
  std::optional<cluster_coordinator> coordinator;
  std::optional<parameter_server_strategy> strategy;
  std::optional<variable<float>> number;
  std::optional<sharded_variable> table;
  remote_value<int> ready;
  system_config config{false};
  caf::actor_system system{config};
  {
    cluster here{system, {.workers = 1, .servers = 1}};
    here.wait_until_ready();
    strategy.emplace(here);
    coordinator.emplace(*strategy);
    number = strategy->variable("number", 1.0f);
    table = strategy->sharded("table", tensor::zeros(dtype::float32, {4, 2}));
    ready = coordinator->schedule([] { return 3; });
    coordinator->join();
  }
  require_end_is_said([&] { number->read(); });
  require_end_is_said([&] { number->assign(2.0f); });
  require_end_is_said([&] { table->read(); });
  require_end_is_said([&] { coordinator->join(); });
  require_end_is_said([&] { coordinator->done(); });
  require_end_is_said([&] { coordinator->errors(); });
  require_end_is_said([&] { coordinator->schedule([] { return 1; }); });
  require_end_is_said([&] { coordinator->create_per_worker_values([] { return 1; }); });
  require_end_is_said([&] { strategy->variable("other", 1.0f); });
  require_end_is_said([&] { strategy->remove("number"); });
  require_end_is_said([&] { save_checkpoint(*strategy, "never written", {}); });
  // What had arrived is there.
  BOOST_TEST(ready.fetch() == 3);
}

BOOST_AUTO_TEST_CASE(a_variable_of_another_cluster_is_not_taken_for_one_that_was_lost) {
  local_world mine{{.workers = 1, .servers = 1}};
  local_world other{{.workers = 1, .servers = 1}};
  const auto stranger = other.strategy.variable("stranger", 1.0f);
  auto result = mine.coordinator.schedule([](variable<float> x) { return x.read(); }, stranger);
  BOOST_CHECK_EXCEPTION(result.fetch(), unavailable_error,
                        [](const unavailable_error& thrown) { return says(thrown, "it belongs to another cluster"); });
  BOOST_CHECK_THROW(mine.coordinator.join(), unavailable_error);
}

BOOST_AUTO_TEST_SUITE_END()
