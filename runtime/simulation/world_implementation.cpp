#include <troupe/runtime/simulation/fault_player.hpp>
#include <troupe/runtime/simulation/simulated_program.hpp>
#include <troupe/runtime/simulation/world_implementation.hpp>

#include <caf/scheduled_actor.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// How long a process that was told to end takes for it.
constexpr duration end_delay = std::chrono::milliseconds{1};

std::string to_text(duration at) {
  return fmt::format("{:>4}.{:09} s", at.count() / 1'000'000'000, at.count() % 1'000'000'000);
}

std::string describe(const agenda::possibility& step) {
  const auto* const whose = step.process != nullptr ? step.process->name().c_str() : "the world";
  if (step.due != nullptr) return fmt::format("{}: {}", whose, step.due->what());
  const auto* const actor = dynamic_cast<const caf::scheduled_actor*>(step.job);
  return fmt::format("{}: {} {}", whose, actor != nullptr ? actor->name() : "actor",
                     actor != nullptr ? actor->id() : 0);
}

/// Fault points and tensors' memory are this world's while it takes a step.
class listening {
 public:
  explicit listening(fault_player* who) {
    detail::fault_points.store(who, std::memory_order_release);
    detail::allocations.store(who, std::memory_order_release);
  }
  ~listening() {
    detail::fault_points.store(nullptr, std::memory_order_release);
    detail::allocations.store(nullptr, std::memory_order_release);
  }
  listening(const listening&) = delete;
};

}  // namespace

simulated_world::implementation::implementation(const world_options& chosen)
    : options(chosen),
      random(chosen.seed),
      watch(chosen.seed, chosen.step_limit),
      ranks(random.order, chosen.falls, chosen.choices_expected),
      network(plan, random.network, random.corruption, {chosen.latency_min, chosen.latency_max}),
      bulk(std::make_shared<simulated_bulk>(plan, network, turns, chosen.bulk_bytes_per_second)) {
  turns.shares_memory = chosen.shares_memory;
  if (chosen.records_messages) network.record();
}

simulated_world::implementation::~implementation() {
  faults.reset();
  for (const auto& each : hosts)
    if (each->process) stop(*each);
  // Those that nobody kept refer to the network, too.
  hosts.clear();
}

// --- hosts ----------------------------------------------------------------------------------------------------------

simulated_world::implementation::host& simulated_world::implementation::add_host(const std::string& name, role what) {
  if (network.find_host(name)) throw already_exists_error{fmt::format("there is a host \"{}\" already", name)};
  const auto number = network.add_host(name);
  hosts.push_back(std::make_unique<host>(*this, number, name, std::move(what)));
  start(*hosts.back());
  return *hosts.back();
}

simulated_world::implementation::host& simulated_world::implementation::find(const std::string& name) const {
  if (const auto found = network.find_host(name)) return *hosts[*found];
  std::vector<std::string> names;
  for (const auto& each : hosts) names.push_back(each->name);
  throw invalid_argument_error{
      fmt::format("\"{}\" is no host of this simulation: it has {}", name,
                  names.empty() ? "none yet, they are made by host()" : fmt::format("{}", fmt::join(names, ", ")))};
}

simulated_process& simulated_world::implementation::running_process(const std::string& name) const {
  const auto& which = find(name);
  if (runs(which)) return *which.process;
  throw failed_precondition_error{fmt::format("{} does not run: it was killed or has ended; restart it first", name)};
}

void simulated_world::implementation::start(host& which) {
  plan.touch_shared();
  if (const auto dies = doomed.find(which.number); dies != doomed.end()) {
    dies->second.starts_again = true;
    return;
  }
  if (++processes > options.processes_max)
    throw resource_exhausted_error{fmt::format(
        "a simulation can start {} processes, restarts included: make another simulation", options.processes_max)};
  const auto incarnation = (random.identities() >> 1) | 1;
  which.end.reset();
  ++which.starts;
  // It may be in another process's turn that this one starts.
  const simulated_turn nobodys{turns, nullptr};
  which.process = std::make_unique<simulated_process>(
      simulated_process::surroundings{plan, network, turns, random.application, which.disk, [this] { look_at_all(); }},
      which.number, which.name, incarnation);
  which.process->set_message_time(which.message_time);
  network.attach(*which.process);
  bulk->look_at_all();
  const simulated_turn own{turns, which.process.get()};
  const step_watch::step watched{watch, which.name};
  if (which.what.boot) which.what.boot(*which.process);
}

