#include <troupe/actors/fibers/open_waits.hpp>
#include <troupe/actors/offers/member.hpp>
#include <troupe/runtime/simulation/fault_player.hpp>
#include <troupe/runtime/simulation/simulated_member.hpp>
#include <troupe/runtime/simulation/simulated_program.hpp>
#include <troupe/runtime/simulation/world_implementation.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

namespace {

struct pair_of_hosts {
  host_number first;
  host_number second;
};

void require_possible(const link_slowness& by, const char* call) {
  if (by.latency < duration::zero() || by.jitter < duration::zero())
    throw invalid_argument_error{fmt::format("{}: latency and jitter must be at least 0", call)};
}

pair_of_hosts find_pair(const simulated_world::implementation& all, const std::string& a, const std::string& b) {
  const pair_of_hosts result{all.find(a).number, all.find(b).number};
  if (a == b) throw invalid_argument_error{fmt::format("a link is between two hosts, but both are {}", a)};
  return result;
}

}  // namespace

simulated_world::simulated_world(world_options options) {
  if (options.latency_min < duration::zero() || options.latency_max < options.latency_min)
    throw invalid_argument_error{"a simulation's latency_min must be at least 0 and at most latency_max"};
  if (options.hosts_commute && (options.latency_min != options.latency_max || options.latency_min == duration::zero()))
    throw invalid_argument_error{
        "a simulation's hosts_commute needs a latency_min of more than 0, which latency_max is, too: else it makes a "
        "difference who sends first"};
  if (options.hosts_commute && options.choice != step_choice::in_order)
    throw invalid_argument_error{"a simulation's hosts_commute needs the choice in_order: other choices are draws"};
  auto plan = options.plan;
  if (options.faults)
    for (auto& each : draw_faults(*options.faults, options.seed).faults) plan.faults.push_back(std::move(each));
  implementation_ = std::make_unique<implementation>(options);
  implementation_->faults = std::make_unique<fault_player>(*this, *implementation_, plan);
  implementation_->all_faults = std::move(plan);
}

simulated_world::~simulated_world() = default;

// --- hosts ----------------------------------------------------------------------------------------------------------

void simulated_world::host(const std::string& name, std::function<void(simulated_host&)> program) {
  const auto latest = std::make_shared<std::weak_ptr<simulated_host>>();
  const auto boot = [this, latest, program = std::move(program)](simulated_process& started) {
    const auto number = started.host();
    const auto here = std::make_shared<simulated_host>(*this, started, implementation_->hosts[number]->starts);
    start_program_in(started, [here, program] { program(*here); }, {.on_failure = [this, number](const status& why) {
                       auto& of = *implementation_->hosts[number];
                       if (of.process->runs_programs()) note(fmt::format("{} fails: {}", of.name, why.render()));
                       implementation_->end(number, why);
                     }});
    // Others of its programs may still refer to it.
    started.keep_object(here);
    *latest = here;
  };
  const auto at_end = [latest](simulated_process&) {
    if (const auto here = latest->lock()) here->end();
  };
  implementation_->add_host(name, {.boot = boot, .at_end = at_end});
}

std::vector<std::string> simulated_world::hosts() const {
  std::vector<std::string> result;
  for (const auto& each : implementation_->hosts) result.push_back(each->name);
  return result;
}

bool simulated_world::running(const std::string& name) const {
  return implementation_->runs(implementation_->find(name));
}
bool simulated_world::frozen(const std::string& name) const { return implementation_->running_process(name).frozen(); }
std::uint64_t simulated_world::starts(const std::string& name) const { return implementation_->find(name).starts; }
std::optional<status> simulated_world::end_of(const std::string& name) const { return implementation_->find(name).end; }

std::uint64_t simulated_world::bytes_sent(const std::string& name) const {
  return implementation_->network.bytes_sent(implementation_->find(name).number);
}

caf::actor_system& simulated_world::system(const std::string& name) {
  return implementation_->running_process(name).system();
}

eventual<caf::ok_atom> simulated_world::start_program(const std::string& name, std::function<void()> program) {
  return start_program_in(implementation_->running_process(name), std::move(program));
}

// --- time -----------------------------------------------------------------------------------------------------------

duration simulated_world::now() const { return implementation_->elapsed(); }
bool simulated_world::step() {
  implementation_->check_outside("step");
  return implementation_->step();
}
std::uint64_t simulated_world::steps() const { return implementation_->steps; }
std::uint64_t simulated_world::choices() const { return implementation_->choices; }
const std::vector<std::size_t>& simulated_world::alternatives() const { return implementation_->alternatives; }
const std::string& simulated_world::last_drawn() const { return implementation_->last_drawn; }

