// Who carries what, for machines that need not be at hand: GPUs here are numbers.
#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/communication_plan.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(communication_plan_suite)

namespace {

using namespace troupe;
using enum communication_implementation;

std::vector<replica_device> cpus(int count) {
  std::vector<replica_device> devices;
  for (auto i = 0; i < count; ++i) devices.push_back({.name = fmt::format("CPU:{}", i), .gpu = {}});
  return devices;
}

/// One logical device on each of these.
std::vector<replica_device> gpus(const std::vector<int>& physical) {
  std::vector<replica_device> devices;
  for (const auto each : physical) devices.push_back({.name = fmt::format("GPU:{}", devices.size()), .gpu = each});
  return devices;
}

std::vector<replica_device> mixed() {
  auto devices = gpus({0, 1});
  devices.push_back({.name = "CPU:0", .gpu = {}});
  return devices;
}

communication_plan plan(std::vector<replica_device> devices, communication_implementation which = automatic,
                        bool nccl_built = true) {
  return plan_communication({.devices = std::move(devices), .implementation = which, .nccl_built = nccl_built});
}

communication_plan plan(std::vector<replica_device> devices, int processes, int hosts) {
  return plan_communication(
      {.devices = std::move(devices), .processes = processes, .hosts = hosts, .nccl_built = true});
}

int copies(const communication_plan& chosen) {
  auto count = 0;
  for (const auto& each : chosen.devices) count += chosen.copies_through_host(each) ? 1 : 0;
  return count;
}

auto says(std::string part) {
  return [part = std::move(part)](const error& e) {
    const auto found = e.message().find(part) != std::string::npos;
    BOOST_TEST(found, "\"" << part << "\" is not in: " << e.message());
    return found;
  };
}

}  // namespace

// --- among the replicas of a process ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(replicas_on_processors_are_threads_whatever_was_built) {
  for (const auto which : {automatic, ring})
    for (const auto built : {false, true}) {
      const auto chosen = plan(cpus(4), which, built);
      BOOST_TEST((chosen.among_replicas == replica_transport::threads));
      BOOST_TEST((chosen.among_processes == process_transport::none));
      BOOST_TEST(copies(chosen) == 0);
      BOOST_TEST(chosen.describe() == "threads in shared memory, 4 replicas on CPU:0..3");
    }
}

BOOST_AUTO_TEST_CASE(a_single_replica_needs_nobody_and_no_nccl) {
  for (const auto which : {automatic, ring, nccl})
    for (const auto built : {false, true})
      BOOST_TEST((plan(gpus({3}), which, built).among_replicas == replica_transport::alone));
  BOOST_TEST((plan(cpus(1)).among_replicas == replica_transport::alone));
  BOOST_TEST(plan(cpus(1)).describe() == "1 replica on CPU:0, which is alone");
  BOOST_TEST(plan(gpus({3})).describe() == "1 replica on GPU:0, which is alone");
}

BOOST_AUTO_TEST_CASE(different_gpus_take_nccl) {
  for (const auto which : {automatic, nccl}) {
    const auto chosen = plan(gpus({0, 1, 2}), which);
    BOOST_TEST((chosen.among_replicas == replica_transport::nccl));
    BOOST_TEST(copies(chosen) == 0);
    BOOST_TEST(chosen.describe() ==
               "NCCL, 3 replicas on GPU:0..2; reductions and gathers outside of replicas on CPU:0");
  }
}

BOOST_AUTO_TEST_CASE(different_gpus_take_nccl_in_each_of_several_processes) {
  const auto chosen = plan(gpus({0, 1}), 2, 2);
  BOOST_TEST((chosen.among_replicas == replica_transport::nccl));
  BOOST_TEST(copies(chosen) == 0);
  BOOST_TEST(chosen.describe() ==
             "NCCL, 2 replicas on GPU:0..1; between processes TCP, 2 ranks on 2 hosts; reductions and gathers outside "
             "of replicas on CPU:0");
}

