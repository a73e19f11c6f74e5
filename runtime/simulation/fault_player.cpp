#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/runtime/simulation/basp_frames.hpp>
#include <troupe/runtime/simulation/fault_kinds.hpp>
#include <troupe/runtime/simulation/fault_player.hpp>

#include <fmt/format.h>

namespace troupe {

namespace {

/// The running fiber goes no further. @throws cancelled_error
void hang() {
  completion never_set;
  never_set.wait_until(never);
}

}  // namespace

fault_player::fault_player(simulated_world& world, simulated_world::implementation& all, const fault_plan& plan)
    : world_(world), all_(all) {
  auto watches = false;
  for (const auto& fault : plan.faults) {
    auto& made = sites_.emplace_back();
    made.what = fault;
    watches = watches || is_of_messages(fault.what) || fault.when_sent != message_pattern{};
    if (!has_time(fault.what)) continue;
    made.alarm.emplace(all.plan, nullptr, "fault", [this, &made] { return fire(made); });
    if (!has_condition(fault)) arm(made, fault.at);
  }
  if (watches) all.network.watch(this);
}

fault_player::~fault_player() { all_.network.watch(nullptr); }

// --- when -----------------------------------------------------------------------------------------------------------

void fault_player::arm(site& which, duration after) { which.alarm->set(later(all_.plan.now(), after)); }

void fault_player::see(site& which) {
  if (++which.seen == which.what.count) arm(which, which.what.at);
}

void fault_player::happened(const std::string& what) {
  for (auto& each : sites_)
    if (each.what.when == what) see(each);
}

bool fault_player::fits(const message_pattern& pattern, host_number from, host_number to,
                        std::span<const char> message) const {
  const auto& network = all_.network;
  return (pattern.from.empty() || network.name_of(from) == pattern.from) &&
         (pattern.to.empty() || network.name_of(to) == pattern.to) &&
         (pattern.type.empty() || has_type(message, pattern.type));
}

simulated_network::fate fault_player::sent(host_number from, host_number to, std::span<const char> message) {
  simulated_network::fate result;
  for (auto& each : sites_) {
    const auto& what = each.what;
    if (what.when_sent != message_pattern{} && fits(what.when_sent, from, to, message)) see(each);
    if (!is_of_messages(what.what) || !fits(what.message, from, to, message) || ++each.seen != what.nth) continue;
    ++each.fired;
    world_.note(fmt::format("{}: {}", to_string(what), content_of(message)));
    result.lost = result.lost || what.what == fault_kind::drop;
    result.twice = result.twice || what.what == fault_kind::duplicate;
    result.corrupted = result.corrupted || what.what == fault_kind::corrupt;
    if (what.what == fault_kind::delay) result.late += what.time;
  }
  return result;
}

void fault_player::reached(const char* point) {
  auto* const process = all_.turns.running;
  // The code of a test itself has no process to lose.
  if (process == nullptr || !process->runs_programs()) return;
  ++points_[point];
  happened(point);
  for (auto& each : sites_) {
    if (!is_of_points(each.what.what) || each.what.point != point || ++each.seen != each.what.nth) continue;
    ++each.fired;
    world_.note(fmt::format("{} in {}", to_string(each.what), process->name()));
    if (each.what.what == fault_kind::fail_at)
      throw unavailable_error{fmt::format("the fault point \"{}\" fails by plan", point)};
    if (each.what.what == fault_kind::hang_at) {
      if (fiber_host::current() != nullptr) return hang();
      throw failed_precondition_error{fmt::format(
          "the fault point \"{}\" can't hang: it is in a handler, not in a fiber, and its actor would stand "
          "still; freeze the host instead",
          point)};
    }
    all_.stop(*all_.hosts[process->host()]);
    throw cancelled_error{fmt::format("{} dies at the fault point \"{}\" by plan", process->name(), point)};
  }
}

void fault_player::allocating(std::size_t bytes) {
  const auto* const process = all_.turns.running;
  if (process == nullptr || !process->runs_programs()) return;
  for (auto& each : sites_) {
    const auto& what = each.what;
    if (what.what != fault_kind::exhaust_memory || what.host != process->name() || bytes < what.bytes_min) continue;
    if (++each.seen != what.nth) continue;
    ++each.fired;
    world_.note(to_string(what));
    throw resource_exhausted_error{
        fmt::format("cannot allocate {} bytes: out of memory on {} by plan", bytes, process->name())};
  }
}

// --- what -----------------------------------------------------------------------------------------------------------

bool fault_player::fire(site& which) {
  if (!has_condition(which.what)) ++which.seen;
  try {
    apply(which.what);
    ++which.fired;
  } catch (const failed_precondition_error& idle) {
    world_.note(fmt::format("not done: {}: {}", to_string(which.what), idle.message()));
  }
  return true;
}

void fault_player::apply(const planned_fault& what) {
  switch (what.what) {
    case fault_kind::kill:
      return world_.kill(what.host);
    case fault_kind::restart:
      return world_.restart(what.host);
    case fault_kind::switch_off:
      return world_.switch_off(what.host);
    case fault_kind::occupy:
      return world_.occupy(what.host);
    case fault_kind::freeze:
      return world_.freeze(what.host);
    case fault_kind::thaw:
      return world_.thaw(what.host);
    case fault_kind::set_clock:
      return world_.set_clock(what.host, what.time);
    case fault_kind::slow_host:
      return world_.slow_host(what.host, what.time);
    case fault_kind::fill_disk:
      return world_.fill_disk(what.host);
    case fault_kind::slow_disk:
      return world_.slow_disk(what.host,
                              {.latency = what.slowness.latency, .bytes_per_second = what.slowness.bytes_per_second});
    case fault_kind::mend_disk:
      return world_.mend_disk(what.host);
    case fault_kind::wipe_disk:
      return world_.wipe_disk(what.host);
    case fault_kind::cut:
      return world_.cut(what.host, what.other);
    case fault_kind::cut_one_way:
      return world_.cut_one_way(what.host, what.other);
    case fault_kind::heal:
      return world_.heal(what.host, what.other);
    case fault_kind::break_link:
      return world_.break_link(what.host, what.other);
    case fault_kind::silence_link:
      return world_.silence_link(what.host, what.other);
    case fault_kind::slow_link:
      return world_.slow_link(what.host, what.other, what.slowness);
    case fault_kind::slow_link_one_way:
      return world_.slow_link_one_way(what.host, what.other, what.slowness);
    case fault_kind::heal_everything:
      return world_.heal_everything();
    case fault_kind::drop:
    case fault_kind::duplicate:
    case fault_kind::delay:
    case fault_kind::corrupt:
    case fault_kind::fail_at:
    case fault_kind::kill_at:
    case fault_kind::hang_at:
    case fault_kind::exhaust_memory:
      // They happen where they are: `sent`, `reached`, `allocating`.
      return;
  }
}

std::vector<fault_coverage> fault_player::coverage() const {
  std::vector<fault_coverage> result;
  for (const auto& each : sites_)
    result.push_back({.what = to_string(each.what),
                      .site = site_of(each.what),
                      .is_point = false,
                      .reached = each.seen,
                      .fired = each.fired});
  for (const auto& [point, count] : points_) {
    const auto name = fmt::format("the point \"{}\"", point);
    result.push_back({.what = name, .site = name, .is_point = true, .reached = count, .fired = 0});
  }
  return result;
}

}  // namespace troupe
