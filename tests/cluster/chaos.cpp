// `troupe chaos` on this machine: real processes are killed and frozen, and the report and the exit code say what that
// did. Links fail in tests/hosts.
#include "chaos_job.hpp"
#include "finished_program.hpp"
#include "support/refusal.hpp"

#include <troupe/runtime/fault_plan.hpp>

#include <boost/test/unit_test.hpp>

#include <signal.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(chaos_suite)

namespace {

using namespace std::chrono_literals;

void require_said(const chaos_run_result& run, const std::string& text) {
  BOOST_TEST(run.output.find(text) != std::string::npos, "\"" << text << "\" is in:\n" << run.output);
}

void require_refused(const words& arguments, const std::string& text) {
  const auto run = run_chaos(arguments);
  BOOST_TEST(run.exit_code == 2, run.output);
  require_said(run, text);
}

}  // namespace

BOOST_AUTO_TEST_CASE(kills_and_freezes_are_noticed_and_mended_and_the_report_says_so) {
  fault_plan plan;
  // The program has scheduled its closures until then.
  plan.at(1'000ms).kill("worker-0").kill("worker-2").freeze("worker-1");
  plan.at(1'001ms).kill("worker-0");
  plan.at(1'300ms).restart("worker-0");
  plan.at(4'200ms).thaw("worker-1");
  const auto run = run_chaos(plan, words{"--workers", "3", "--ps", "0"} + waiting_for_losses_of(3));
  BOOST_TEST(run.exit_code == 0, run.output);
  require_said(run, "[chief] all are back");
  BOOST_TEST(run.report.at("injected").at("kill") == 2);
  BOOST_TEST(run.report.at("injected").at("freeze") == 1);
  // What is down can't be killed.
  BOOST_TEST(run.report.at("not_done") == 1);
  BOOST_TEST(run.report.at("noticed_after").at("count") == 3);
  BOOST_TEST(run.report.at("noticed_after").at("p50_s") < 1.5);
  BOOST_TEST(run.report.at("noticed_after").at("max_s") > 1.5);
  BOOST_TEST(run.report.at("back_after").at("count") == 3);
  BOOST_TEST(run.report.at("closures_run_again") >= 3);
  // Nobody but the launcher has started it again.
  require_said(run, "worker 2 ended: killed by SIGKILL; starting it again");
  BOOST_TEST(run.output.find("worker 0 ended") == std::string::npos, run.output);
}

BOOST_AUTO_TEST_CASE(the_job_may_be_written_as_a_run_of_its_own) {
  fault_plan plan;
  plan.at(0ms).kill("worker-0");
  const auto run = run_chaos(plan, words{"--", "troupe", "run", "--workers", "1", "--ps=0"} + waiting_for_losses_of(1));
  BOOST_TEST(run.exit_code == 0, run.output);
  BOOST_TEST(run.report.at("noticed_after").at("count") == 1);
}

BOOST_AUTO_TEST_CASE(a_member_that_is_back_too_late_is_another_exit_code_than_a_job_that_fails) {
  fault_plan plan;
  plan.at(0ms).kill("worker-0");
  plan.at(1ms).restart("worker-0");
  const auto run =
      run_chaos(plan, words{"--workers", "1", "--ps", "0", "--back-limit", "0.001"} + waiting_for_losses_of(1));
  BOOST_TEST(run.exit_code == 3, run.output);
  BOOST_TEST(run.result_of("are back") == "BROKEN");
  BOOST_TEST(run.result_of("succeeds") == "held");
}

BOOST_AUTO_TEST_CASE(a_job_that_fails_is_reported_with_its_code) {
  const auto run = run_chaos(fault_plan{}, chief_runs("exit 7"));
  BOOST_TEST(run.exit_code == 1, run.output);
  require_said(run, "its exit code is 7");
  BOOST_TEST(run.result_of("notices") == "unknown");
}

BOOST_AUTO_TEST_CASE(a_job_that_does_not_end_is_stopped_at_its_limit) {
  const auto run = run_chaos(fault_plan{}, words{"--limit", "0.3", "--stop-grace", "0.1"} +
                                               chief_runs("trap '' TERM; while :; do sleep 1000; done"));
  BOOST_TEST(run.exit_code == 1, run.output);
  require_said(run, "stopped at the limit");
}

BOOST_AUTO_TEST_CASE(a_process_that_outlives_the_job_is_found) {
  // It has a session of its own before anybody learns its number.
  const auto script = "child=$(setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &); echo \"child $child\"";
  const auto run = run_chaos(fault_plan{}, chief_runs(script));
  const auto begin = run.output.find("child ");
  BOOST_REQUIRE_MESSAGE(begin != std::string::npos, run.output);
  const auto child = std::stoi(run.output.substr(begin + 6));
  BOOST_TEST(run.exit_code == 3, run.output);
  require_said(run, "process " + std::to_string(child) + " is left");
  ::kill(child, SIGKILL);
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_plan_again_which_kills_and_freezes_workers) {
  const auto plan = plan_drawn_by({"--seed", "7", "--workers=3"});
  BOOST_TEST((plan == plan_drawn_by({"--seed", "7", "--workers=3"})));
  BOOST_TEST((plan != plan_drawn_by({"--seed", "8", "--workers=3"})));
  BOOST_TEST(plan.faults.size() > 60);
  for (const auto& fault : plan.faults) {
    BOOST_TEST(fault.host.starts_with("worker-"), to_string(fault));
    BOOST_TEST(
        (fault.what <= fault_kind::restart || fault.what == fault_kind::freeze || fault.what == fault_kind::thaw),
        to_string(fault));
  }
}

BOOST_AUTO_TEST_CASE(kinds_and_jobs_are_chosen) {
  for (const auto& fault : plan_drawn_by({"--seed", "7", "--kinds=freeze", "--fail", "ps"}).faults) {
    BOOST_TEST((fault.what == fault_kind::freeze || fault.what == fault_kind::thaw), to_string(fault));
    BOOST_TEST(fault.host == "ps-0", to_string(fault));
  }
}

BOOST_AUTO_TEST_CASE(a_machine_without_a_place_for_temporary_files_is_an_error_that_names_it) {
  const auto ended =
      run_program(TROUPE_COMMAND, words{"chaos", "--seed", "1"} + chief_runs("exit 0"), {{"TMPDIR", "/nonexistent"}});
  BOOST_TEST(ended.exit == "exit code 4", ended.errors);
  BOOST_TEST(contains(ended.errors, "can be made in \"/nonexistent\""), ended.errors);
  BOOST_TEST(contains(ended.errors, "set TMPDIR to one"), ended.errors);
}

BOOST_AUTO_TEST_CASE(what_can_not_be_is_refused_before_anything_starts) {
  const words program{"/bin/true"};
  require_refused(words{"--kinds", "cut"} + program, "--kinds cut needs hosts of their own");
  require_refused(words{"--kinds=kill,laugh"} + program, "--kinds has laugh, which is none of kill, freeze");
  require_refused(words{"--kinds", "slow_link"} + program, "--kinds slow_link needs hosts of their own");
  require_refused(words{"--latency-ms", "5"} + program, "add slow_link or slow_link_one_way to --kinds");
  require_refused(words{"--hosts", "--kinds", "cut", "--bytes-per-second", "9"} + program,
                  "but none is: add slow_link");
  require_refused(words{"--jitter-ms", "-1"} + program, "--jitter-ms");
  require_refused(words{"--fail", "chief"} + program, "--fail chief would end the job");
  require_refused(words{"--fail", "probe"} + program, "--fail probe names no job");
  require_refused(words{"--longest", "1", "--shortest", "2"} + program, "--longest");
  require_refused(words{"--rate", "1000", "--duration", "86400"} + program, "faults");
  require_refused(words{"--bandwidth", "50mbit"} + program, "--bandwidth needs --hosts");
  require_refused(words{"--hosts", "--bandwidth", "quick"} + program, "a rate such as 50mbit");
  require_refused(words{"--hosts", "--host", "127.0.0.2"} + program, "exclude each other");
  require_refused(words{"--plan", "/no/such/plan"} + program, "the fault plan can't be read from \"/no/such/plan\"");
  require_refused(words{"--plan", "x", "--rate", "2"} + program, "excludes");
  require_refused(words{"--report", "/no/such/folder/report"} + program, "can't be written");
  require_refused({"--laugh"}, "unknown option --laugh; see troupe chaos --help");
  require_refused({"--", "troupe", "run", "--laugh"}, "unknown option --laugh; see troupe run --help");
  require_refused({}, "PROGRAM is required");
  fault_plan plan;
  plan.at(1ms).kill("worker-9");
  const auto run = run_chaos(plan, program);
  BOOST_TEST(run.exit_code == 2, run.output);
  require_said(run, "worker-9, which the cluster lacks");
  BOOST_TEST(run_chaos({"troupe-has-no-such-program"}).exit_code == 127);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
