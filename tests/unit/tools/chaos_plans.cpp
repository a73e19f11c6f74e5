// What of a plan real processes can have, and what is said of the rest.
#include "../tools/chaos/chaos_hosts.hpp"
#include "../tools/chaos/plan_check.hpp"

#include <troupe/device/base/error.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(chaos_plans_suite)

namespace {

using namespace std::chrono_literals;
using namespace troupe;
using namespace troupe::tools;

std::vector<task_id> tasks() {
  launcher_options options;
  options.workers = 2;
  options.roles["probe"] = 1;
  return tasks_of(options);
}

/// What is said of the plan; empty: it is possible.
std::string refusal_of(const fault_plan& plan, bool on_hosts = true) {
  try {
    check_plan(plan, tasks(), on_hosts);
    return {};
  } catch (const invalid_argument_error& refused) {
    return refused.message();
  }
}

/// The same of a plan of one fault at 20 ms.
template <class Add>
std::string refusal_of_one(Add add, bool on_hosts = true) {
  fault_plan plan;
  auto moment = plan.at(20ms);
  add(moment);
  return refusal_of(plan, on_hosts);
}

void require_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const auto* part : parts) BOOST_TEST(text.find(part) != std::string::npos, text << " says " << part);
}

}  // namespace

BOOST_AUTO_TEST_CASE(hosts_are_called_as_in_a_simulation) {
  std::vector<std::string> names;
  for (const auto& task : tasks()) names.push_back(host_name(task));
  const std::vector<std::string> expected{"ps-0", "worker-0", "worker-1", "probe-0", "chief-0"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(everything_that_processes_and_links_can_have_is_allowed) {
  fault_plan plan;
  plan.at(1ms).kill("worker-0").freeze("chief-0").cut("worker-1", "chief-0").cut_one_way("ps-0", "worker-0");
  plan.at(2ms).restart("worker-0").thaw("chief-0").heal("worker-1", "chief-0").break_link("probe-0", "chief-0");
  plan.at(3ms).silence_link("worker-0", "ps-0").switch_off("ps-0").heal_everything();
  BOOST_TEST(!has_slow_links(plan));
  plan.at(4ms).slow_link("worker-0", "ps-0", {.latency = 20ms, .jitter = 5ms, .bytes_per_second = 1'000});
  BOOST_TEST(has_slow_links(plan));
  plan.at(5ms).slow_link_one_way("chief-0", "worker-0", {.latency = 20ms});
  BOOST_TEST(refusal_of(plan).empty());
}

BOOST_AUTO_TEST_CASE(a_host_that_the_cluster_lacks_is_named_with_those_that_it_has) {
  require_parts(refusal_of_one([](auto& at) { at.kill("worker-9"); }),
                {"faults[0]", "kill worker-9 at 20.000 ms", "ps-0, worker-0, worker-1, probe-0, chief-0", "--workers"});
  require_parts(refusal_of_one([](auto& at) { at.cut("worker-0", "worker-2"); }),
                {"worker-2, which the cluster lacks"});
  require_parts(refusal_of_one([](auto& at) { at.cut("worker-0", "worker-0"); }), {"two ends"});
  require_parts(refusal_of_one([](auto& at) { at.slow_link("worker-0", "worker-2", {}); }),
                {"worker-2, which the cluster lacks"});
}

BOOST_AUTO_TEST_CASE(the_chief_is_frozen_but_not_ended) {
  require_parts(refusal_of_one([](auto& at) { at.kill("chief-0"); }), {"whose end is the job's", "freeze"});
  require_parts(refusal_of_one([](auto& at) { at.switch_off("chief-0"); }), {"whose end is the job's"});
}

BOOST_AUTO_TEST_CASE(without_hosts_of_their_own_only_processes_fail) {
  for (const auto kind :
       {fault_kind::kill, fault_kind::restart, fault_kind::freeze, fault_kind::thaw, fault_kind::heal_everything})
    BOOST_TEST(!needs_hosts(kind), to_string(kind));
  require_parts(refusal_of_one([](auto& at) { at.cut("worker-0", "chief-0"); }, false), {"--hosts"});
  require_parts(refusal_of_one([](auto& at) { at.heal("worker-0", "chief-0"); }, false), {"--hosts"});
  require_parts(refusal_of_one([](auto& at) { at.switch_off("worker-0"); }, false), {"--hosts"});
  require_parts(refusal_of_one([](auto& at) { at.slow_link("worker-0", "ps-0", {}); }, false),
                {"slow_link worker-0 ps-0", "--hosts"});
  require_parts(refusal_of_one([](auto& at) { at.slow_link_one_way("ps-0", "worker-0", {}); }, false), {"--hosts"});
  BOOST_TEST(refusal_of_one([](auto& at) { at.kill("worker-0"); }, false).empty());
}

BOOST_AUTO_TEST_CASE(the_plan_of_the_lesson_is_possible_for_the_cluster_of_the_lesson) {
  launcher_options options;
  options.workers = 4;
  options.servers = 2;
  const auto plan = fault_plan::from_file(TROUPE_SOURCE_FOLDER "/examples/chaos/plan.json");
  check_plan(plan, tasks_of(options), true);
  BOOST_TEST(plan.faults.size() == 7);
}

BOOST_AUTO_TEST_CASE(what_only_a_simulation_can_have_is_refused_and_why) {
  fault_plan single;
  single.drop({.from = "worker-0"}, 2);
  require_parts(refusal_of(single), {"drop", "single messages", "cut_one_way"});
  fault_plan point;
  point.kill_at("journal", 1);
  require_parts(refusal_of(point), {"only a simulation", "kill at a time"});
  require_parts(refusal_of_one([](auto& at) { at.set_clock("worker-0", 1s); }), {"clock", "only a simulation"});
  require_parts(refusal_of_one([](auto& at) { at.occupy("worker-0"); }), {"only a simulation"});
  require_parts(refusal_of_one([](auto& at) { at.fill_disk("worker-0"); }), {"fill_disk worker-0", "a disk for each"});
  require_parts(refusal_of_one([](auto& at) { at.slow_disk("worker-0", {}); }), {"only a simulation", "switch_off"});
  require_parts(refusal_of_one([](auto& at) { at.mend_disk("worker-0"); }), {"only a simulation"});
  require_parts(refusal_of_one([](auto& at) { at.slow_host("worker-0", 1ms); }), {"only a simulation", "freeze"});
  require_parts(refusal_of_one([](auto& at) { at.wipe_disk("worker-0"); }), {"only a simulation"});
  fault_plan conditions;
  conditions.when("elected").kill("worker-0");
  require_parts(refusal_of(conditions), {"at_ms"});
  fault_plan sent;
  sent.when_sent({.from = "worker-0"}).kill("worker-0");
  require_parts(refusal_of(sent), {"at_ms"});
}

BOOST_AUTO_TEST_SUITE_END()
