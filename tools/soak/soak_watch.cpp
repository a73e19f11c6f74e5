#include "process_usage.hpp"
#include "soak_watch.hpp"

#include <troupe/runtime/launch/launcher.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <deque>
#include <map>
#include <random>

namespace troupe::tools {

namespace {

using clock = std::chrono::steady_clock;

/// What a task's processes held at most in the last minute: one that has just been started anew holds less.
class recent_usage {
 public:
  void add(clock::time_point now, const process_usage& usage) {
    reports_.emplace_back(now, usage);
    while (reports_.front().first < now - std::chrono::minutes{1}) reports_.pop_front();
  }

  process_usage most() const {
    process_usage result;
    for (const auto& [_, usage] : reports_) {
      result.resident_bytes = std::max(result.resident_bytes, usage.resident_bytes);
      result.descriptors = std::max(result.descriptors, usage.descriptors);
      result.threads = std::max(result.threads, usage.threads);
    }
    return result;
  }

 private:
  std::deque<std::pair<clock::time_point, process_usage>> reports_;
};

class soak_watch {
 public:
  explicit soak_watch(const soak_watch_options& options)
      : options_(options),
        cluster_({.program = options.program,
                  .arguments = options.arguments,
                  .workers = options.workers,
                  .servers = options.servers,
                  .restarts_max = 1'000'000,
                  .restart_delay_max = std::chrono::milliseconds{100}}) {}

  int run() {
    cluster_.start();
    auto next_kill = begin_ + options_.kill_every;
    auto next_report = begin_ + options_.report_every;
    while (cluster_.poll_once(std::chrono::milliseconds{100})) {
      if (cluster_.exit_code()) continue;
      if (clock::now() >= next_kill) {
        kill_one();
        next_kill += options_.kill_every;
      }
      if (clock::now() >= next_report) {
        report();
        next_report += options_.report_every;
      }
    }
    const auto ended = cluster_.exit_code().value_or(1);
    return ended != 0 ? ended : has_grown() ? soak_exit::grown : soak_exit::good;
  }

 private:
  void kill_one() {
    const auto worker = static_cast<int>(random_() % static_cast<unsigned>(options_.workers));
    cluster_.kill({"worker", worker}, SIGKILL);
  }

  void report() {
    const auto now = clock::now();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - begin_);
    for (const auto& task : cluster_.cluster().tasks()) {
      const auto process = cluster_.pid(task);
      const auto usage = process ? usage_of(*process) : std::nullopt;
      if (!usage) continue;
      fmt::print("{:>6} s  {:<18} {:>8.1f} MiB {:>5} descriptors {:>4} threads\n", seconds.count(), to_string(task),
                 static_cast<double>(usage->resident_bytes) / (1 << 20), usage->descriptors, usage->threads);
      recent_[task].add(now, *usage);
      if (seconds <= options_.settled_after) settled_[task] = recent_[task].most();
    }
    std::fflush(stdout);
  }

  bool has_grown() const {
    if (clock::now() - begin_ < options_.settled_after) {
      fmt::print("growth: not measured: the run was shorter than {} s\n", options_.settled_after.count());
      return false;
    }
    auto grown = false;
    const auto compare = [&](const task_id& task, std::string_view what, std::int64_t before, std::int64_t now) {
      const auto ratio = static_cast<double>(now) / static_cast<double>(before);
      const auto too_much = ratio > options_.growth_max;
      fmt::print("{} {}: {} after {} s, {} at last, {:.3f} times{}\n", to_string(task), what, before,
                 options_.settled_after.count(), now, ratio, too_much ? ", which is too much" : "");
      grown = grown || too_much;
    };
    for (const auto& [task, before] : settled_) {
      const auto now = recent_.at(task).most();
      compare(task, "bytes of memory", before.resident_bytes, now.resident_bytes);
      compare(task, "descriptors", before.descriptors, now.descriptors);
      compare(task, "threads", before.threads, now.threads);
    }
    return grown;
  }

  const soak_watch_options options_;
  launcher cluster_;
  const clock::time_point begin_ = clock::now();
  std::mt19937 random_{1};
  std::map<task_id, recent_usage> recent_;
  std::map<task_id, process_usage> settled_;
};

}  // namespace

int watch_soak(const soak_watch_options& options) { return soak_watch{options}.run(); }

}  // namespace troupe::tools
