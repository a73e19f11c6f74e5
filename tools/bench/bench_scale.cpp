// What grows with the number of members: what the chief sends until all are in, what one loss costs, and for how long
// the coordinator hears nobody.
#include "bench_case.hpp"
#include "bench_chief_world.hpp"
#include "bench_coordinator_stall.hpp"

#include <fmt/format.h>

#include <chrono>
#include <functional>

namespace troupe::tools {

namespace {

using namespace std::chrono_literals;

// --- members
// ----------------------------------------------------------------------------------------------------------

constexpr int few = 10;

using chief_work = chief_effort (*)(chief_world&);

/// Bytes are always the same; of the times the median, of as many as there is time for.
chief_effort effort_of(std::chrono::nanoseconds slice, int members, chief_work work) {
  chief_effort result;
  std::vector<double> times;
  const auto end = std::chrono::steady_clock::now() + slice;
  do {
    chief_world world{members};
    result = work(world);
    times.push_back(result.milliseconds);
  } while (std::chrono::steady_clock::now() < end);
  result.milliseconds = percentile_of(times, 0.5);
  return result;
}

figure compared(std::string unit, double value, std::string reference, double reference_value) {
  return {.value = value,
          .unit = std::move(unit),
          .reference = std::move(reference),
          .reference_value = reference_value,
          // Nothing against nothing is as good.
          .ratio = value == reference_value ? 1 : reference_value / value};
}

bench_case chief_case(const std::string& name, int members, const std::string& what, chief_work work,
                      bool in_proportion) {
  return {.bench = "scale",
          .name = fmt::format("{}-{}", name, members),
          .summary = fmt::format("what the chief of {} members sends, and its CPU time, {}", members, what),
          .size = {.workers = 1, .servers = 1},
          .measure = [=](const measuring_plan& plan, cluster&) {
            const auto half = plan.repetitions * plan.slice();
            const auto ours = effort_of(half, members, work);
            const auto theirs = effort_of(half, few, work);
            const auto factor = in_proportion ? static_cast<double>(members) / few : 1.0;
            const auto reference = fmt::format("{} members{}", few, in_proportion ? ", in proportion" : "");
            return std::vector{compared("B", ours.bytes, reference, theirs.bytes * factor),
                               compared("ms", ours.milliseconds, reference, theirs.milliseconds * factor)};
          }};
}

bench_case admission_case(int members) {
  return chief_case(
      "admission", members, "until all are in", [](chief_world& world) { return world.admit_all(); }, true);
}

bench_case loss_case(int members) {
  return chief_case(
      "loss", members, "because one worker is lost",
      [](chief_world& world) {
        world.admit_all();
        return world.lose_worker();
      },
      false);
}

/// Each worker hears of it.
bench_case server_loss_case(int members) {
  return chief_case(
      "server-loss", members, "because one server is lost",
      [](chief_world& world) {
        world.admit_all();
        return world.lose_server();
      },
      true);
}

// --- the coordinator
// --------------------------------------------------------------------------------------------------

using stall = double (*)(stalling_world&);

figure longest_message(const measuring_plan& plan, stalling_world::closures_are where, stall cause) {
  constexpr double goal_ms = 5;
  std::vector<double> longest;
  const auto end = std::chrono::steady_clock::now() + 2 * plan.repetitions * plan.slice();
  do {
    stalling_world world{where};
    longest.push_back(cause(world));
  } while (std::chrono::steady_clock::now() < end);
  const auto value = percentile_of(longest, 0.5);
  auto row = compared("ms", value, the_goal, goal_ms);
  row.p50 = value;
  row.p99 = percentile_of(longest, 0.99);
  return row;
}

bench_case stall_case(std::string name, std::string what, stalling_world::closures_are where, stall cause) {
  return {.bench = "scale",
          .name = std::move(name),
          .summary = fmt::format("the coordinator's longest message {}", what),
          .size = {.workers = 1, .servers = 1},
          .measure = [where, cause](const measuring_plan& plan, cluster&) {
            return std::vector{longest_message(plan, where, cause)};
          }};
}

template <double (stalling_world::*Cause)()>
double after_fill(stalling_world& world) {
  world.fill();
  return (world.*Cause)();
}

}  // namespace

std::vector<bench_case> scale_cases() {
  using enum stalling_world::closures_are;
  return {admission_case(10),
          admission_case(100),
          admission_case(1000),
          loss_case(10),
          loss_case(100),
          loss_case(1000),
          server_loss_case(10),
          server_loss_case(100),
          server_loss_case(1000),
          stall_case("stall-schedule", "while 262,144 closures are scheduled at once, for 1,000 workers", in_flight,
                     [](stalling_world& world) { return world.fill(); }),
          stall_case("stall-loss", "when a worker is lost that holds some of them", in_flight,
                     after_fill<&stalling_world::lose_worker>),
          stall_case("stall-limits", "when all of them, on the workers, pass their limit", in_flight,
                     after_fill<&stalling_world::pass_limit>),
          stall_case("stall-join", "when a join cancels all of them, on the workers", in_flight,
                     after_fill<&stalling_world::join_after_error>),
          stall_case("stall-join-queued", "when a join cancels all of them, most of which wait for workers", queued,
                     after_fill<&stalling_world::join_after_error>)};
}

}  // namespace troupe::tools
