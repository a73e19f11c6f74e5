#include <troupe/device/base/error.hpp>
#include <troupe/runtime/fault_plan.hpp>
#include <troupe/runtime/simulation/fault_kinds.hpp>
#include <troupe/runtime/simulation/random_streams.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace troupe {

namespace {

constexpr std::array names{"kill",
                           "restart",
                           "switch_off",
                           "occupy",
                           "freeze",
                           "thaw",
                           "set_clock",
                           "slow_host",
                           "fill_disk",
                           "slow_disk",
                           "mend_disk",
                           "wipe_disk",
                           "cut",
                           "cut_one_way",
                           "heal",
                           "break_link",
                           "silence_link",
                           "slow_link",
                           "slow_link_one_way",
                           "heal_everything",
                           "drop",
                           "duplicate",
                           "delay",
                           "corrupt",
                           "fail_at",
                           "kill_at",
                           "hang_at",
                           "exhaust_memory"};

std::string to_text(const message_pattern& message) {
  return fmt::format("{}message{}{}", message.type.empty() ? std::string{} : message.type + " ",
                     message.from.empty() ? std::string{} : " from " + message.from,
                     message.to.empty() ? std::string{} : " to " + message.to);
}

std::string bandwidth_text(std::uint64_t bytes_per_second) {
  return bytes_per_second == 0 ? std::string{} : fmt::format(", to {} bytes/s", bytes_per_second);
}

/// "cut worker-1 chief-0".
std::string place_text(const planned_fault& fault) {
  return to_string(fault.what) + (fault.host.empty() ? "" : " " + fault.host) +
         (fault.other.empty() ? "" : " " + fault.other);
}

std::string what_text(const planned_fault& fault) {
  const auto name = to_string(fault.what);
  switch (fault.what) {
    case fault_kind::drop:
    case fault_kind::duplicate:
    case fault_kind::corrupt:
      return fmt::format("{} {} {}", name, to_text(fault.message), fault.nth);
    case fault_kind::delay:
      return fmt::format("{} {} {} by {} ms", name, to_text(fault.message), fault.nth, in_milliseconds(fault.time));
    case fault_kind::fail_at:
    case fault_kind::kill_at:
    case fault_kind::hang_at:
      return fmt::format("{} \"{}\" {}", name, fault.point, fault.nth);
    case fault_kind::exhaust_memory:
      return fmt::format("{} of {} at tensor {}{}", name, fault.host, fault.nth,
                         fault.bytes_min == 0 ? std::string{} : fmt::format(" of {} bytes and more", fault.bytes_min));
    case fault_kind::slow_link:
    case fault_kind::slow_link_one_way:
      return fmt::format("{} {} {} by {} ms, up to {} ms more{}", name, fault.host, fault.other,
                         in_milliseconds(fault.slowness.latency), in_milliseconds(fault.slowness.jitter),
                         bandwidth_text(fault.slowness.bytes_per_second));
    case fault_kind::slow_disk:
      return fmt::format("{} {} by {} ms{}", name, fault.host, in_milliseconds(fault.slowness.latency),
                         bandwidth_text(fault.slowness.bytes_per_second));
    case fault_kind::slow_host:
      return fmt::format("{} {} by {} us for each message", name, fault.host,
                         std::chrono::duration_cast<std::chrono::microseconds>(fault.time).count());
    case fault_kind::set_clock:
      return fmt::format("{} {} ahead by {} ms", name, fault.host, in_milliseconds(fault.time));
    default:
      return place_text(fault);
  }
}

}  // namespace

std::string site_of(const planned_fault& fault) { return has_time(fault.what) ? place_text(fault) : what_text(fault); }

std::string to_string(fault_kind kind) { return names.at(static_cast<std::size_t>(kind)); }

