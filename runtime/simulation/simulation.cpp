#include <troupe/runtime/simulation/simulation_implementation.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

/// The name of a host that may or may not run.
template <class Implementation>
std::string known_host(const Implementation& self, const task_id& task) {
  self.check_known(task);
  return host_of(task);
}

}  // namespace

simulation::simulation(simulation_options options) : implementation_(new implementation{options}) {
  implementation_->add_tasks();
}

simulation::simulation(simulated_world& in, local_cluster size, cluster_options options)
    : implementation_(new implementation{in, size, options}) {
  implementation_->add_tasks();
}

/// In a world of somebody else's, its hosts stay, and nothing runs there any more.
simulation::~simulation() { implementation_->remove_tasks(); }

// --- time -----------------------------------------------------------------------------------------------------------

duration simulation::now() const { return implementation_->world.now(); }
std::uint64_t simulation::steps() const { return implementation_->world.steps(); }
bool simulation::step() { return implementation_->world.step(); }
void simulation::run() { implementation_->world.run(); }
void simulation::advance(duration by) { implementation_->world.advance(by); }

bool simulation::run_until(const std::function<bool()>& condition, duration limit) {
  return implementation_->world.run_until(condition, limit);
}

void simulation::run_until_ready(duration limit) {
  const auto is_missing = [this](const task_id& task) { return task != chief_task && running(task) && !present(task); };
  const auto all = tasks();
  // Looking at all of them after each step would take longer than the steps.
  auto first = all.begin();
  const auto ready = [&] {
    if (first != all.end() && is_missing(*first)) return false;
    first = std::find_if(all.begin(), all.end(), is_missing);
    return first == all.end();
  };
  if (run_until(ready, limit)) return;
  std::string missing;
  for (const auto& task : all)
    if (is_missing(task)) missing += " " + to_string(task);
  throw deadline_exceeded_error{fmt::format("these tasks run but the chief did not take them in within {} ms:{}",
                                            in_milliseconds(limit), missing)};
}

// --- failures -------------------------------------------------------------------------------------------------------

void simulation::freeze(const task_id& task) { implementation_->world.freeze(implementation_->running_host(task)); }
void simulation::thaw(const task_id& task) { implementation_->world.thaw(implementation_->running_host(task)); }
void simulation::kill(const task_id& task) { implementation_->world.kill(implementation_->running_host(task)); }

void simulation::switch_off(const task_id& task) {
  implementation_->world.switch_off(implementation_->running_host(task));
}

void simulation::occupy(const task_id& task) { implementation_->world.occupy(known_host(*implementation_, task)); }
void simulation::restart(const task_id& task) { implementation_->world.restart(known_host(*implementation_, task)); }

void simulation::cut(const task_id& a, const task_id& b) {
  implementation_->world.cut(known_host(*implementation_, a), known_host(*implementation_, b));
}

void simulation::heal(const task_id& a, const task_id& b) {
  implementation_->world.heal(known_host(*implementation_, a), known_host(*implementation_, b));
}

void simulation::break_link(const task_id& a, const task_id& b) {
  implementation_->world.break_link(known_host(*implementation_, a), known_host(*implementation_, b));
}

void simulation::silence_link(const task_id& a, const task_id& b) {
  implementation_->world.silence_link(known_host(*implementation_, a), known_host(*implementation_, b));
}

// --- who is there ---------------------------------------------------------------------------------------------------

std::vector<task_id> simulation::tasks() const {
  std::vector<task_id> result;
  for (const auto& [task, _] : implementation_->addresses) result.push_back(task);
  return result;
}

bool simulation::running(const task_id& task) const {
  return implementation_->world.running(known_host(*implementation_, task));
}

bool simulation::frozen(const task_id& task) const { return implementation_->process(task).frozen(); }

bool simulation::present(const task_id& task) const {
  implementation_->check_known(task);
  const auto found = implementation_->present.find(task);
  return found != implementation_->present.end() && found->second;
}

std::uint64_t simulation::bytes_sent(const task_id& task) const {
  return implementation_->world.bytes_sent(known_host(*implementation_, task));
}

std::optional<member_end> simulation::end_of(const task_id& task) const {
  implementation_->check_known(task);
  const auto found = implementation_->ends.find(task);
  if (found == implementation_->ends.end()) return std::nullopt;
  return found->second;
}

caf::actor_system& simulation::system(const task_id& task) { return implementation_->process(task).system(); }
member simulation::here(const task_id& task) {
  implementation_->running_host(task);
  return member{implementation_->applications.at(task)};
}
void simulation::keep(const task_id& task, caf::actor handle) {
  implementation_->process(task).keep(std::move(handle));
}

const coordinator_actor& simulation::coordinator() const { return implementation_->running_chief().coordinator; }
const membership_actor& simulation::membership() const { return implementation_->running_chief().membership; }
const coordinator_ptr& simulation::owner_of_closures() const {
  return implementation_->running_chief().shared_coordinator;
}
const client_ptr& simulation::client() const { return implementation_->running_chief().client; }
const event_bus_actor& simulation::events() const { return implementation_->running_chief().events; }

const std::vector<simulation::occurrence>& simulation::occurrences() const { return implementation_->occurrences; }
const std::vector<std::string>& simulation::trace() const { return implementation_->all.trace; }
simulated_world& simulation::world() { return implementation_->world; }

}  // namespace troupe
