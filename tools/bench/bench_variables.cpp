// Closures per second that each make two dependent round trips to a parameter server: a read, then an addition.
#include "bench_caf_reference.hpp"
#include "bench_case.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

namespace troupe::tools {

namespace {

constexpr std::int64_t round_closures = 20'000;
constexpr auto reference_name = "raw CAF, request answered after two requests";

measurement reading_and_adding(cluster& cluster) {
  parameter_server_strategy strategy{cluster};
  const auto counter = strategy.variable("counter", 0.0);
  cluster_coordinator coordinator{strategy};
  return [coordinator, counter](std::chrono::nanoseconds slice) mutable {
    return items_per_second(slice, round_closures, [&] {
      for (std::int64_t i = 0; i < round_closures; ++i)
        coordinator.schedule([](variable<double> x) { x.assign_add(x.read() < 0 ? 2.0 : 1.0); }, counter);
      coordinator.join();
    });
  };
}

std::vector<figure> in_process(const measuring_plan& plan, cluster& cluster) {
  caf_stealing_system reference;
  const auto echo = (*reference).spawn(caf_echo);
  std::vector<caf::actor> relays;
  for (int i = 0; i < cluster.worker_count(); ++i) relays.push_back((*reference).spawn(caf_relay, echo));
  auto row = compare(plan, {"1/s"}, reading_and_adding(cluster), reference_name,
                     [&](std::chrono::nanoseconds slice) { return pipelined_requests(*reference, relays, slice); });
  for (const auto& relay : relays) caf::anon_send_exit(relay, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(echo, caf::exit_reason::user_shutdown);
  return {row};
}

std::vector<figure> processes(const measuring_plan& plan, cluster& cluster) {
  auto& system = cluster.system();
  const caf_reference_process server{system};
  std::vector<caf_reference_process> references;
  std::vector<caf::actor> relays;
  for (int i = 0; i < cluster.worker_count(); ++i)
    relays.push_back(references.emplace_back(system, server.port()).handle());
  return {compare(plan, {"1/s"}, reading_and_adding(cluster), reference_name,
                  [&](std::chrono::nanoseconds slice) { return pipelined_requests(system, relays, slice); })};
}

}  // namespace

std::vector<bench_case> variables_cases() {
  return {{.bench = "variables",
           .name = "in-process",
           .summary = "closures per second, each with two server round trips, in this process",
           .measure = in_process},
          {.bench = "variables",
           .name = "processes",
           .summary = "the same with 2 worker processes and a server process",
           .where = placement_of_members::processes,
           .measure = processes}};
}

}  // namespace troupe::tools
