#include "soak_job.hpp"

#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <vector>

namespace troupe::tools {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto patience = 60s;
constexpr int additions_per_round = 200;
/// Beside messages, not in them. How many of its blocks a process keeps for the next depends on how many were ever in
/// use at the same time, so a few more must not look like growth.
constexpr std::int64_t large_elements = 1 << 15;

void add_one(const variable<std::int64_t>& counter) { counter.assign_add(1); }

float sum_of_changed(const tensor_variable& large, float by) {
  large.assign_add(tensor::full({large_elements}, by));
  return large.read().values<float>().back();
}

void require(bool holds, const std::string& what) {
  if (!holds) throw internal_error{"not as it must be: " + what};
}

class soak {
 public:
  soak(cluster& here, const soak_job_options& options)
      : options_(options),
        strategy_(here),
        coordinator_(strategy_),
        counter_(strategy_.variable<std::int64_t>("counter", 0)),
        weights_(strategy_.sharded("weights", tensor::zeros(dtype::float32, {1 << 20}))) {}

  void run() {
    const auto end = clock::now() + options_.time;
    auto next_checkpoint = clock::now();
    auto next_restore = clock::now() + options_.restore_every;
    for (std::int64_t round = 0; clock::now() < end; ++round) {
      count();
      make_and_drop(round);
      if (clock::now() >= next_checkpoint) {
        save_checkpoint(strategy_, options_.checkpoint, {}, {.progress = false});
        saved_ = counter_.read();
        next_checkpoint += options_.checkpoint_every;
      }
      if (clock::now() >= next_restore) {
        restore_checkpoint(strategy_, options_.checkpoint, {.progress = false});
        require(counter_.read() == saved_, "a restored counter");
        next_restore += options_.restore_every;
      }
    }
    coordinator_.join(patience);
    fmt::print("{} additions were acknowledged, {} variables came and went\n", acknowledged_, dropped_);
    std::fflush(stdout);
  }

 private:
  void count() {
    const auto before = counter_.read();
    std::vector<remote_value<void>> scheduled;
    scheduled.reserve(additions_per_round);
    for (int i = 0; i < additions_per_round; ++i)
      scheduled.push_back(coordinator_.schedule<add_one>({.limit = patience}, counter_));
    coordinator_.join(patience);
    for (const auto& each : scheduled) each.fetch(0s);
    acknowledged_ += additions_per_round;
    const auto added = counter_.read() - before;
    require(added >= additions_per_round, "an acknowledged addition is there");
    // Two workers at most are lost in a round, with what they held.
    require(added <= 3 * additions_per_round, "no addition is there that was not tried");
  }

  void make_and_drop(std::int64_t round) {
    const auto name = fmt::format("large {}", round);
    const auto large = strategy_.variable(name, tensor::zeros(dtype::float32, {large_elements}));
    std::vector<remote_value<float>> sums;
    sums.reserve(static_cast<std::size_t>(strategy_.worker_count()));
    for (int i = 0; i < strategy_.worker_count(); ++i)
      sums.push_back(coordinator_.schedule<sum_of_changed>({.limit = patience}, large, 1.0f));
    coordinator_.join(patience);
    for (const auto& each : sums) require(each.fetch(0s) >= 1.0f, "a large variable changes");
    strategy_.remove(name);
    ++dropped_;
  }

  const soak_job_options options_;
  parameter_server_strategy strategy_;
  cluster_coordinator coordinator_;
  variable<std::int64_t> counter_;
  sharded_variable weights_;
  std::int64_t saved_ = 0;
  std::int64_t acknowledged_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace

void run_soak_job(cluster& here, const soak_job_options& options) { soak{here, options}.run(); }

}  // namespace troupe::tools
