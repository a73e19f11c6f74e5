// What a queued closure, an idle worker process and a worker actor take.
#include "bench_caf_reference.hpp"
#include "bench_case.hpp"
#include "bench_process_memory.hpp"
#include "bench_simulation.hpp"

#include <troupe/actors/closures/worker.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>

#include <caf/actor_cast.hpp>

#include <atomic>

namespace troupe::tools {

namespace {

// --- a queued closure
// -------------------------------------------------------------------------------------------------

constexpr int queued = 100'000;

std::atomic<bool> gate_is_open{true};

/// Keeps all workers busy while it lives.
class closed_gate {
 public:
  explicit closed_gate(cluster_coordinator& coordinator) {
    gate_is_open = false;
    for (int i = 0; i < coordinator.strategy().worker_count(); ++i)
      coordinator.schedule(schedule_options{.worker = i}, [] { gate_is_open.wait(false); });
  }
  ~closed_gate() {
    gate_is_open = true;
    gate_is_open.notify_all();
  }
  closed_gate(const closed_gate&) = delete;
};

/// Bytes for each closure with a number and a float as arguments, in the queue of a coordinator whose workers are busy.
double closure_bytes(cluster_coordinator& coordinator) {
  std::int64_t grown = 0;
  {
    const closed_gate gate{coordinator};
    // The coordinator answers when it has taken in what was scheduled.
    coordinator.done();
    const auto before = allocated_bytes();
    for (std::int64_t i = 0; i < queued; ++i) coordinator.schedule([](std::int64_t, float) {}, i, 0.5f);
    coordinator.done();
    grown = allocated_bytes() - before;
  }
  coordinator.join();
  return static_cast<double>(grown) / queued;
}

/// Bytes for each message with the same content in a mailbox.
double message_bytes(caf::actor_system& system) {
  caf::scoped_actor self{system};
  const auto mailbox = caf::actor_cast<caf::actor>(self);
  const auto before = allocated_bytes();
  for (std::int64_t i = 0; i < queued; ++i) caf::anon_send(mailbox, i, 0.5f);
  return static_cast<double>(allocated_bytes() - before) / queued;
}

std::vector<figure> closure_memory(const measuring_plan& plan, cluster& cluster) {
  cluster_coordinator coordinator{parameter_server_strategy{cluster}};
  return {compare(
      plan, {"B", better::lower}, [&](std::chrono::nanoseconds) { return closure_bytes(coordinator); },
      "a message in a CAF mailbox", [&](std::chrono::nanoseconds) { return message_bytes(cluster.system()); })};
}

// --- an idle process
// --------------------------------------------------------------------------------------------------

std::vector<figure> node_memory(const measuring_plan& plan, cluster& cluster) {
  constexpr double mebibyte = 1 << 20;
  cluster_coordinator coordinator{parameter_server_strategy{cluster}};
  const caf_reference_process reference{cluster.system()};
  return {compare(
      plan, {"MiB", better::lower},
      [&](std::chrono::nanoseconds) {
        return static_cast<double>(coordinator.schedule([] { return resident_bytes(); }).fetch()) / mebibyte;
      },
      "an idle process with CAF's middleman",
      [&](std::chrono::nanoseconds) { return static_cast<double>(resident_bytes(reference.pid())) / mebibyte; })};
}

// --- a worker actor
// ---------------------------------------------------------------------------------------------------

/// Bytes for each of many actors that `spawn` makes and that have nothing to do.
template <class Spawn>
double actor_bytes(Spawn spawn) {
  constexpr int count = 1000;
  bench_simulation world;
  std::vector<caf::actor> actors;
  actors.reserve(count);
  const auto before = allocated_bytes();
  for (int i = 0; i < count; ++i) actors.push_back(caf::actor_cast<caf::actor>(spawn(world.system())));
  world.run();
  const auto grown = allocated_bytes() - before;
  for (const auto& actor : actors) caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  actors.clear();
  world.run();
  return static_cast<double>(grown) / count;
}

std::vector<figure> worker_memory(const measuring_plan& plan, cluster&) {
  return {compare(
      plan, {"B", better::lower},
      [](std::chrono::nanoseconds) {
        return actor_bytes(
            [](caf::actor_system& system) { return system.spawn(worker, dialer_actor{}, worker_options{}); });
      },
      "an echo actor of CAF",
      [](std::chrono::nanoseconds) {
        return actor_bytes([](caf::actor_system& system) { return system.spawn(caf_echo); });
      })};
}

}  // namespace

std::vector<bench_case> memory_cases() {
  return {{.bench = "memory",
           .name = "closure",
           .summary = "bytes of a queued closure with two numbers as arguments, while all workers are busy",
           .measure = closure_memory},
          {.bench = "memory",
           .name = "node",
           .summary = "resident memory of an idle worker process",
           .where = placement_of_members::processes,
           .size = {.workers = 1, .servers = 1},
           .measure = node_memory},
          {.bench = "memory",
           .name = "worker",
           .summary = "bytes of an idle worker actor",
           .size = {.workers = 1, .servers = 1},
           .measure = worker_memory}};
}

}  // namespace troupe::tools