void simulated_world::run() {
  implementation_->check_outside("run");
  while (implementation_->step_now()) {
  }
}

void simulated_world::advance(duration by) {
  implementation_->check_outside("advance");
  implementation_->run_until([] { return false; }, by);
}

bool simulated_world::run_until(const std::function<bool()>& condition, duration limit) {
  implementation_->check_outside("run_until");
  return implementation_->run_until(condition, limit);
}

// --- failures -------------------------------------------------------------------------------------------------------

void simulated_world::freeze(const std::string& name) {
  auto& process = implementation_->running_process(name);
  if (process.frozen()) throw failed_precondition_error{name + " is frozen already"};
  note("freeze " + name);
  process.set_frozen(true);
}

void simulated_world::thaw(const std::string& name) {
  auto& process = implementation_->running_process(name);
  if (!process.frozen()) throw failed_precondition_error{name + " is not frozen"};
  note("thaw " + name);
  process.set_frozen(false);
}

void simulated_world::kill(const std::string& name) {
  implementation_->running_process(name);
  note("kill " + name);
  implementation_->stop(implementation_->find(name));
}

void simulated_world::switch_off(const std::string& name) {
  auto& which = implementation_->find(name);
  note("switch off " + name);
  if (implementation_->runs(which)) return implementation_->stop(which, simulated_network::death::of_host);
  // Its process has died before, and not its disk.
  implementation_->lose_power(which);
}

void simulated_world::occupy(const std::string& name) {
  if (running(name)) throw failed_precondition_error{name + " runs: kill it first"};
  note("occupy " + name);
  implementation_->network.occupy(implementation_->find(name).number);
}

void simulated_world::restart(const std::string& name) {
  if (running(name)) throw failed_precondition_error{name + " runs: kill it first"};
  note("restart " + name);
  implementation_->start(implementation_->find(name));
}

void simulated_world::cut(const std::string& a, const std::string& b) {
  const auto [first, second] = find_pair(*implementation_, a, b);
  note(fmt::format("cut {} {}", a, b));
  implementation_->network.cut(first, second);
  implementation_->network.cut(second, first);
  implementation_->bulk->look_at_all();
}

void simulated_world::cut_one_way(const std::string& from, const std::string& to) {
  const auto [first, second] = find_pair(*implementation_, from, to);
  note(fmt::format("cut {} to {}", from, to));
  implementation_->network.cut(first, second);
  implementation_->bulk->look_at_all();
}

void simulated_world::heal(const std::string& a, const std::string& b) {
  const auto [first, second] = find_pair(*implementation_, a, b);
  note(fmt::format("heal {} {}", a, b));
  implementation_->network.heal(first, second);
  implementation_->bulk->look_at_all();
}

void simulated_world::break_link(const std::string& a, const std::string& b) {
  const auto [first, second] = find_pair(*implementation_, a, b);
  note(fmt::format("break {} {}", a, b));
  implementation_->network.break_links(first, second);
}

void simulated_world::silence_link(const std::string& a, const std::string& b) {
  const auto [first, second] = find_pair(*implementation_, a, b);
  note(fmt::format("silence {} {}", a, b));
  implementation_->network.silence_links(first, second);
}

void simulated_world::slow_link(const std::string& a, const std::string& b, link_slowness by) {
  const auto [first, second] = find_pair(*implementation_, a, b);
  require_possible(by, "slow_link");
  note(fmt::format("slow {} {} by {} ms", a, b, in_milliseconds(by.latency)));
  implementation_->network.slow(first, second, by);
  implementation_->network.slow(second, first, by);
}

void simulated_world::slow_link_one_way(const std::string& from, const std::string& to, link_slowness by) {
  const auto [first, second] = find_pair(*implementation_, from, to);
  require_possible(by, "slow_link_one_way");
  note(fmt::format("slow {} to {} by {} ms", from, to, in_milliseconds(by.latency)));
  implementation_->network.slow(first, second, by);
}

void simulated_world::slow_host(const std::string& name, duration each_message) {
  auto& host = implementation_->find(name);
  if (each_message < duration::zero())
    throw invalid_argument_error{"slow_host: the time of each message must be at least 0"};
  note(fmt::format("each message of {} takes {} us", name,
                   std::chrono::duration_cast<std::chrono::microseconds>(each_message).count()));
  host.message_time = each_message;
  if (host.process) host.process->set_message_time(each_message);
}

void simulated_world::fill_disk(const std::string& name) {
  auto& disk = implementation_->find(name).disk;
  if (disk.full()) throw failed_precondition_error{fmt::format("the disk of {} is full already", name)};
  note("fill the disk of " + name);
  disk.set_full(true);
}

