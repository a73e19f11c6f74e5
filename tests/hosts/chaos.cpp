// `troupe chaos --hosts`: links are cut, reset and silenced, and a host is switched off, for real.
#include "cluster/chaos_job.hpp"
#include "cluster/process_cluster.hpp"

#include <troupe/runtime/fault_plan.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(chaos_suite)

namespace {

using namespace std::chrono_literals;

}  // namespace

// Each worker has a failure of its own, all at the same time.
BOOST_AUTO_TEST_CASE(each_failure_of_a_link_and_of_a_host_is_noticed_and_mended) {
  fault_plan plan;
  plan.at(0ms)
      .cut("worker-0", "chief-0")
      .cut_one_way("chief-0", "worker-1")
      .cut_one_way("worker-2", "chief-0")
      .break_link("worker-3", "chief-0")
      .silence_link("chief-0", "worker-4")
      .switch_off("worker-5");
  plan.at(3'500ms).heal("chief-0", "worker-0").heal("worker-1", "chief-0").heal_everything();
  const auto run = run_chaos(plan, words{"--hosts", "--workers", "6", "--ps", "0"} + waiting_for_losses_of(6));
  BOOST_TEST(run.exit_code == 0, run.output);
  BOOST_TEST(run.output.find("[chief] all are back") != std::string::npos, run.output);
  BOOST_TEST(run.report.at("noticed_after").at("count") == 6);
  BOOST_TEST(run.report.at("back_after").at("count") == 6);
  BOOST_TEST(run.report.at("injected").at("switch_off") == 1);
  // A reset is seen at once, silence after two seconds.
  BOOST_TEST(run.report.at("noticed_after").at("p50_s") > 1.0);
  BOOST_TEST(run.report.at("back_after").at("p50_s") < 5.0);
}

BOOST_AUTO_TEST_CASE(what_is_drawn_fails_links_of_workers_with_all_others_but_never_the_chief_or_a_server) {
  auto from_chief = 0;
  auto with_server = 0;
  for (const auto& fault : plan_drawn_by({"--hosts", "--seed", "3", "--rate", "5"}).faults) {
    from_chief += fault.host == "chief-0";
    with_server += fault.other == "ps-0";
    if (fault.host.starts_with("worker-")) continue;
    BOOST_TEST((fault.what == fault_kind::cut_one_way), to_string(fault));
  }
  BOOST_TEST(from_chief > 0);
  BOOST_TEST(with_server > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