BOOST_AUTO_TEST_CASE(nccl_that_was_asked_for_spans_the_gpus_of_all_processes) {
  const auto chosen = [](std::vector<replica_device> devices, int hosts) {
    return plan_communication(
        {.devices = std::move(devices), .processes = 2, .hosts = hosts, .implementation = nccl, .nccl_built = true});
  };
  BOOST_TEST(!plan(gpus({0, 1}), 2, 2).nccl_spans_processes);
  BOOST_TEST(!plan(gpus({0, 1}), nccl).nccl_spans_processes);
  for (const auto& each : {gpus({0, 1}), gpus({0})}) {
    BOOST_TEST(chosen(each, 2).nccl_spans_processes);
    BOOST_TEST((chosen(each, 2).among_replicas == replica_transport::nccl));
  }
  BOOST_TEST(chosen(gpus({0, 1}), 2).describe() ==
             "NCCL over all 4 ranks, 2 replicas on GPU:0..1; controlled over TCP, 2 ranks on 2 hosts; reductions and "
             "gathers outside of replicas on CPU:0");
  auto emulated = gpus({0, 1});
  for (auto& each : emulated) each.is_emulated = true;
  BOOST_TEST(chosen(emulated, 1).describe() ==
             "NCCL as emulated over all 4 ranks, 2 replicas on GPU:0..1; controlled over shared memory, 2 ranks on one "
             "host; reductions and gathers outside of replicas on CPU:0");
}

BOOST_AUTO_TEST_CASE(emulated_gpus_have_nccl_emulated_whatever_was_built) {
  auto devices = gpus({0, 1});
  for (auto& each : devices) each.is_emulated = true;
  for (const auto which : {automatic, nccl}) {
    const auto chosen = plan(devices, which, false);
    BOOST_TEST((chosen.among_replicas == replica_transport::nccl));
    BOOST_TEST(chosen.describe() ==
               "NCCL as emulated, 2 replicas on GPU:0..1; reductions and gathers outside of replicas on CPU:0");
  }
  const auto simulated = plan_communication({.devices = devices, .replicas_are_simulated = true});
  BOOST_TEST((simulated.among_replicas == replica_transport::threads));
  BOOST_TEST(simulated.reason_against_nccl == "the replicas of a simulation share one thread");
}

BOOST_AUTO_TEST_CASE(gpus_that_nccl_cannot_serve_go_through_the_host_and_the_plan_says_why) {
  const auto through_host = [](const communication_plan& chosen, int gpu_count, const std::string& why) {
    BOOST_TEST((chosen.among_replicas == replica_transport::threads));
    BOOST_TEST(copies(chosen) == gpu_count);
    BOOST_TEST(chosen.reason_against_nccl == why);
    BOOST_TEST(chosen.describe().find("GPUs through the host's memory (" + why) != std::string::npos,
               chosen.describe());
  };
  through_host(plan(mixed()), 2, "NCCL connects GPUs only");
  through_host(plan(gpus({0, 0, 1})), 3, "some of them are logical devices of one GPU, which NCCL refuses");
  through_host(plan(gpus({0, 1}), ring), 2, "\"ring\" was asked for");
  through_host(plan(gpus({0, 1}), automatic, false), 2, "this troupe was built without NCCL");
  through_host(plan(gpus({0}), 2, 2), 1, "it is the only one of its process");
}

BOOST_AUTO_TEST_CASE(nccl_that_was_asked_for_and_cannot_be_is_an_error_with_the_reason) {
  BOOST_CHECK_EXCEPTION(plan(cpus(1), nccl), invalid_argument_error, says("NCCL connects GPUs only"));
  BOOST_CHECK_EXCEPTION(plan(mixed(), nccl), invalid_argument_error, says("cannot serve GPU:0..1, CPU:0"));
  BOOST_CHECK_EXCEPTION(plan(gpus({0, 0}), nccl), invalid_argument_error, says("logical devices of one GPU"));
  BOOST_CHECK_EXCEPTION(plan(gpus({0, 1}), nccl, false), unavailable_error, says("built without NCCL"));
  const auto of_processes = [](std::vector<replica_device> devices, bool nccl_built) {
    return plan_communication(
        {.devices = std::move(devices), .processes = 2, .hosts = 2, .implementation = nccl, .nccl_built = nccl_built});
  };
  BOOST_CHECK_EXCEPTION(of_processes(gpus({0, 0}), true), invalid_argument_error, says("in 2 processes"));
  BOOST_CHECK_EXCEPTION(of_processes(cpus(1), true), invalid_argument_error, says("NCCL connects GPUs only"));
  BOOST_CHECK_EXCEPTION(of_processes(gpus({0}), false), unavailable_error, says("built without NCCL"));
  auto emulated = gpus({0, 1});
  for (auto& each : emulated) each.is_emulated = true;
  BOOST_CHECK_EXCEPTION(of_processes(emulated, true), invalid_argument_error, says("in the memory of one host"));
}

