// `troupe chaos --hosts`: links are cut, reset, silenced and slow, and a host is switched off, for real.
#include "cluster/chaos_job.hpp"
#include "cluster/process_cluster.hpp"
#include "host_sockets.hpp"

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

const auto if_links_can_be_slow = boost::unit_test::precondition(links_can_be_slow);

BOOST_AUTO_TEST_CASE(a_link_is_slow_without_a_loss_and_one_that_is_slower_than_a_silence_is_like_a_cut,
                     *if_links_can_be_slow) {
  fault_plan plan;
  plan.at(0ms)
      .slow_link("worker-0", "chief-0", {.latency = 2s})
      .slow_link_one_way("chief-0", "worker-1", {.latency = 4s})
      .slow_link("worker-2", "chief-0", {.latency = 30ms, .jitter = 20ms, .bytes_per_second = 1'000'000});
  // A slow link is reset, too, and switched off.
  plan.at(500ms).break_link("worker-2", "chief-0").switch_off("worker-3");
  plan.at(1'000ms).slow_link("worker-3", "chief-0", {.latency = 30ms}).slow_link("worker-2", "worker-3", {});
  plan.at(4'000ms).heal("chief-0", "worker-0").heal_everything();
  const auto run = run_chaos(plan, words{"--hosts", "--workers", "4", "--ps", "0"} + waiting_for_losses_of(4));
  BOOST_TEST(run.exit_code == 0, run.output);
  BOOST_TEST(run.output.find("[chief] all are back") != std::string::npos, run.output);
  BOOST_TEST(run.report.at("injected").at("slow_link") == 4);
  BOOST_TEST(run.report.at("injected").at("slow_link_one_way") == 1);
  BOOST_TEST(run.report.at("noticed_after").at("count") == 4);
  BOOST_TEST(run.report.at("members_lost") == 4);
  BOOST_TEST(run.result_of("are back") == "held", run.output);
}

BOOST_AUTO_TEST_CASE(nobody_is_lost_for_links_that_are_slow_as_those_between_continents, *if_links_can_be_slow) {
  fault_plan plan;
  plan.at(0ms)
      .slow_link("worker-1", "chief-0", {.latency = 150ms, .jitter = 50ms})
      .slow_link_one_way("worker-2", "chief-0", {.latency = 300ms});
  plan.at(3'500ms).kill("worker-0");
  plan.at(3'600ms).restart("worker-0");
  const auto run = run_chaos(plan, words{"--hosts", "--workers", "3", "--ps", "0"} + waiting_for_losses_of(1));
  BOOST_TEST(run.exit_code == 0, run.output);
  BOOST_TEST(run.report.at("members_lost") == 1);
}

BOOST_AUTO_TEST_CASE(a_plan_with_slow_links_is_impossible_without_the_kernels_devices) {
  fault_plan plan;
  plan.at(0ms).slow_link("worker-0", "chief-0", {.latency = 1ms});
  const words without_devices{"unshare", "--mount", "sh", "-c", "mount --bind /dev/null /dev/net/tun; exec \"$@\"",
                              "sh"};
  const words job = words{"--hosts", "--workers", "1", "--ps", "0"} + chief_runs("exit 0");
  const auto run = run_chaos(plan, job, without_devices);
  BOOST_TEST(run.exit_code == 4, run.output);
  for (const auto* part : {"links can't be slow here: a TUN device can't be made", "modprobe tun", "Without slow_link"})
    BOOST_TEST(run.output.find(part) != std::string::npos, run.output);
  // Others are possible.
  BOOST_TEST(run_chaos(fault_plan{}, job, without_devices).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(slow_links_are_drawn_if_they_are_asked_for, *if_links_can_be_slow) {
  const words few{"--hosts", "--seed", "3", "--rate", "2"};
  for (const auto& fault : plan_drawn_by(few).faults)
    BOOST_TEST((fault.what < fault_kind::slow_link), to_string(fault));
  auto in_both_directions = 0;
  auto in_one = 0;
  const link_slowness expected{.latency = 5ms, .jitter = 20ms, .bytes_per_second = 9'000};
  for (const auto& fault : plan_drawn_by(few + words{"--kinds", "slow_link,slow_link_one_way", "--latency-ms", "5",
                                                     "--bytes-per-second", "9000"})
                               .faults) {
    in_both_directions += fault.what == fault_kind::slow_link;
    in_one += fault.what == fault_kind::slow_link_one_way;
    BOOST_TEST((fault.what == fault_kind::heal || fault.slowness == expected), to_string(fault));
  }
  BOOST_TEST(in_both_directions > 20);
  BOOST_TEST(in_one > 20);
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
