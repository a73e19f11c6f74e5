// How soon a cluster of processes goes on when the process of a worker is killed.
//
// The chief, which measures, sends the signals; the launcher starts the process again, for the next time.
#include "bench_caf_reference.hpp"
#include "bench_case.hpp"
#include "bench_victim.hpp"

#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/launch/launcher.hpp>

#include <algorithm>
#include <csignal>
#include <thread>

namespace troupe::tools {

namespace {

using namespace std::chrono_literals;

constexpr double milliseconds_per_ns = 1e-6;
constexpr double seconds_per_ns = 1e-9;
/// How often the chief looks for what nobody tells it.
constexpr auto look_interval = 500us;

template <class T>
std::size_t count_ended(const std::vector<remote_value<T>>& values) {
  return static_cast<std::size_t>(std::count_if(
      values.begin(), values.end(), [](const auto& each) { return each.state() != remote_value_state::not_ready; }));
}

/// Repeats a measurement for the time, at least once.
std::vector<double> repeated(std::chrono::nanoseconds slice, const std::function<double()>& measure) {
  std::vector<double> all;
  const auto end = std::chrono::steady_clock::now() + slice;
  do all.push_back(measure());
  while (std::chrono::steady_clock::now() < end);
  return all;
}

// --- its closures run elsewhere
// ---------------------------------------------------------------------------------------

/// Stays, if it is begun by the worker that will be killed; returns when it ran elsewhere.
std::int64_t ran_elsewhere(variable<std::int64_t> begun) {
  if (current_worker_index() == victim) {
    begun.assign_add(1);
    sleep_for(1h);
  }
  return machine_time_ns();
}

/// From the kill until the last of the victim's closures runs on the other worker, in ms.
double time_until_elsewhere(cluster_coordinator& coordinator, const variable<std::int64_t>& begun) {
  constexpr std::size_t closures = 16;
  const auto process = running_victim(coordinator);
  const auto begun_before = begun.read();
  std::vector<remote_value<std::int64_t>> values;
  for (std::size_t i = 0; i < closures; ++i)
    values.push_back(coordinator.schedule<ran_elsewhere>({.limit = 1min}, begun));
  while (count_ended(values) + static_cast<std::size_t>(begun.read() - begun_before) < closures)
    std::this_thread::sleep_for(look_interval);
  if (count_ended(values) == closures) throw internal_error{"none of the closures ran on the worker that is killed"};
  const auto killed = send_signal(process, SIGKILL);
  auto last = killed;
  for (const auto& each : values) last = std::max(last, each.fetch());
  return static_cast<double>(last - killed) * milliseconds_per_ns;
}

/// From the kill of a raw CAF process until an actor that monitors one of its actors hears of it, in ms.
double time_until_down(caf::actor_system& system) {
  const caf_reference_process reference{system};
  caf::scoped_actor self{system};
  self->monitor(reference.handle());
  blocking_request(self, reference.handle());
  const auto killed = machine_time_ns();
  ::kill(reference.pid(), SIGKILL);
  self->receive([](const caf::down_msg&) {},
                caf::after(10s) >> [] { throw deadline_exceeded_error{"CAF did not report the loss of a process"}; });
  return static_cast<double>(machine_time_ns() - killed) * milliseconds_per_ns;
}

std::vector<figure> elsewhere(const measuring_plan& plan, cluster& cluster) {
  parameter_server_strategy strategy{cluster};
  cluster_coordinator coordinator{strategy};
  const auto begun = strategy.variable("begun", std::int64_t{0});
  auto row = compare_latencies(
      plan, "ms", 0.99,
      [&](std::chrono::nanoseconds slice) {
        return repeated(slice, [&] { return time_until_elsewhere(coordinator, begun); });
      },
      "raw CAF, until a monitor reports it",
      [&](std::chrono::nanoseconds slice) {
        return repeated(slice, [&] { return time_until_down(cluster.system()); });
      });
  running_victim(coordinator);  // who is not back when the chief ends is an orphan
  return {row};
}

// --- half way
// ---------------------------------------------------------------------------------------------------------

constexpr auto step_time = 20ms;
constexpr std::size_t steps = 200;
/// The victim comes back when all is over.
constexpr auto long_after = 4s;

/// Keeps its worker's thread, as computing would, but no core.
void one_step() { std::this_thread::sleep_for(step_time); }

/// What was left at the kill took so long, and would take so long at best on the worker that is left.
struct rest_of_schedule {
  double seconds;
  double ideal_seconds;
};

rest_of_schedule run_with_kill_half_way(cluster_coordinator& coordinator) {
  const auto process = running_victim(coordinator);
  std::vector<remote_value<void>> values;
  for (std::size_t i = 0; i < steps; ++i) values.push_back(coordinator.schedule<one_step>());
  while (count_ended(values) < steps / 2) std::this_thread::sleep_for(look_interval);
  const auto left = steps - count_ended(values);
  const auto killed = send_signal(process, SIGKILL);
  coordinator.join();
  return {static_cast<double>(machine_time_ns() - killed) * seconds_per_ns,
          static_cast<double>(left) * std::chrono::duration<double>(step_time).count()};
}

std::vector<figure> half_way(const measuring_plan& plan, cluster& cluster) {
  cluster_coordinator coordinator{parameter_server_strategy{cluster}};
  std::vector<double> taken, ideal, ratios;
  const auto whole = std::chrono::nanoseconds{static_cast<std::int64_t>(plan.seconds * 1e9)};
  repeated(whole, [&] {
    const auto rest = run_with_kill_half_way(coordinator);
    taken.push_back(rest.seconds);
    ideal.push_back(rest.ideal_seconds);
    ratios.push_back(rest.ideal_seconds / rest.seconds);
    return rest.seconds;
  });
  running_victim(coordinator);
  return {{.value = percentile_of(taken, 0.5),
           .unit = "s",
           .reference = "the ideal schedule of what was left",
           .reference_value = percentile_of(ideal, 0.5),
           .ratio = percentile_of(ratios, 0.5)}};
}

// --- back again
// -------------------------------------------------------------------------------------------------------

std::vector<figure> back_again(const measuring_plan& plan, cluster& cluster) {
  constexpr double goal_ms = 150;
  cluster_coordinator coordinator{parameter_server_strategy{cluster}};
  std::vector<double> since_kill;
  auto process = running_victim(coordinator);
  const auto whole = std::chrono::nanoseconds{static_cast<std::int64_t>(plan.seconds * 1e9)};
  const auto since_begin = repeated(whole, [&] {
    const auto killed = send_signal(process, SIGKILL);
    process = running_victim(coordinator);
    since_kill.push_back(static_cast<double>(process.ran_ns - killed) * milliseconds_per_ns);
    return static_cast<double>(process.ran_ns - process.began_ns) * milliseconds_per_ns;
  });
  const auto value = percentile_of(since_begin, 0.99);
  return {{.value = value,
           .unit = "ms",
           .reference = the_goal,
           .reference_value = goal_ms,
           .ratio = goal_ms / value,
           .p50 = percentile_of(since_begin, 0.5),
           .p99 = value,
           .details = {{"times", static_cast<std::int64_t>(since_begin.size())},
                       {"since kill", percentile_of(since_kill, 0.5)}}}};
}

bench_case with_restarts(std::string name, std::string summary, std::chrono::milliseconds restart_delay, auto measure) {
  return {.bench = "recovery",
          .name = std::move(name),
          .summary = std::move(summary),
          .where = placement_of_members::processes,
          .measure = measure,
          .restart_delay = restart_delay};
}

}  // namespace

std::vector<bench_case> recovery_cases() {
  return {with_restarts("kill", "p99 from the kill of a worker until its closures run elsewhere",
                        launcher_options{}.restart_delay, elsewhere),
          with_restarts("kill-half-way", "200 closures of 20 ms on 2 workers, one killed half way: what the rest takes",
                        long_after, half_way),
          with_restarts("back-again", "p99 from the start of a killed worker's code until it runs closures", 0ms,
                        back_again)};
}

}  // namespace troupe::tools
