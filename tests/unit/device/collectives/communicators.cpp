// What is made of a plan, on processors; tests/gpu/local_communicators.cpp does the same on GPUs.
#include "communicator_cases.hpp"

#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <chrono>

BOOST_AUTO_TEST_SUITE(communicators_suite)

namespace {

using namespace std::chrono_literals;
using namespace troupe;
using namespace troupe::communicator_cases;

communication_plan plan_for(int replicas, int processes) {
  std::vector<std::string> names;
  for (auto i = 0; i < replicas; ++i) names.push_back(fmt::format("CPU:{}", i));
  return plan_communication({.devices = locate_devices(names), .processes = processes});
}

/// All ranks of so many processes with so many replicas each; the processes are threads.
std::vector<status> run_group(int processes, int replicas, const rank_work& work) {
  std::vector<std::unique_ptr<communicator>> ends;
  const auto plan = plan_for(replicas, processes);
  if (processes == 1) {
    ends = make_communicators(plan);
  } else {
    for (auto& process : make_thread_communicators(processes))
      for (auto& each : make_communicators(plan, std::move(process))) ends.push_back(std::move(each));
  }
  return run_threads(static_cast<int>(ends.size()), [&](int rank) {
    const auto end = std::move(ends[static_cast<std::size_t>(rank)]);
    expect(end->rank() == rank && end->size() == processes * replicas, "ranks are numbered through");
    expect(end->device() == "CPU:0", "replicas on processors work on host memory");
    work(*end);
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_replica_that_is_alone_gets_what_plain_loops_give) {
  BOOST_TEST((plan_for(1, 1).among_replicas == replica_transport::alone));
  collectives_give_what_plain_loops_give([](int, const rank_work& work) { return run_group(1, 1, work); }, {1});
}

BOOST_AUTO_TEST_CASE(replicas_of_one_process_and_of_several_get_what_plain_loops_give) {
  collectives_give_what_plain_loops_give([](int size, const rank_work& work) { return run_group(1, size, work); },
                                         {2, 3});
  collectives_give_what_plain_loops_give([](int, const rank_work& work) { return run_group(2, 2, work); }, {4});
  collectives_give_what_plain_loops_give([](int, const rank_work& work) { return run_group(2, 1, work); }, {2});
}

BOOST_AUTO_TEST_CASE(an_abort_breaks_the_end_of_a_replica_that_is_alone) {
  const auto end = std::move(make_communicators(plan_for(1, 1)).front());
  BOOST_TEST(!end->broken().has_value());
  end->abort({status_code::cancelled, "first"});
  end->abort({status_code::unavailable, "second"});
  BOOST_REQUIRE(end->broken().has_value());
  BOOST_TEST(end->broken()->message() == "first");
  BOOST_CHECK_THROW(end->barrier(1s), cancelled_error);
}

BOOST_AUTO_TEST_CASE(the_connection_must_have_the_processes_of_the_plan) {
  BOOST_CHECK_THROW(make_communicators(plan_for(2, 2)), invalid_argument_error);
  auto processes = make_thread_communicators(2);
  BOOST_CHECK_THROW(make_communicators(plan_for(2, 1), std::move(processes[0])), invalid_argument_error);
}

BOOST_AUTO_TEST_SUITE_END()
