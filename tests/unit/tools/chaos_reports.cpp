// What a report says of made-up jobs: which faults must be noticed, how soon members are back, and what is broken.
#include "../tools/chaos/chaos_report.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(chaos_reports_suite)

namespace {

using namespace std::chrono_literals;
using namespace troupe;
using namespace troupe::tools;
using verdict = invariant::verdict;

const task_id worker_0{"worker", 0};
const task_id worker_1{"worker", 1};

/// A job of 100 s of two workers and a server, all in after 1 s, whose times are seconds from its start.
class made_job {
 public:
  made_job() {
    record_.begin = at(0);
    record_.end = at(100);
    record_.exit_code = 0;
    record_.tasks = {{"ps", 0}, worker_0, worker_1, {"chief", 0}};
    record_.events.emplace();
    for (const auto& task : {task_id{"ps", 0}, worker_0, worker_1}) joined(1, task);
  }

  made_job& fault(double time, fault_kind what, std::string host, std::string other = {}, std::string obstacle = {}) {
    planned_fault made;
    made.at = std::chrono::duration_cast<duration>(at(time) - at(0));
    made.what = what;
    made.host = std::move(host);
    made.other = std::move(other);
    record_.injections.push_back({made, at(time), std::move(obstacle)});
    return *this;
  }
  made_job& slow(double time, fault_kind what, std::string host, std::string other, const link_slowness& by) {
    fault(time, what, std::move(host), std::move(other));
    record_.injections.back().fault.slowness = by;
    return *this;
  }
  /// The fault that was added last was done so much later than planned.
  made_job& late_by(double seconds) {
    record_.injections.back().time += at(seconds) - at(0);
    return *this;
  }
  made_job& lost(double time, const task_id& task) { return add(time, event_kind::member_lost, task, 0); }
  made_job& joined(double time, const task_id& task) { return add(time, event_kind::member_joined, task, 0); }
  made_job& run_again(double time, std::uint64_t count) {
    return add(time, event_kind::closures_requeued, worker_0, count);
  }

  job_record& record() { return record_; }
  chaos_report report() const { return examine(record_, {}); }

 private:
  static std::chrono::steady_clock::time_point at(double seconds) {
    return std::chrono::steady_clock::time_point{} + std::chrono::milliseconds{static_cast<int>(seconds * 1000)};
  }
  made_job& add(double time, event_kind kind, const task_id& task, std::uint64_t count) {
    record_.events->push_back({kind, task, 0, count, at(time), {}});
    return *this;
  }

