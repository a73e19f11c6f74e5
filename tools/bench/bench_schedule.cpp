// How many closures per second, and what each costs the coordinator as the number of workers grows.
#include "bench_caf_reference.hpp"
#include "bench_case.hpp"
#include "bench_coordinator_cost.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <vector>

#include <malloc.h>

namespace troupe::tools {

namespace {

constexpr std::int64_t round_closures = 50'000;
constexpr std::int64_t cost_closures = 100'000;

/// All closures of a round are freed together, and the C library gives their memory back to the system, to take it
/// again in the next round, unless something happens to lie above it. The rate must not depend on that.
void keep_freed_memory() {
  constexpr int kept_bytes = 64 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kept_bytes);
  ::mallopt(M_MMAP_THRESHOLD, kept_bytes / 2);
}

/// No-op closures per second, from the first schedule to the end of join.
measurement scheduling(cluster& cluster) {
  keep_freed_memory();
  cluster_coordinator coordinator{parameter_server_strategy{cluster}};
  return [coordinator](std::chrono::nanoseconds slice) mutable {
    return items_per_second(slice, round_closures, [&] {
      for (std::int64_t i = 0; i < round_closures; ++i) coordinator.schedule([] {});
      coordinator.join();
    });
  };
}

std::vector<figure> in_process(const measuring_plan& plan, cluster& cluster) {
  caf_stealing_system reference;
  std::vector<caf::actor> echoes;
  for (int i = 0; i < cluster.worker_count(); ++i) echoes.push_back((*reference).spawn(caf_echo));
  auto row = compare(plan, {"1/s"}, scheduling(cluster), "raw CAF, pipelined requests",
                     [&](std::chrono::nanoseconds slice) { return pipelined_requests(*reference, echoes, slice); });
  for (const auto& echo : echoes) caf::anon_send_exit(echo, caf::exit_reason::user_shutdown);
  return {row};
}

std::vector<figure> processes(const measuring_plan& plan, cluster& cluster) {
  auto& system = cluster.system();
  std::vector<caf_reference_process> references;
  std::vector<caf::actor> echoes;
  for (int i = 0; i < cluster.worker_count(); ++i) echoes.push_back(references.emplace_back(system).handle());
  return {compare(plan, {"1/s"}, scheduling(cluster), "raw CAF, pipelined requests",
                  [&](std::chrono::nanoseconds slice) { return pipelined_requests(system, echoes, slice); })};
}

/// The coordinator's own time per closure, with `workers` simulated ones.
measurement cost(int workers) {
  return [world = std::make_shared<coordinator_world>(workers)](std::chrono::nanoseconds slice) {
    std::vector<double> costs;
    const auto end = std::chrono::steady_clock::now() + slice;
    do costs.push_back(world->cost_ns(cost_closures));
    while (std::chrono::steady_clock::now() < end);
    return percentile_of(costs, 0.5);
  };
}

bench_case with_workers(int workers) {
  return {.bench = "schedule",
          .name = fmt::format("workers-{}", workers),
          .summary = fmt::format("the coordinator's CPU time per closure with {} simulated workers", workers),
          .size = {.workers = 1, .servers = 1},
          .measure = [workers](const measuring_plan& plan, cluster&) {
            return std::vector{compare(plan, {"ns", better::lower}, cost(workers), "2 workers", cost(2))};
          }};
}

// --- beside a closure that keeps its worker

constexpr auto kept_for = std::chrono::milliseconds{50};

/// Keeps its worker's thread, as computing would, but no core.
void keep_thread() { std::this_thread::sleep_for(kept_for); }

/// From the schedule of six no-ops, after one that keeps its worker, until all six have ended, in ms; again and again.
std::vector<figure> beside_busy_worker(const measuring_plan& plan, cluster& cluster) {
  constexpr double goal_ms = 10;
  constexpr auto no_ops = 6;
  cluster_coordinator coordinator{parameter_server_strategy{cluster}};
  std::vector<double> taken;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(plan.seconds);
  do {
    coordinator.schedule<keep_thread>();
    const auto begun = std::chrono::steady_clock::now();
    std::vector<remote_value<void>> quick;
    for (auto i = 0; i < no_ops; ++i) quick.push_back(coordinator.schedule([] {}));
    for (const auto& each : quick) each.fetch();
    taken.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count());
    coordinator.join();
  } while (std::chrono::steady_clock::now() < end);
  const auto value = percentile_of(taken, 0.99);
  return {{.value = value,
           .unit = "ms",
           .reference = the_goal,
           .reference_value = goal_ms,
           .ratio = goal_ms / value,
           .p50 = percentile_of(taken, 0.5),
           .p99 = value,
           .details = {{"times", static_cast<std::int64_t>(taken.size())}}}};
}

}  // namespace

std::vector<bench_case> schedule_cases() {
  return {{.bench = "schedule",
           .name = "in-process",
           .summary = "no-op closures per second, schedule to join, 2 workers in this process",
           .measure = in_process},
          {.bench = "schedule",
           .name = "processes",
           .summary = "the same with 2 worker processes",
           .where = placement_of_members::processes,
           .measure = processes},
          {.bench = "schedule",
           .name = "busy-worker",
           .summary = "p99 of 6 no-ops beside a closure that keeps one of 2 worker processes for 50 ms",
           .where = placement_of_members::processes,
           .measure = beside_busy_worker},
          with_workers(2),
          with_workers(64),
          with_workers(1000)};
}

}  // namespace troupe::tools
