#include "absences.hpp"
#include "chaos_hosts.hpp"
#include "chaos_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::tools {

namespace {

using seconds = std::chrono::duration<double>;
using verdict = invariant::verdict;

/// Cases of a broken invariant that are told; the others are counted.
constexpr std::size_t cases_max = 3;

spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  // The least value that so many percent of all are not above.
  const auto at = [&](std::size_t percent) { return values[(values.size() * percent + 99) / 100 - 1]; };
  return {values.size(), at(50), at(99), values.back()};
}

/// Each of these cases is against the invariant.
invariant judged(std::string what, const std::vector<std::string>& cases, verdict otherwise = verdict::broken) {
  invariant result{std::move(what), cases.empty() ? verdict::held : otherwise, {}};
  for (std::size_t i = 0; i < std::min(cases.size(), cases_max); ++i) result.why += (i == 0 ? "" : "; ") + cases[i];
  if (cases.size() > cases_max) result.why += fmt::format("; and {} more", cases.size() - cases_max);
  return result;
}

invariant success(const job_record& job, const chaos_limits& limits) {
  std::vector<std::string> cases;
  if (job.over_limit)
    cases.emplace_back("it was stopped at the limit");
  else if (job.exit_code != 0)
    cases.emplace_back(job.exit_code ? fmt::format("its exit code is {}", *job.exit_code) : "its chief did not end");
  return judged(fmt::format("the job succeeds within {:g} s", limits.job.count()), cases);
}

invariant nothing_left(const job_record& job) {
  std::vector<std::string> cases;
  for (const auto process : job.processes_left) cases.push_back(fmt::format("process {} is left", process));
  return judged("no process of the job's outlives it", cases);
}

/// What the chief noticed of what kept its members away, and how soon they were back.
class absence_study {
 public:
  absence_study(const job_record& job, const chaos_limits& limits)
      : job_(job), limits_(limits), stops_(stops_of_chief(job)) {
    for (const auto& task : job.tasks)
      if (!is_chief(task)) look_at(task);
  }

  std::vector<double> noticed;
  std::vector<double> back;
  std::vector<std::string> not_noticed;
  /// Not noticed, and only because they were ended late did they have to be.
  std::vector<std::string> ended_late;
  std::vector<std::string> not_back;

 private:
  void look_at(const task_id& member) {
    hindrances_ = hindrances_of(member, job_, limits_.silence);
    absences_ = absences_of(member, job_);
    for (const auto& each : hindrances_) look_at_notice(each);
    for (const auto& each : absences_) look_at_return(member, each);
  }

  void look_at_notice(const hindrance& what) {
    const auto was_in = std::none_of(absences_.begin(), absences_.end(), [&](const absence& each) {
      return each.begin <= what.begin && each.end.value_or(end_) > what.begin;
    });
    const auto end = what.end.value_or(end_);
    if (!was_in || what.is_bearable || (!what.is_sure && end - what.begin < limits_.silence)) return;
    if (is_chief_frozen(what.begin, what.begin + whole(limits_.notice))) return;
    const auto lost =
        std::find_if(absences_.begin(), absences_.end(), [&](const absence& each) { return each.begin > what.begin; });
    if (lost != absences_.end() && lost->begin - what.begin <= limits_.notice)
      noticed.push_back(seconds{lost->begin - what.begin}.count());
    else if (end_ - what.begin > limits_.notice)
      add_not_noticed(what, end - what.begin);
  }

  void add_not_noticed(const hindrance& what, seconds lasted) {
    auto text = fmt::format("{} (done at {:.1f} s)", to_string(what.cause->fault), since_begin(what.begin));
    if (what.is_sure || !what.planned || *what.planned >= limits_.silence)
      return not_noticed.push_back(std::move(text));
    ended_late.push_back(fmt::format("{} lasted {:.2f} s instead of {:.2f} s, as this machine was too busy to end it",
                                     text, lasted.count(), seconds{*what.planned}.count()));
  }

  /// From each moment at which nothing is in the member's way.
  void look_at_return(const task_id& member, const absence& out) {
    const auto end = out.end.value_or(end_);
    auto free_since = out.begin;
    for (const auto& each : hindrances_) {
      if (each.begin > end) break;
      if (each.begin > free_since) check_return(member, free_since, each.begin);
      free_since = std::max(free_since, std::min(each.end.value_or(end_), end));
    }
    check_return(member, free_since, end);
    if (out.end && !out.is_first) back.push_back(seconds{*out.end - free_since}.count());
  }

  void check_return(const task_id& member, time_point from, time_point until) {
    if (until - from <= limits_.back || is_chief_frozen(from, until)) return;
    not_back.push_back(fmt::format("{} was not back {:.1f} s after nothing was in its way, at {:.1f} s",
                                   host_name(member), seconds{until - from}.count(), since_begin(from)));
  }

  bool is_chief_frozen(time_point from, time_point until) const {
    return std::any_of(stops_.begin(), stops_.end(),
                       [&](const hindrance& each) { return each.begin < until && each.end.value_or(end_) > from; });
  }
  double since_begin(time_point time) const { return seconds{time - job_.begin}.count(); }
  static std::chrono::steady_clock::duration whole(seconds time) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
  }

  const job_record& job_;
  const chaos_limits& limits_;
  const time_point end_ = job_.chief_end.value_or(job_.end);
  std::vector<hindrance> stops_;
  std::vector<hindrance> hindrances_;
  std::vector<absence> absences_;
};

void study_events(const job_record& job, const chaos_limits& limits, chaos_report& into) {
  const auto notices = fmt::format("the chief notices within {:g} s who is kept from it", limits.notice.count());
  const auto returns = fmt::format("members are back within {:g} s", limits.back.count());
  if (!job.events) {
    constexpr auto why = "the program tells nothing: only the chief of troupe::run does";
    into.invariants.push_back({notices, verdict::unknown, why});
    into.invariants.push_back({returns, verdict::unknown, why});
    return;
  }
  for (const auto& each : *job.events) {
    into.losses += each.kind == event_kind::member_lost;
    if (each.kind == event_kind::closures_requeued) into.closures_run_again += each.count;
  }
  const absence_study study{job, limits};
  into.noticed_after = spread_of(study.noticed);
  into.back_after = spread_of(study.back);
  into.invariants.push_back(study.not_noticed.empty() ? judged(notices, study.ended_late, verdict::unknown)
                                                      : judged(notices, study.not_noticed));
  into.invariants.push_back(judged(returns, study.not_back));
}

}  // namespace

chaos_report examine(const job_record& job, const chaos_limits& limits) {
  chaos_report result;
  for (const auto& each : job.injections) {
    if (each.obstacle.empty())
      ++result.injected[to_string(each.fault.what)];
    else
      ++result.not_done;
  }
  result.left_out = job.left_out;
  result.seconds = seconds{job.end - job.begin}.count();
  result.invariants.push_back(success(job, limits));
  study_events(job, limits, result);
  result.invariants.push_back(nothing_left(job));
  return result;
}

int exit_code_of(const chaos_report& report) {
  if (report.invariants.front().result != verdict::held) return chaos_exit::job_failed;
  const auto is_broken = [](const invariant& each) { return each.result == verdict::broken; };
  return std::any_of(report.invariants.begin(), report.invariants.end(), is_broken) ? chaos_exit::invariant_broken
                                                                                    : chaos_exit::good;
}

}  // namespace troupe::tools