std::string to_string(const planned_fault& fault) {
  auto result = what_text(fault);
  if (!fault.when.empty()) result += fmt::format(" when \"{}\" has happened {} times", fault.when, fault.count);
  if (fault.when_sent != message_pattern{})
    result += fmt::format(" when {} {} was sent", to_text(fault.when_sent), fault.count);
  if (has_time(fault.what))
    result += fmt::format(" {} {:.3f} ms", has_condition(fault) ? "and after" : "at",
                          std::chrono::duration<double, std::milli>{fault.at}.count());
  return result;
}

// --- the builder ----------------------------------------------------------------------------------------------------

fault_plan::moment& fault_plan::moment::add(fault_kind what, std::string host, std::string other) {
  auto made = at_;
  made.what = what;
  made.host = std::move(host);
  made.other = std::move(other);
  plan_.faults.push_back(std::move(made));
  return *this;
}

fault_plan::moment& fault_plan::moment::set_clock(std::string host, duration ahead) {
  add(fault_kind::set_clock, std::move(host));
  plan_.faults.back().time = ahead;
  return *this;
}

fault_plan::moment& fault_plan::moment::slow_host(std::string host, duration each_message) {
  add(fault_kind::slow_host, std::move(host));
  plan_.faults.back().time = each_message;
  return *this;
}

fault_plan::moment& fault_plan::moment::slow_link(std::string a, std::string b, link_slowness by) {
  add(fault_kind::slow_link, std::move(a), std::move(b));
  plan_.faults.back().slowness = by;
  return *this;
}

fault_plan::moment& fault_plan::moment::slow_link_one_way(std::string from, std::string to, link_slowness by) {
  add(fault_kind::slow_link_one_way, std::move(from), std::move(to));
  plan_.faults.back().slowness = by;
  return *this;
}

fault_plan::moment& fault_plan::moment::slow_disk(std::string host, disk_slowness by) {
  add(fault_kind::slow_disk, std::move(host));
  plan_.faults.back().slowness = {.latency = by.latency, .jitter = {}, .bytes_per_second = by.bytes_per_second};
  return *this;
}

fault_plan::moment& fault_plan::moment::partition(const std::vector<std::string>& some,
                                                  const std::vector<std::string>& others) {
  for (const auto& a : some)
    for (const auto& b : others) cut(a, b);
  return *this;
}

fault_plan::moment fault_plan::at(duration since_start) {
  planned_fault when;
  when.at = since_start;
  return {*this, std::move(when)};
}

fault_plan::moment fault_plan::when(std::string happened, std::uint64_t count, duration after) {
  planned_fault condition;
  condition.when = std::move(happened);
  condition.count = count;
  condition.at = after;
  return {*this, std::move(condition)};
}

fault_plan::moment fault_plan::when_sent(message_pattern message, std::uint64_t count, duration after) {
  planned_fault condition;
  condition.when_sent = std::move(message);
  condition.count = count;
  condition.at = after;
  return {*this, std::move(condition)};
}

void fault_plan::drop(message_pattern message, std::uint64_t nth) {
  planned_fault made;
  made.what = fault_kind::drop;
  made.message = std::move(message);
  made.nth = nth;
  faults.push_back(std::move(made));
}

void fault_plan::duplicate(message_pattern message, std::uint64_t nth) {
  drop(std::move(message), nth);
  faults.back().what = fault_kind::duplicate;
}

void fault_plan::delay(message_pattern message, std::uint64_t nth, duration time) {
  drop(std::move(message), nth);
  faults.back().what = fault_kind::delay;
  faults.back().time = time;
}

void fault_plan::corrupt(message_pattern message, std::uint64_t nth) {
  drop(std::move(message), nth);
  faults.back().what = fault_kind::corrupt;
}

void fault_plan::fail_at(std::string point, std::uint64_t nth) {
  planned_fault made;
  made.what = fault_kind::fail_at;
  made.point = std::move(point);
  made.nth = nth;
  faults.push_back(std::move(made));
}

void fault_plan::kill_at(std::string point, std::uint64_t nth) {
  fail_at(std::move(point), nth);
  faults.back().what = fault_kind::kill_at;
}

void fault_plan::hang_at(std::string point, std::uint64_t nth) {
  fail_at(std::move(point), nth);
  faults.back().what = fault_kind::hang_at;
}