  job_record record_;
};

// In the order of a report.
constexpr std::size_t job_succeeds = 0;
constexpr std::size_t all_is_noticed = 1;
constexpr std::size_t all_are_back = 2;
constexpr std::size_t nothing_is_left = 3;

verdict result_of(const chaos_report& report, std::size_t number) { return report.invariants.at(number).result; }

bool holds(const chaos_report& report) {
  for (const auto& each : report.invariants)
    if (each.result != verdict::held) return false;
  return true;
}

void require_seconds(double value, double expected) {
  BOOST_TEST(value == expected, boost::test_tools::tolerance(1e-6));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_kill_is_noticed_by_the_next_loss_and_mended_by_the_next_joining) {
  const auto report = made_job{}
                          .fault(10, fault_kind::kill, "worker-0")
                          .lost(10.5, worker_0)
                          .run_again(10.6, 3)
                          .fault(12, fault_kind::restart, "worker-0")
                          .joined(12.25, worker_0)
                          .report();
  BOOST_TEST(report.noticed_after.count == 1);
  require_seconds(report.noticed_after.p50, 0.5);
  BOOST_TEST(report.back_after.count == 1);
  require_seconds(report.back_after.max, 0.25);
  BOOST_TEST(report.losses == 1);
  BOOST_TEST(report.closures_run_again == 3);
  BOOST_TEST(report.injected.at("kill") == 1);
  BOOST_TEST(holds(report));
  BOOST_TEST(exit_code_of(report) == chaos_exit::good);
}

BOOST_AUTO_TEST_CASE(a_kill_that_is_not_noticed_breaks_the_report) {
  const auto report =
      made_job{}.fault(10, fault_kind::kill, "worker-0").lost(21, worker_0).joined(22, worker_0).report();
  BOOST_TEST((result_of(report, all_is_noticed) == verdict::broken));
  BOOST_TEST(report.invariants[all_is_noticed].why.find("kill worker-0") != std::string::npos);
  BOOST_TEST(exit_code_of(report) == chaos_exit::invariant_broken);
}

BOOST_AUTO_TEST_CASE(a_short_silence_need_not_be_noticed_a_long_one_must) {
  for (const auto silence : {2, 4}) {
    made_job job;
    job.fault(10, fault_kind::freeze, "worker-1").fault(10 + silence, fault_kind::thaw, "worker-1");
    job.fault(40, fault_kind::cut_one_way, "chief-0", "worker-0")
        .fault(40 + silence, fault_kind::heal, "worker-0", "chief-0");
    BOOST_TEST((result_of(job.report(), all_is_noticed) == (silence == 2 ? verdict::held : verdict::broken)));
  }
}

BOOST_AUTO_TEST_CASE(a_fault_that_had_to_be_noticed_only_as_it_was_ended_late_makes_the_answer_unknown) {
  made_job job;
  job.fault(10, fault_kind::freeze, "worker-1").fault(12.05, fault_kind::thaw, "worker-1").late_by(1);
  const auto report = job.report();
  BOOST_TEST((result_of(report, all_is_noticed) == verdict::unknown));
  BOOST_TEST(
      report.invariants[all_is_noticed].why ==
      "freeze worker-1 at 10000.000 ms (done at 10.0 s) lasted 3.05 s instead of 2.05 s, as this machine was too "
      "busy to end it");
  BOOST_TEST(exit_code_of(report) == chaos_exit::good);
  // It was noticed.
  made_job noticed = job;
  BOOST_TEST(holds(noticed.lost(13.1, worker_1).joined(13.2, worker_1).report()));
  BOOST_TEST(noticed.report().noticed_after.count == 1);
  // Another one is broken whatever that one is.
  made_job broken = job;
  broken.fault(30, fault_kind::kill, "worker-0");
  BOOST_TEST((result_of(broken.report(), all_is_noticed) == verdict::broken));
  BOOST_TEST(broken.report().invariants[all_is_noticed].why == "kill worker-0 at 30000.000 ms (done at 30.0 s)");
}

BOOST_AUTO_TEST_CASE(a_fault_that_is_long_by_the_plan_must_be_noticed_however_late_it_is_ended) {
  for (const auto late : {0, 5}) {
    made_job job;
    job.fault(10, fault_kind::freeze, "worker-1").fault(14, fault_kind::thaw, "worker-1").late_by(late);
    BOOST_TEST((result_of(job.report(), all_is_noticed) == verdict::broken));
  }
}

BOOST_AUTO_TEST_CASE(after_the_chiefs_end_nobody_notices_anything) {
  made_job job;
  job.fault(85, fault_kind::freeze, "worker-1");
  BOOST_TEST((result_of(job.report(), all_is_noticed) == verdict::broken));
  job.record().chief_end = job.record().begin + 90s;
  BOOST_TEST(holds(job.report()));
}

BOOST_AUTO_TEST_CASE(a_cut_ends_with_the_first_heal_of_it_and_a_freeze_with_a_kill) {
  made_job job;
  job.fault(10, fault_kind::cut, "worker-0", "chief-0").fault(11, fault_kind::heal_everything, {});
  job.fault(20, fault_kind::freeze, "worker-1").fault(21, fault_kind::kill, "worker-1").lost(21.1, worker_1);
  job.fault(21.5, fault_kind::restart, "worker-1").joined(22, worker_1);
  const auto report = job.report();
  BOOST_TEST(holds(report));
  // The kill; both silences were short.
  BOOST_TEST(report.noticed_after.count == 1);
}

BOOST_AUTO_TEST_CASE(links_between_members_do_not_concern_the_chief) {
  made_job job;
  job.fault(10, fault_kind::cut, "worker-0", "ps-0").fault(11, fault_kind::break_link, "worker-0", "worker-1");
  BOOST_TEST(holds(job.report()));
  job.fault(12, fault_kind::break_link, "worker-0", "chief-0");
  BOOST_TEST((result_of(job.report(), all_is_noticed) == verdict::broken));
}

BOOST_AUTO_TEST_CASE(a_slow_link_need_not_be_noticed_and_keeps_nobody_away) {
  made_job job;
  job.slow(5, fault_kind::slow_link, "worker-0", "chief-0", {.latency = 100ms, .bytes_per_second = 1'000'000});
  BOOST_TEST(holds(job.report()));
  BOOST_TEST(job.report().injected.at("slow_link") == 1);
  job.fault(10, fault_kind::kill, "worker-0").lost(10.5, worker_0).fault(11, fault_kind::restart, "worker-0");
  made_job back = job;
  back.joined(13, worker_0);
  BOOST_TEST(holds(back.report()));
  require_seconds(back.report().back_after.max, 2);
  // Nothing but a slow link is in its way.
  BOOST_TEST((result_of(job.joined(60, worker_0).report(), all_are_back) == verdict::broken));
}

BOOST_AUTO_TEST_CASE(a_link_that_is_slower_than_a_silence_may_be_is_like_a_cut) {
  const auto is_broken_by = [](fault_kind what, const link_slowness& by) {
    made_job job;
    job.slow(10, what, "chief-0", "worker-0", by).fault(40, fault_kind::heal, "worker-0", "chief-0");
    return result_of(job.report(), all_is_noticed) == verdict::broken;
  };
  BOOST_TEST(is_broken_by(fault_kind::slow_link, {.latency = 1'500ms}));
  BOOST_TEST(!is_broken_by(fault_kind::slow_link, {.latency = 1'400ms, .jitter = 2s}));
  BOOST_TEST(is_broken_by(fault_kind::slow_link_one_way, {.latency = 3s}));
  BOOST_TEST(!is_broken_by(fault_kind::slow_link_one_way, {.latency = 2'900ms}));
  BOOST_TEST(!is_broken_by(fault_kind::slow_link, {.bytes_per_second = 1'000}));
}

BOOST_AUTO_TEST_CASE(a_member_that_a_very_slow_link_has_cost_is_back_when_it_is_healed) {
  for (const auto& by :
       {link_slowness{.latency = 800ms}, link_slowness{.jitter = 800ms}, link_slowness{.bytes_per_second = 50'000}}) {
    made_job job;
    job.slow(10, fault_kind::slow_link_one_way, "worker-0", "chief-0", by).lost(12.5, worker_0);
    BOOST_TEST(holds(job.report()));
    made_job healed = job;
    healed.fault(60, fault_kind::heal, "chief-0", "worker-0").joined(61, worker_0);
    BOOST_TEST(holds(healed.report()));
    require_seconds(healed.report().back_after.max, 1);
    // The other direction is another fault.
    made_job still_slow = job;
    still_slow.slow(20, fault_kind::slow_link_one_way, "chief-0", "worker-0", {});
    BOOST_TEST(holds(still_slow.report()));
    for (const auto what : {fault_kind::slow_link, fault_kind::slow_link_one_way}) {
      made_job quick_again = job;
      quick_again.slow(20, what, "worker-0", "chief-0", {.latency = 1ms});
      BOOST_TEST((result_of(quick_again.report(), all_are_back) == verdict::broken));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_fault_of_a_member_that_is_out_was_not_done_or_meets_a_stopped_chief_is_not_judged) {
  made_job out;
  out.lost(9, worker_0).fault(10, fault_kind::cut, "worker-0", "chief-0");
  out.fault(15, fault_kind::heal, "worker-0", "chief-0").joined(15.5, worker_0);
  BOOST_TEST(holds(out.report()));
  made_job idle;
  idle.fault(10, fault_kind::kill, "worker-0", {}, "worker-0 does not run");
  BOOST_TEST(holds(idle.report()));
  BOOST_TEST(idle.report().not_done == 1);
  BOOST_TEST(idle.report().injected.empty());
  made_job stopped;
  stopped.fault(9, fault_kind::freeze, "chief-0").fault(10, fault_kind::break_link, "worker-0", "chief-0");
  stopped.fault(14, fault_kind::thaw, "chief-0");
  BOOST_TEST(holds(stopped.report()));
}

BOOST_AUTO_TEST_CASE(what_is_open_at_the_jobs_end_is_not_judged) {
  made_job job;
  job.fault(95, fault_kind::kill, "worker-0").fault(98, fault_kind::freeze, "worker-1");
  BOOST_TEST(holds(job.report()));
}

BOOST_AUTO_TEST_CASE(a_member_is_back_late_only_counting_from_when_nothing_was_in_its_way) {
  made_job cut_for_long;
  cut_for_long.fault(10, fault_kind::cut, "worker-0", "chief-0").lost(12, worker_0);
  cut_for_long.fault(60, fault_kind::heal, "worker-0", "chief-0").joined(61, worker_0);
  BOOST_TEST(holds(cut_for_long.report()));
  require_seconds(cut_for_long.report().back_after.max, 1);
  made_job late;
  late.fault(10, fault_kind::kill, "worker-0").lost(10.1, worker_0);
  late.fault(11, fault_kind::restart, "worker-0").joined(42, worker_0);
  BOOST_TEST((result_of(late.report(), all_are_back) == verdict::broken));
  made_job never;
  never.fault(10, fault_kind::kill, "worker-0").lost(10.1, worker_0).fault(11, fault_kind::restart, "worker-0");
  BOOST_TEST((result_of(never.report(), all_are_back) == verdict::broken));
  made_job down_by_plan;
  down_by_plan.fault(10, fault_kind::switch_off, "worker-0").lost(12, worker_0);
  BOOST_TEST(holds(down_by_plan.report()));
}

BOOST_AUTO_TEST_CASE(a_member_that_stays_away_between_two_faults_is_late) {
  made_job job;
  job.fault(10, fault_kind::cut, "worker-0", "chief-0").lost(12, worker_0);
  job.fault(14, fault_kind::heal, "worker-0", "chief-0");
  job.fault(50, fault_kind::freeze, "worker-0").fault(51, fault_kind::thaw, "worker-0").joined(52, worker_0);
  BOOST_TEST((result_of(job.report(), all_are_back) == verdict::broken));
}

BOOST_AUTO_TEST_CASE(a_member_that_never_came_is_not_back) {
  made_job job;
  std::erase_if(*job.record().events, [](const auto& each) { return each.task == worker_1; });
  BOOST_TEST((result_of(job.report(), all_are_back) == verdict::broken));
}

BOOST_AUTO_TEST_CASE(a_job_that_fails_is_told_from_an_invariant_that_does_not_hold) {
  made_job failed;
  failed.record().exit_code = 6;
  BOOST_TEST(exit_code_of(failed.report()) == chaos_exit::job_failed);
  BOOST_TEST(failed.report().invariants[job_succeeds].why == "its exit code is 6");
  made_job stopped;
  stopped.record().over_limit = true;
  BOOST_TEST(exit_code_of(stopped.report()) == chaos_exit::job_failed);
  made_job untidy;
  untidy.record().processes_left = {4711};
  BOOST_TEST((result_of(untidy.report(), nothing_is_left) == verdict::broken));
  BOOST_TEST(exit_code_of(untidy.report()) == chaos_exit::invariant_broken);
}

BOOST_AUTO_TEST_CASE(of_a_program_that_tells_nothing_only_its_end_is_known) {
  made_job job;
  job.fault(10, fault_kind::kill, "worker-0");
  job.record().events.reset();
  const auto report = job.report();
  BOOST_TEST((result_of(report, all_is_noticed) == verdict::unknown));
  BOOST_TEST((result_of(report, all_are_back) == verdict::unknown));
  BOOST_TEST(exit_code_of(report) == chaos_exit::good);
}

BOOST_AUTO_TEST_CASE(the_text_and_the_json_say_the_same) {
  made_job job;
  job.fault(10, fault_kind::kill, "worker-0").lost(10.5, worker_0).joined(11, worker_0);
  job.fault(50, fault_kind::kill, "worker-1");
  job.record().left_out = 7;
  const auto report = job.report();
  const auto text = to_text(report);
  for (const auto* part :
       {"kill                      2", "left out                  7", "noticed after             1    0.500",
        "BROKEN   the chief notices within 10 s who is kept from it: kill worker-1"})
    BOOST_TEST(text.find(part) != std::string::npos, text << " has " << part);
  const auto json = nlohmann::json::parse(to_json(report, 42));
  BOOST_TEST(json.at("seed") == 42);
  BOOST_TEST(json.at("noticed_after").at("count") == 1);
  BOOST_TEST(json.at("injected").at("kill") == 2);
  BOOST_TEST(json.at("left_out") == 7);
  BOOST_TEST(json.at("exit_code") == chaos_exit::invariant_broken);
  BOOST_TEST(json.at("invariants").at(1).at("result") == "BROKEN");
}

BOOST_AUTO_TEST_SUITE_END()