// --- between processes -----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(processes_share_memory_on_one_host_and_use_tcp_between_hosts) {
  BOOST_TEST((connection_between(1, 1).over == process_transport::none));
  BOOST_TEST((connection_between(4, 1).over == process_transport::shared_memory));
  BOOST_TEST((connection_between(4, 2).over == process_transport::tcp));
  BOOST_TEST(plan(cpus(4), 2, 2).describe() ==
             "threads in shared memory, 4 replicas on CPU:0..3; between processes TCP, 2 ranks on 2 hosts");
  BOOST_TEST(plan(cpus(2), 3, 1).describe() ==
             "threads in shared memory, 2 replicas on CPU:0..1; between processes shared memory, 3 ranks on one host");
}

BOOST_AUTO_TEST_CASE(what_connects_processes_can_be_chosen_and_the_plan_says_why_it_is_so) {
  using choice = process_transport_choice;
  const auto described = [](int hosts, choice asked, const std::string& difference) {
    return plan_communication({.devices = cpus(1),
                               .processes = 2,
                               .hosts = hosts,
                               .between_processes = connection_between(2, hosts, asked, difference)})
        .describe();
  };
  BOOST_TEST(described(2, choice::automatic, "they are on different machines") ==
             "1 replica on CPU:0; between processes TCP, 2 ranks on 2 hosts (they are on different machines)");
  BOOST_TEST(described(1, choice::tcp, "") ==
             "1 replica on CPU:0; between processes TCP, 2 ranks on one host (it was asked for)");
  BOOST_TEST(described(1, choice::shared_memory, "") ==
             "1 replica on CPU:0; between processes shared memory, 2 ranks on one host (it was asked for)");
  BOOST_CHECK_EXCEPTION(described(2, choice::shared_memory, "they belong to different users"),
                        failed_precondition_error, says("can't share any: they belong to different users"));
}

BOOST_AUTO_TEST_CASE(a_single_replica_of_several_processes_is_not_alone) {
  const auto chosen = plan(cpus(1), 2, 1);
  BOOST_TEST((chosen.among_replicas == replica_transport::threads));
  BOOST_TEST(chosen.describe() == "1 replica on CPU:0; between processes shared memory, 2 ranks on one host");
  BOOST_TEST(copies(plan(gpus({0}), 2, 1)) == 1);
}

BOOST_AUTO_TEST_CASE(impossible_numbers_are_refused) {
  BOOST_CHECK_EXCEPTION(plan({}), invalid_argument_error, says("name at least one"));
  BOOST_CHECK_EXCEPTION(plan(cpus(1), 0, 1), invalid_argument_error, says("0 processes on 1 hosts"));
  BOOST_CHECK_EXCEPTION(plan(cpus(1), 1, 2), invalid_argument_error, says("1 processes on 2 hosts"));
}

// --- names -----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(devices_that_do_not_follow_each_other_are_listed_one_by_one) {
  const auto on = [](std::vector<std::string> names) { return plan(locate_devices(names)).describe(); };
  BOOST_TEST(on({"CPU:1", "CPU:0"}) == "threads in shared memory, 2 replicas on CPU:1, CPU:0");
  BOOST_TEST(on({"CPU:0", "/cpu:1", "CPU:4"}) == "threads in shared memory, 3 replicas on CPU:0..1, CPU:4");
}

BOOST_AUTO_TEST_CASE(names_that_are_no_devices_or_come_twice_are_refused) {
  const auto locate = [](std::vector<std::string> names) { return locate_devices(names); };
  BOOST_CHECK_EXCEPTION(locate({"CPU:0", "/job:worker"}), invalid_argument_error, says("names no device"));
  BOOST_CHECK_EXCEPTION(locate({"CPU:0", "/device:CPU:0"}), invalid_argument_error, says("named twice"));
  BOOST_TEST(locate({"CPU:7"}).at(0).name == "CPU:7");
  BOOST_TEST(!locate({"CPU:7"}).at(0).gpu.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