void simulated_world::implementation::stop(host& which, simulated_network::death how) {
  plan.touch_shared();
  auto& dead = *which.process;
  if (turns.ran == &dead) turns.ran = nullptr;
  if (how == simulated_network::death::of_host) lose_power(which);
  if (turns.running != nullptr) {
    // Whose turn it is goes on to the end of it, which nobody hears of if that is who dies.
    network.detach(dead, how);
    dead.stop_programs();
    doomed.emplace(which.number, doom{how});
    return;
  }
  // What its actors do while they end reaches nobody, and handles must not outlive their actor system.
  const simulated_turn own{turns, &dead};
  const step_watch::step watched{watch, which.name};
  network.detach(dead, how);
  bulk->detach(dead);
  which.ending.set(never);
  dead.cancel_programs();
  if (which.what.at_end) which.what.at_end(dead);
  which.process.reset();
}

void simulated_world::implementation::lose_power(host& which) {
  which.disk.lose_power();
  const auto& lost = which.disk.lost();
  constexpr std::size_t named_max = 8;
  const auto named = std::min(lost.size(), named_max);
  if (named == 0) return;
  note(fmt::format("the disk of {} has lost what was not synced of {}{}", which.name,
                   fmt::join(lost.begin(), lost.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                   named == lost.size() ? std::string{} : fmt::format(" and {} more", lost.size() - named)));
}

void simulated_world::implementation::check_outside(const char* call) const {
  if (turns.running == nullptr) return;
  throw failed_precondition_error{
      fmt::format("{}() was called in {}, whose step it would wait for: time passes there by sleep_for", call,
                  turns.running->name())};
}

void simulated_world::implementation::end(host_number which, std::optional<status> why) {
  auto& of = *hosts[which];
  // What its programs say while it dies, nobody hears.
  if (!of.process || !of.process->runs_programs()) return;
  of.end = std::move(why);
  of.ending.set(plan.now() + end_delay);
}

void simulated_world::implementation::end_now(host_number which) {
  note(hosts[which]->name + " has ended");
  stop(*hosts[which]);
}

simulated_world::implementation::host* simulated_world::implementation::of_node(const caf::node_id& node) const {
  for (const auto& each : hosts)
    if (each->process && each->process->system().node() == node) return each.get();
  return nullptr;
}

void simulated_world::implementation::note(const std::string& line) {
  trace.push_back(to_text(elapsed()) + "  " + line);
  if (options.records_messages) events.push_back({elapsed(), line});
}

// --- steps ----------------------------------------------------------------------------------------------------------

std::size_t simulated_world::implementation::draw() {
  if (options.choice == step_choice::in_order) return next_in_order();
  const auto count = plan.choices();
  if (count == 1) return 0;
  ++choices;
  if (choices > options.drawn_choices) return 0;
  const auto drawn = options.choice == step_choice::evenly ? random.order.below(count) : ranks.highest(plan, choices);
  if (choices == options.drawn_choices) remember(drawn);
  return drawn;
}

std::size_t simulated_world::implementation::next_in_order() {
  const auto steps_worth_trying = worth_trying();
  if (plan.choices() == 1) return 0;
  alternatives.push_back(steps_worth_trying.size());
  const auto first = steps_worth_trying.front();
  const auto deviation = options.deviations.find(++choices);
  if (deviation == options.deviations.end()) return first;
  const auto chosen = steps_worth_trying[std::min(deviation->second, steps_worth_trying.size() - 1)];
  last_drawn =
      fmt::format("at {} {}, not {}", to_text(elapsed()), describe(plan.look(chosen)), describe(plan.look(first)));
  return chosen;
}

std::vector<std::size_t> simulated_world::implementation::worth_trying() {
  auto result = plan.in_order();
  if (!options.hosts_commute) return result;
  const auto oldest = result.front();
  std::erase_if(result, [this](std::size_t which) { return commuting_.is_late(plan.look(which)); });
  is_double_ = is_double_ || result.empty();
  return is_double_ ? std::vector{oldest} : result;
}

void simulated_world::implementation::remember(std::size_t drawn) {
  const auto first = describe(plan.look(0));
  last_drawn = fmt::format("at {} {}{}", to_text(elapsed()), describe(plan.look(drawn)),
                           drawn == 0 ? std::string{} : ", not " + first);
}

bool simulated_world::implementation::take(const agenda::possibility& chosen) {
  if (options.traces_steps) note(describe(chosen));
  static const std::string network_itself{"the network"};
  const simulated_turn own{turns, chosen.process};
  const step_watch::step watched{watch, chosen.process != nullptr ? chosen.process->name() : network_itself};
  turns.ran = chosen.process;
  if (chosen.due != nullptr) return agenda::act(*chosen.due);
  chosen.process->begin_job(chosen.job);
  return true;
}

void simulated_world::implementation::check() const {
  if (!turns.trespass.empty())
    throw failed_precondition_error{
        turns.trespass +
        ": it has a handle that did not reach it over the network, but through memory that "
        "the hosts share. Let it find the actor (remote_actor, find), or be sent the handle"};
  if (turns.ran != nullptr && turns.ran->has_started_a_thread())
    throw failed_precondition_error{
        turns.ran->name() +
        " has started a thread: it has spawned a detached or blocking actor, which no seed controls. Spawn it with "
        "its host or member, or spawn_with_thread (own_thread.hpp), which give it none in a simulation"};
  if (!violated.empty()) throw violation{violated};
  for (const auto& each : invariants)
    if (!each.holds())
      throw violation{fmt::format("the invariant \"{}\" does not hold at {}", each.name, to_text(elapsed()))};
}

bool simulated_world::implementation::step_now() {
  // The transport is the process's, and there may be other simulations.
  bulk_transport::install(bulk);
  const listening here{faults.get()};
  while (plan.choices() != 0) {
    const auto chosen = plan.take(draw());
    const auto of = chosen.process != nullptr ? std::optional{chosen.process->host()} : std::nullopt;
    const auto could_happen = plan.last_order();
    const auto happened = take(chosen);
    commuting_.taken(of, could_happen, plan.has_touched_shared());
    for (const auto& [which, dies] : std::exchange(doomed, {})) {
      stop(*hosts[which], dies.how);
      if (dies.starts_again) start(*hosts[which]);
    }
    if (!happened) continue;
    ++steps;
    if (++steps_of_instant > options.steps_per_instant_max)
      throw internal_error{fmt::format("a livelock: {} steps at {} without any passing of time (seed {})",
                                       steps_of_instant, to_text(elapsed()), options.seed)};
    check();
    return true;
  }
  return false;
}

bool simulated_world::implementation::step() {
  while (!step_now()) {
    const auto next = plan.next();
    if (next == never) return false;
    plan.set_now(next);
    steps_of_instant = 0;
  }
  return true;
}

bool simulated_world::implementation::run_until(const std::function<bool()>& condition, duration limit) {
  const auto last = later(plan.now(), limit);
  while (!condition()) {
    if (step_now()) continue;
    const auto next = plan.next();
    if (next == never && last == never) return false;
    plan.set_now(std::min(next, last));
    steps_of_instant = 0;
    if (next > last) return false;
  }
  return true;
}

void simulated_world::implementation::look_at_all() {
  plan.touch_shared();
  network.look_at_all();
  bulk->look_at_all();
}

}  // namespace troupe