void fault_plan::exhaust_memory(std::string host, std::uint64_t nth, std::uint64_t bytes_min) {
  planned_fault made;
  made.what = fault_kind::exhaust_memory;
  made.host = std::move(host);
  made.nth = nth;
  made.bytes_min = bytes_min;
  faults.push_back(std::move(made));
}

// --- drawn plans ----------------------------------------------------------------------------------------------------

namespace {

/// What a drawn fault can be. A seed's plans depend on the order.
enum class drawn_kind {
  kill,
  freeze,
  cut,
  one_way_cut,
  broken_link,
  power_loss,
  clock_jump,
  slow_link,
  full_disk,
  slow_disk,
  disk_loss,
  one_way_slow_link,
  slow_host,
};
constexpr std::size_t drawn_kinds = 13;

/// By kind, how frequent it is compared with the others.
std::array<double, drawn_kinds> weights_of(const fault_rates& rates) {
  return {rates.kills,      rates.freezes,      rates.cuts,        rates.one_way_cuts,
          rates.breaks,     rates.power_losses, rates.clock_jumps, rates.slow_links,
          rates.full_disks, rates.slow_disks,   rates.disk_losses, rates.one_way_slow_links,
          rates.slow_hosts};
}

bool is_of_links(drawn_kind kind) {
  return kind == drawn_kind::cut || kind == drawn_kind::one_way_cut || kind == drawn_kind::broken_link ||
         kind == drawn_kind::slow_link || kind == drawn_kind::one_way_slow_link;
}

/// Draws what a plan needs.
class fault_drawing {
 public:
  fault_drawing(const fault_rates& rates, std::uint64_t seed)
      : rates_(rates), random_(seed, 6), weights_(weights_of(rates)) {
    const auto has_links = rates.hosts.size() + rates.spared.size() >= 2;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (!has_links && is_of_links(static_cast<drawn_kind>(i))) weights_[i] = 0;
    for (const auto each : weights_) total_ += each;
  }

  bool any() const { return total_ > 0; }

  /// From 0 to 1.
  double part() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }

  duration until_next() {
    return duration{static_cast<duration::rep>(-std::log(1 - part()) / rates_.faults_per_second * 1e9)};
  }

  void add_one(fault_plan& plan, duration begin) {
    const auto end =
        begin + rates_.least +
        duration{static_cast<duration::rep>(part() * static_cast<double>((rates_.most - rates_.least).count()))};
    const auto& host = one_host();
    const auto drawn = kind();
    if (is_of_links(drawn))
      add_one_of_links(plan, drawn, host, begin, end);
    else
      add_one_of_hosts(plan, drawn, host, begin, end);
  }

 private:
  void add_one_of_hosts(fault_plan& plan, drawn_kind drawn, const std::string& host, duration begin,
                        duration end) const {
    switch (drawn) {
      case drawn_kind::kill:
        plan.at(begin).kill(host);
        plan.at(end).restart(host);
        return;
      case drawn_kind::freeze:
        plan.at(begin).freeze(host);
        plan.at(end).thaw(host);
        return;
      case drawn_kind::power_loss:
        plan.at(begin).switch_off(host);
        plan.at(end).restart(host);
        return;
      case drawn_kind::clock_jump:
        plan.at(begin).set_clock(host, end - begin);
        plan.at(end).set_clock(host, {});
        return;
      case drawn_kind::full_disk:
        plan.at(begin).fill_disk(host);
        plan.at(end).mend_disk(host);
        return;
      case drawn_kind::slow_disk:
        plan.at(begin).slow_disk(host, rates_.slowness_of_disks);
        plan.at(end).mend_disk(host);
        return;
      case drawn_kind::slow_host:
        plan.at(begin).slow_host(host, rates_.message_time);
        plan.at(end).slow_host(host, {});
        return;
      default:
        plan.at(begin).switch_off(host);
        // Faults of one moment have no order.
        plan.at(begin + (end - begin) / 2).wipe_disk(host);
        plan.at(end).restart(host);
        return;
    }
  }

