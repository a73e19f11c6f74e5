#include "job.hpp"

#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

using namespace std::chrono_literals;

namespace troupe::recovery {

namespace {

/// How long the job waits for lost servers.
constexpr auto servers_limit = 1min;
/// Failures without a checkpoint in between after which the job gives up.
constexpr int failures_max = 20;
constexpr int batch_size = 64;
/// The weights that the regression looks for.
constexpr std::array true_weights{2.0f, -3.0f, 1.0f};

struct model {
  tensor_variable weights;
  variable<std::int64_t> gradients;
};

/// The variables, and how many steps they contain.
struct progress {
  model variables;
  std::int64_t steps = 0;
};

// --- on the workers -------------------------------------------------------------------------------------------------

/// The batch depends on the number alone, so a step that runs again computes with the same data. A step may run twice:
/// `gradients` counts each run, the chief counts each step.
void gradient_step(const model& at, std::int64_t number, std::chrono::milliseconds computing) {
  std::mt19937 random{static_cast<std::uint32_t>(number)};
  std::uniform_real_distribution<float> input{-1, 1};
  const auto weights = at.weights.read();
  std::vector<float> gradient(true_weights.size());
  for (int i = 0; i < batch_size; ++i) {
    const std::array x{input(random), input(random), 1.0f};
    auto error = 0.0f;
    for (std::size_t j = 0; j < x.size(); ++j) error += (weights.values<float>()[j] - true_weights[j]) * x[j];
    for (std::size_t j = 0; j < x.size(); ++j) gradient[j] += 2 * error * x[j] / batch_size;
  }
  sleep_for(computing);  // in place of a larger model
  at.weights.apply_gradient(optimizer::with_momentum(0.02), tensor::of(gradient));
  at.gradients.assign_add(1);
}

// --- on the chief ---------------------------------------------------------------------------------------------------

void wait_for_servers(cluster& here) {
  std::vector<task_id> servers;
  for (int i = 0; i < here.server_count(); ++i) servers.push_back({"ps", i});
  here.wait_for(servers, servers_limit);
}

/// Makes the variables anew, because shards may be lost, and fills them from the checkpoint, if there is one.
progress last_progress(parameter_server_strategy& strategy, const std::string& checkpoint) {
  for (const auto& [name, _] : strategy.variables()) strategy.remove(name);
  progress result{{strategy.variable("weights", tensor::zeros(dtype::float32, {std::int64_t{true_weights.size()}})),
                   strategy.variable("gradients", std::int64_t{0})}};
  if (!file_exists(checkpoint)) return result;
  const auto restored = restore_checkpoint(strategy, checkpoint, {.progress = false});
  result.steps = std::stoll(restored.metadata.at("steps"));
  return result;
}

/// Trains up to the next checkpoint, and saves it. All steps are joined first, so that the file contains whole steps.
void train_and_save(cluster_coordinator& coordinator, progress& job, const job_options& options) {
  const auto until = std::min(job.steps + options.save_interval, options.steps);
  for (auto step = job.steps; step < until; ++step)
    coordinator.schedule<gradient_step>(job.variables, step, options.step_time);
  coordinator.join();
  save_checkpoint(coordinator.strategy(), options.checkpoint, {{"steps", std::to_string(until)}}, {.progress = false});
  job.steps = until;
}

job_result result_of(const progress& job, int recoveries) {
  const auto weights = job.variables.weights.read();
  const auto found = weights.values<float>();
  return {job.steps, job.variables.gradients.read(), recoveries, {found.begin(), found.end()}};
}

/// Whether the failure passes when servers are back.
bool passes(const error& failure) {
  return failure.code() == status_code::unavailable || failure.code() == status_code::deadline_exceeded;
}

}  // namespace

cluster_options job_cluster_options() {
  cluster_options options;
  options.coordinator.windows.slots = 1;
  options.coordinator.windows.fibers_max = 1;
  return options;
}

job_result run_job(cluster& here, const job_options& options, const std::function<void(const std::string&)>& report) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  int recoveries = 0;
  for (int failures = 0;;) {
    wait_for_servers(here);
    try {
      auto job = last_progress(strategy, options.checkpoint);
      report(fmt::format("goes on from step {} of {}", job.steps, options.steps));
      while (job.steps < options.steps) {
        train_and_save(coordinator, job, options);
        failures = 0;
      }
      return result_of(job, recoveries);
    } catch (const error& failure) {
      if (!passes(failure) || ++failures == failures_max) throw;
      ++recoveries;
      report(fmt::format("goes back to the checkpoint: {}", failure.what()));
    }
    sleep_for(100ms);
  }
}

}  // namespace troupe::recovery
