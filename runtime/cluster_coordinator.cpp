#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/variable_client.hpp>
#include <troupe/runtime/closures/nested_closures.hpp>
#include <troupe/runtime/closures/outstanding.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <atomic>

namespace troupe {

namespace {

void check_worker(const schedule_options& options, int workers) {
  if (options.worker >= workers)
    throw invalid_argument_error{
        fmt::format("schedule_options::worker is {} but must be -1 (any) or 0 to {}", options.worker, workers - 1)};
}

/// Whether a closure of this cluster's coordinator calls.
bool in_own_closure(const cluster& where) {
  auto* const here = closure_environment::current();
  return here != nullptr && here->runs_for(where.coordinator().address());
}

void check_outside(const cluster& where, std::string_view what) {
  if (in_own_closure(where))
    throw failed_precondition_error{
        fmt::format("{} was called inside a closure of the same coordinator, which would wait for its own end; call it "
                    "in the program that schedules, or fetch the remote values that the closure needs",
                    what)};
}

}  // namespace

std::shared_ptr<closure> cluster_coordinator::enqueue(detail::packed_closure packed, const schedule_options& options) {
  auto& cluster = get_cluster();
  check_worker(options, cluster.worker_count());
  auto scheduled = detail::make_closure(std::move(packed), options);
  const auto& queue = cluster.queue();
  // Before the push, so that the closure whose schedule throws never runs: `done` throws the pending error, or answers
  // at once when another thread was faster, since each error is raised once. A closure leaves the error to the program:
  // raising it means to cancel all closures, this one among them.
  if (queue->error_pending.load(std::memory_order_acquire) && !in_own_closure(cluster)) done();
  if (queue->push(scheduled)) caf::anon_send(cluster.coordinator(), submit_atom_v);
  detail::cancel_with_caller(scheduled, owner_of_closures());
  return scheduled;
}

void cluster_coordinator::join(duration limit) {
  auto& cluster = get_cluster();
  check_outside(cluster, "join()");
  // The coordinator keeps the limit, so that no error is raised to somebody who has gone.
  constexpr auto grace = std::chrono::seconds{10};
  const auto gives_up = later(later(current_time(), limit), grace);
  auto ended = false;
  try {
    ask(
        cluster.system(), cluster.coordinator(), gives_up - current_time(), "waiting for all closures",
        [&](bool answer) { ended = answer; }, drained_atom_v, std::int64_t{limit.count()});
  } catch (const deadline_exceeded_error&) {
    // Of a closure.
    if (current_time() < gives_up) throw;
  }
  if (ended) return;
  missed_deadlines::report("all closures", limit);
  throw deadline_exceeded_error{fmt::format("waiting for all closures took longer than its limit of {} ms: {}",
                                            in_milliseconds(limit),
                                            describe_outstanding(cluster.shared_coordinator(), nullptr, limit))};
}

bool cluster_coordinator::done() {
  auto& cluster = get_cluster();
  check_outside(cluster, "done()");
  bool result = false;
  constexpr auto limit = std::chrono::minutes{10};
  ask(
      cluster.system(), cluster.coordinator(), limit, "asking whether all closures have ended",
      [&](bool answer) { result = answer; }, idle_atom_v);
  return result;
}

std::vector<status> cluster_coordinator::errors() {
  auto& cluster = get_cluster();
  std::vector<status> result;
  ask(
      cluster.system(), cluster.coordinator(), std::chrono::seconds{10}, "asking for the closures' errors",
      [&](wire<std::vector<status>>& answer) { result = answer.take(); }, errors_atom_v);
  return result;
}

std::shared_ptr<per_worker_resource> cluster_coordinator::create_resource(detail::packed_closure packed) {
  static std::atomic<resource_id> last{0};
  if (!packed.inputs.empty())
    throw invalid_argument_error{
        "a per-worker value can't be built from remote or per-worker values: fetch them first"};
  auto& cluster = get_cluster();
  const auto id = ++last;
  // Answered when the workers' orders are under way, so that closures scheduled later follow them.
  ask(
      cluster.system(), cluster.coordinator(), std::chrono::seconds{30}, "making a per-worker value",
      [](caf::ok_atom) {}, resource_atom_v,
      wire<closure_order>{
          {.builds = id, .function = std::move(packed.function), .arguments = std::move(packed.arguments)}});
  return std::make_shared<per_worker_resource>(id, cluster.shared_coordinator());
}

}  // namespace troupe