  void add_one_of_links(fault_plan& plan, drawn_kind drawn, const std::string& host, duration begin, duration end) {
    const auto& other = one_other(host);
    switch (drawn) {
      case drawn_kind::broken_link:
        plan.at(begin).break_link(host, other);
        return;
      case drawn_kind::cut:
        plan.at(begin).cut(host, other);
        break;
      case drawn_kind::one_way_cut: {
        const auto [from, to] = one_direction(host, other);
        plan.at(begin).cut_one_way(from, to);
        break;
      }
      case drawn_kind::one_way_slow_link: {
        const auto [from, to] = one_direction(host, other);
        plan.at(begin).slow_link_one_way(from, to, rates_.slowness);
        break;
      }
      default:
        plan.at(begin).slow_link(host, other, rates_.slowness);
        break;
    }
    plan.at(end).heal(host, other);
  }

  /// A spared one is drawn as the other only, and may be the one that is not heard.
  std::pair<std::string, std::string> one_direction(const std::string& host, const std::string& other) {
    const auto is_reversed = !rates_.spared.empty() && part() < 0.5;
    return is_reversed ? std::pair{other, host} : std::pair{host, other};
  }

  drawn_kind kind() {
    auto left = part() * total_;
    std::size_t last = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] == 0) continue;
      last = i;
      if ((left -= weights_[i]) < 0) break;
    }
    return static_cast<drawn_kind>(last);
  }
  const std::string& one_host() { return rates_.hosts[random_.below(rates_.hosts.size())]; }
  const std::string& one_other(const std::string& than) {
    const auto all = rates_.hosts.size() + rates_.spared.size();
    for (;;) {
      const auto number = random_.below(all);
      const auto& found =
          number < rates_.hosts.size() ? rates_.hosts[number] : rates_.spared[number - rates_.hosts.size()];
      if (found != than) return found;
    }
  }

  const fault_rates& rates_;
  random_stream random_;
  std::array<double, drawn_kinds> weights_;
  double total_ = 0;
};

void check(const fault_rates& rates) {
  const auto refuse = [](const std::string& what) { throw invalid_argument_error{"fault_rates: " + what}; };
  if (rates.hosts.empty()) refuse("`hosts` must name those that may fail");
  auto sorted = rates.hosts;
  sorted.insert(sorted.end(), rates.spared.begin(), rates.spared.end());
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    refuse("`hosts` and `spared` name one of them twice");
  constexpr auto per_second_max = 1e6;
  if (!(rates.faults_per_second > 0 && rates.faults_per_second <= per_second_max))
    refuse("`faults_per_second` must be more than 0 and at most 1000000");
  if (rates.least < duration::zero() || rates.most < rates.least)
    refuse("`least` must be at least 0 and at most `most`");
  for (const auto weight : weights_of(rates))
    if (!(weight >= 0)) refuse("frequencies must not be negative");
}

}  // namespace

fault_rates standard_faults(std::vector<std::string> hosts, duration until) {
  constexpr auto faults_per_run = 8;
  using seconds = std::chrono::duration<double>;
  return {.hosts = std::move(hosts),
          .faults_per_second = faults_per_run / std::max(seconds{until}.count(), 1e-9),
          .until = until,
          .least = std::max<duration>(until / 100, duration{1}),
          .most = std::max<duration>(until, duration{1}),
          .clock_jumps = 0.5,
          .slow_links = 0.5,
          .full_disks = 0.25,
          .slow_disks = 0.25};
}

fault_plan draw_faults(const fault_rates& rates, std::uint64_t seed) {
  check(rates);
  fault_plan result;
  fault_drawing drawing{rates, seed};
  if (!drawing.any()) throw invalid_argument_error{"fault_rates: all frequencies are 0, or links need a second host"};
  for (auto time = drawing.until_next(); time < rates.until; time += drawing.until_next())
    drawing.add_one(result, time);
  return result;
}

}  // namespace troupe
