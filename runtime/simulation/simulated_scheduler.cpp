#include <troupe/runtime/simulation/simulated_process.hpp>
#include <troupe/runtime/simulation/simulated_scheduler.hpp>

namespace troupe {

simulated_scheduler::simulated_scheduler(caf::actor_system& system, simulated_process& of)
    : test_coordinator(system), process_(of), clock_(of.plan(), [this] { process_.look_at_clock(); }) {}

void simulated_scheduler::enqueue(caf::resumable* job) { process_.add_job(job); }

void simulated_scheduler::stop() { process_.finish(); }

}  // namespace troupe