void simulated_world::slow_disk(const std::string& name, disk_slowness by) {
  auto& disk = implementation_->find(name).disk;
  if (by.latency < duration::zero()) throw invalid_argument_error{"slow_disk: the latency must be at least 0"};
  note(fmt::format("slow the disk of {} by {} ms", name, in_milliseconds(by.latency)));
  disk.set_slowness(by);
}

void simulated_world::mend_disk(const std::string& name) {
  auto& disk = implementation_->find(name).disk;
  if (!disk.has_fault()) throw failed_precondition_error{fmt::format("the disk of {} is neither full nor slow", name)};
  note("mend the disk of " + name);
  disk.set_full(false);
  disk.set_slowness({});
}

void simulated_world::wipe_disk(const std::string& name) {
  if (running(name)) throw failed_precondition_error{name + " runs: kill it first"};
  note("wipe the disk of " + name);
  implementation_->find(name).disk.wipe();
}

void simulated_world::set_clock(const std::string& name, duration ahead) {
  auto& process = implementation_->running_process(name);
  note(fmt::format("the clock of {} is ahead by {} ms", name, in_milliseconds(ahead)));
  process.set_clock(ahead);
}

void simulated_world::heal_everything() {
  auto& network = implementation_->network;
  const auto& all = implementation_->hosts;
  for (const auto& [a, b] : network.bad_links()) heal(all[a]->name, all[b]->name);
  for (const auto& each : all) {
    if (each->disk.has_fault()) mend_disk(each->name);
    if (each->message_time != duration::zero()) slow_host(each->name, {});
    if (!implementation_->runs(*each)) {
      restart(each->name);
      continue;
    }
    if (each->process->frozen()) thaw(each->name);
    each->process->set_clock({});
  }
}

void simulated_world::happened(const std::string& what) {
  // Hosts may say so while the world ends.
  if (implementation_->faults) implementation_->faults->happened(what);
}
const fault_plan& simulated_world::plan() const { return implementation_->all_faults; }
std::vector<fault_coverage> simulated_world::coverage() const { return implementation_->faults->coverage(); }

// --- what must hold, and the rest -----------------------------------------------------------------------------------

void simulated_world::invariant(std::string name, std::function<bool()> holds) {
  implementation_->invariants.push_back({std::move(name), std::move(holds)});
}

void simulated_world::require(bool holds, const std::string& otherwise) {
  if (holds) return;
  note("violated: " + otherwise);
  // Whatever becomes of the exception there, the step fails.
  if (implementation_->turns.running != nullptr) implementation_->violated = otherwise;
  throw violation{otherwise};
}

std::uint64_t simulated_world::random(std::uint64_t below) {
  implementation_->plan.touch_shared();
  return implementation_->random.application.below(below);
}
void simulated_world::keep_object(std::shared_ptr<void> object) { implementation_->kept.push_back(std::move(object)); }
void simulated_world::note(const std::string& line) { implementation_->note(line); }
const std::vector<std::string>& simulated_world::trace() const { return implementation_->trace; }
const world_options& simulated_world::options() const { return implementation_->options; }

std::string simulated_world::describe_waits() const {
  std::string text;
  for (const auto& each : implementation_->hosts) {
    if (!each->process) continue;
    auto& system = each->process->system();
    for (const auto& wait : open_waits(&system, system.clock().now()))
      text += fmt::format("  {}{}: {} has waited for {} ms for {}\n", each->name,
                          each->process->frozen() ? " (frozen)" : "", wait.who, wait.time_ns / 1'000'000, wait.what);
  }
  return text.empty() ? "  nothing: what is left are actors without fibers\n" : text;
}

space_time simulated_world::picture() const {
  space_time result{.hosts = hosts(), .messages = {}, .events = implementation_->events};
  for (const auto& each : implementation_->network.recorded())
    result.messages.push_back({.sent = each.sent - simulation_beginning,
                               .arrives = each.arrives - simulation_beginning,
                               .lost = each.lost,
                               .from = implementation_->network.name_of(each.from),
                               .to = implementation_->network.name_of(each.to),
                               .what = each.what});
  return result;
}

const std::string& simulated_host::name() const { return process_.name(); }
caf::actor_system& simulated_host::system() const { return process_.system(); }
void simulated_host::enter_with(credentials own) { process_.stand_at_doors(std::move(own)); }

void simulated_host::start_program(std::function<void()> program) { start_program_in(process_, std::move(program)); }
member simulated_host::as_member() {
  if (!application_) application_ = become_member(*world_.implementation_, process_);
  return member{application_};
}
void simulated_host::end() {
  if (application_) leave(*application_, process_);
}
void simulated_host::keep(caf::actor handle) { process_.keep(std::move(handle)); }

}  // namespace troupe
