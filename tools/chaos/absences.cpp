#include "absences.hpp"
#include "chaos_hosts.hpp"

#include <troupe/runtime/launch/slow_links.hpp>
#include <troupe/runtime/simulation/fault_kinds.hpp>

#include <algorithm>

namespace troupe::tools {

namespace {

bool is_of_chief(const std::string& host) { return host == host_name({"chief", 0}); }

/// Whether the fault is about the link of this host with its chief.
bool is_of_link(const planned_fault& fault, const std::string& host) {
  return (fault.host == host && is_of_chief(fault.other)) || (fault.other == host && is_of_chief(fault.host));
}

// --- slow links -----------------------------------------------------------------------------------------------------

/// How late it may make what passes one way: by its latency, and by what may be ahead in the queue of its bottleneck.
std::chrono::duration<double> delay_at_most(const link_slowness& by) {
  const std::chrono::duration<double> queue{
      by.bytes_per_second == 0 ? 0 : slow_links::queue_bytes_min / static_cast<double>(by.bytes_per_second)};
  return by.latency + by.jitter + queue;
}

/// Answers may be so late that the member is lost: in both directions, each of which may be slow by a fault of its own,
/// and while the runtime's limits, which are shorter than this silence, run.
bool may_keep_away(const planned_fault& slow, std::chrono::duration<double> silence) {
  constexpr double part = 0.25;
  return delay_at_most(slow.slowness) >= part * silence;
}

/// An answer is never in time.
bool is_like_a_cut(const planned_fault& slow, std::chrono::duration<double> silence) {
  const auto directions = slow.what == fault_kind::slow_link ? 2 : 1;
  return directions * slow.slowness.latency >= silence;
}

/// Whether `later` says anew how slow the link is in all directions that `slow` made slow.
bool replaces(const planned_fault& later, const planned_fault& slow) {
  if (later.what == fault_kind::slow_link) return true;
  return slow.what == fault_kind::slow_link_one_way && later.host == slow.host;
}

// --- what keeps a member away ---------------------------------------------------------------------------------------

/// Whether `fault` begins something that keeps the host from its chief.
bool hinders(const planned_fault& fault, const std::string& host, std::chrono::duration<double> silence) {
  switch (fault.what) {
    case fault_kind::kill:
    case fault_kind::switch_off:
    case fault_kind::freeze:
      return fault.host == host;
    case fault_kind::cut:
    case fault_kind::cut_one_way:
    case fault_kind::break_link:
    case fault_kind::silence_link:
      return is_of_link(fault, host);
    case fault_kind::slow_link:
    case fault_kind::slow_link_one_way:
      return is_of_link(fault, host) && may_keep_away(fault, silence);
    default:
      return false;
  }
}

/// Whether `mend` ends what `fault` began.
bool ends(const planned_fault& mend, const planned_fault& fault, const std::string& host) {
  if (mend.what == fault_kind::heal_everything) return true;
  switch (fault.what) {
    case fault_kind::kill:
    case fault_kind::switch_off:
      return mend.what == fault_kind::restart && mend.host == host;
    case fault_kind::freeze:
      return mend.host == host &&
             (mend.what == fault_kind::thaw || mend.what == fault_kind::kill || mend.what == fault_kind::switch_off);
    case fault_kind::slow_link:
    case fault_kind::slow_link_one_way:
      if (is_slow_link(mend.what) && is_of_link(mend, host)) return replaces(mend, fault);
      [[fallthrough]];
    default:
      return mend.what == fault_kind::heal && is_of_link(mend, host);
  }
}

hindrance make_hindrance(const std::vector<injection>& all, std::size_t number, const std::string& host,
                         std::chrono::duration<double> silence) {
  const auto& fault = all[number].fault;
  hindrance result{&all[number], all[number].time};
  result.is_sure = fault.what == fault_kind::kill || fault.what == fault_kind::switch_off ||
                   fault.what == fault_kind::break_link || fault.what == fault_kind::silence_link;
  // New connections work at once.
  if (fault.what == fault_kind::break_link || fault.what == fault_kind::silence_link) result.end = result.begin;
  result.is_bearable = is_slow_link(fault.what) && !is_like_a_cut(fault, silence);
  for (auto i = number + 1; i < all.size() && !result.end; ++i) {
    if (!all[i].obstacle.empty() || !ends(all[i].fault, fault, host)) continue;
    result.end = all[i].time;
    result.planned = all[i].fault.at - fault.at;
  }
  // The launcher starts it again, which is up to it.
  if (fault.what == fault_kind::kill && !result.end) result.end = result.begin;
  return result;
}

std::vector<hindrance> all_hindrances(const std::string& host, const job_record& job,
                                      std::chrono::duration<double> silence) {
  std::vector<hindrance> result;
  for (std::size_t i = 0; i < job.injections.size(); ++i)
    if (job.injections[i].obstacle.empty() && hinders(job.injections[i].fault, host, silence))
      result.push_back(make_hindrance(job.injections, i, host, silence));
  return result;
}

}  // namespace

std::vector<hindrance> hindrances_of(const task_id& member, const job_record& job,
                                     std::chrono::duration<double> silence) {
  return all_hindrances(host_name(member), job, silence);
}

std::vector<hindrance> stops_of_chief(const job_record& job) {
  auto result = all_hindrances(host_name({"chief", 0}), job, {});
  std::erase_if(result, [](const hindrance& each) { return each.cause->fault.what != fault_kind::freeze; });
  return result;
}

std::vector<absence> absences_of(const task_id& member, const job_record& job) {
  std::vector<absence> result{{job.begin, {}, true}};
  for (const auto& each : *job.events) {
    if (each.task != member) continue;
    if (each.kind == event_kind::member_joined && !result.back().end) result.back().end = each.time;
    if (each.kind == event_kind::member_lost && result.back().end) result.push_back({each.time, {}, false});
  }
  return result;
}

}  // namespace troupe::tools
