// Workers that are frozen: how soon that is noticed, and how often the busy are taken for frozen.
#include "bench_case.hpp"
#include "bench_event_watch.hpp"
#include "bench_victim.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::tools {

namespace {

using namespace std::chrono_literals;

/// For machines and networks that never pause for long.
constexpr failure_detector_options tuned{.ping_interval = 80ms, .silence_max = 400ms};

// --- noticed
// ----------------------------------------------------------------------------------------------------------

std::vector<figure> noticed(const measuring_plan& plan, cluster& cluster, double goal_ms) {
  cluster_coordinator coordinator{parameter_server_strategy{cluster}};
  bench_event_watch events{cluster};
  std::vector<double> taken_ms;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>{plan.seconds};
  do {
    const auto process = running_victim(coordinator);
    const auto frozen = std::chrono::nanoseconds{send_signal(process, SIGSTOP)};
    const auto heard = events.wait_for(event_kind::member_lost, {"worker", victim}, 1min);
    send_signal(process, SIGCONT);
    taken_ms.push_back(std::chrono::duration<double, std::milli>(heard.time_since_epoch() - frozen).count());
  } while (std::chrono::steady_clock::now() < end);
  running_victim(coordinator);
  const auto value = percentile_of(taken_ms, 0.99);
  return {{.value = value,
           .unit = "ms",
           .reference = the_goal,
           .reference_value = goal_ms,
           .ratio = goal_ms / value,
           .p50 = percentile_of(taken_ms, 0.5),
           .p99 = value,
           .details = {{"times", static_cast<std::int64_t>(taken_ms.size())}}}};
}

// --- false alarms
// -----------------------------------------------------------------------------------------------------

void compute_for(std::chrono::nanoseconds time) {
  volatile std::uint64_t work = 0;
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;)
    for (auto i = 0; i < 1000; ++i) work = work + 1;
}

/// Keeps all cores busy beside the workers' closures while it lives.
class busy_cores {
 public:
  busy_cores() {
    for (auto i = 0u; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
      threads_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) compute_for(1ms);
      });
  }

 private:
  std::vector<std::jthread> threads_;
};

std::vector<figure> false_alarms(const measuring_plan& plan, cluster& cluster) {
  cluster_coordinator coordinator{parameter_server_strategy{cluster}};
  const bench_event_watch events{cluster};
  const busy_cores others;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>{plan.seconds};
  while (std::chrono::steady_clock::now() < end) {
    for (auto i = 0; i < 10 * cluster.worker_count(); ++i) coordinator.schedule([] { compute_for(50ms); });
    coordinator.join();
  }
  const auto count = static_cast<double>(events.count(event_kind::member_lost));
  // None against none is as good as can be.
  return {{.value = count, .unit = "lost", .reference = the_goal, .ratio = count == 0 ? 1.0 : 0.0}};
}

bench_case on_processes(std::string name, std::string summary, auto measure, failure_detector_options detection) {
  return {.bench = "recovery",
          .name = std::move(name),
          .summary = std::move(summary),
          .where = placement_of_members::processes,
          .measure = measure,
          .options = {.detection = detection},
          .restart_delay = 0ms};
}

auto noticed_within(double goal_ms) {
  return [goal_ms](const measuring_plan& plan, cluster& cluster) { return noticed(plan, cluster, goal_ms); };
}

}  // namespace

std::vector<bench_case> silence_cases() {
  constexpr auto needs_time = "ten minutes of busy processors are needed (`--seconds 600`)";
  auto busy =
      on_processes("false-alarms", "workers reported lost although they only share busy processors", false_alarms, {});
  auto busy_tuned =
      on_processes("false-alarms-tuned", "the same with pings every 80 ms and silence_max 400 ms", false_alarms, tuned);
  busy.left_out_because = busy_tuned.left_out_because = needs_time;
  return {on_processes("freeze", "p99 until the freeze of a worker is noticed", noticed_within(2300), {}),
          on_processes("freeze-tuned", "the same with pings every 80 ms and silence_max 400 ms", noticed_within(500),
                       tuned),
          std::move(busy), std::move(busy_tuned)};
}

}  // namespace troupe::tools
