// The latency of one closure at a time: schedule, run, fetch.
#include "bench_caf_reference.hpp"
#include "bench_case.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

namespace troupe::tools {

namespace {

figure compare_calls(const measuring_plan& plan, cluster& cluster, const caf::actor& echo) {
  cluster_coordinator coordinator{parameter_server_strategy{cluster}};
  caf::scoped_actor self{cluster.system()};
  return compare_latencies(
      plan, "us", 0.5,
      [&](std::chrono::nanoseconds slice) {
        return latencies<std::micro>(slice, [&] { coordinator.schedule([](std::int64_t x) { return x; }, 1).fetch(); });
      },
      "raw CAF, blocking request",
      [&](std::chrono::nanoseconds slice) {
        return latencies<std::micro>(slice, [&] { blocking_request(self, echo); });
      });
}

std::vector<figure> in_process(const measuring_plan& plan, cluster& cluster) {
  const auto echo = cluster.system().spawn(caf_echo);
  auto row = compare_calls(plan, cluster, echo);
  caf::anon_send_exit(echo, caf::exit_reason::user_shutdown);
  return {row};
}

std::vector<figure> processes(const measuring_plan& plan, cluster& cluster) {
  const caf_reference_process reference{cluster.system()};
  return {compare_calls(plan, cluster, reference.handle())};
}

}  // namespace

std::vector<bench_case> call_cases() {
  return {{.bench = "call",
           .name = "in-process",
           .summary = "latency of schedule and fetch, one at a time, in this process",
           .size = {.workers = 1, .servers = 1},
           .measure = in_process},
          {.bench = "call",
           .name = "processes",
           .summary = "the same with a worker process",
           .where = placement_of_members::processes,
           .size = {.workers = 1, .servers = 1},
           .measure = processes}};
}

}  // namespace troupe::tools
