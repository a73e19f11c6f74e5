// Several ranks in each of several processes; here the processes are ends of thread groups.
#include "communicator_cases.hpp"

#include <troupe/device/collectives/hierarchical_communicator.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>

#include <boost/test/unit_test.hpp>

#include <numeric>

BOOST_AUTO_TEST_SUITE(hierarchical_communicator_suite)

namespace {

using namespace std::chrono_literals;
using namespace troupe;
using namespace troupe::communicator_cases;

using ends_of_ranks = std::vector<std::unique_ptr<communicator>>;

/// All ranks of all processes, in order.
ends_of_ranks make_group(const std::vector<int>& ranks_per_process) {
  ends_of_ranks all;
  for (auto& process : make_thread_communicators(static_cast<int>(ranks_per_process.size()))) {
    for (auto& each : make_hierarchical_communicators(std::move(process), ranks_per_process)) {
      all.push_back(std::move(each));
    }
  }
  return all;
}

std::vector<status> run_group(const std::vector<int>& ranks_per_process, const rank_work& work) {
  auto ends = make_group(ranks_per_process);
  return run_threads(static_cast<int>(ends.size()), [&](int rank) {
    const auto end = std::move(ends[static_cast<std::size_t>(rank)]);
    expect(end->rank() == rank, "ranks are numbered through");
    work(*end);
  });
}

/// Two processes; one rank more in the first if the number is odd.
std::vector<status> run(int size, const rank_work& work) {
  return size == 1 ? run_group({1}, work) : run_group({(size + 1) / 2, size / 2}, work);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_collective_gives_what_a_plain_loop_gives) {
  collectives_give_what_plain_loops_give(run, {1, 2, 3, 4});
}

BOOST_AUTO_TEST_CASE(processes_may_have_different_numbers_of_ranks) {
  collectives_give_what_plain_loops_give([](int, const rank_work& work) { return run_group({1, 3, 2}, work); }, {6});
}

BOOST_AUTO_TEST_CASE(large_tensors_arrive) { large_tensors_arrive_whole(run); }

BOOST_AUTO_TEST_CASE(ranks_that_call_different_collectives_are_named_on_every_rank) {
  const auto in_one_process = run_group({1, 2}, [](communicator& c) {
    auto x = tensor::full(shape{c.rank() == 2 ? 5 : 4}, 1.0f);
    c.all_reduce(x, reduce_op::sum, 20s);
  });
  require_all(in_one_process, status_code::failed_precondition,
              "rank 1 all_reduce(sum, 4 x float32), but rank 2 all_reduce(sum, 5 x float32)");
  const auto in_several = run_group({2, 2}, [](communicator& c) {
    auto x = tensor::full(shape{c.rank() < 2 ? 5 : 4}, 1.0f);
    c.all_reduce(x, reduce_op::sum, 20s);
  });
  require_all(in_several, status_code::failed_precondition, "all_reduce(sum, 5 x float32)");
}

BOOST_AUTO_TEST_CASE(ranks_that_mean_different_roots_are_named_on_every_rank) {
  const auto ends = run_group({2, 2}, [](communicator& c) {
    auto x = tensor::full(shape{4}, 1.0f);
    c.broadcast(x, c.rank() < 2 ? 0 : 1, 20s);
  });
  require_all(ends, status_code::failed_precondition,
              "rank 0 broadcast(from rank 0, 4 x float32), but rank 2 broadcast(from rank 1, 4 x float32)");
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_come_is_named_when_the_limit_passes) { late_ranks_are_named(run); }

BOOST_AUTO_TEST_CASE(an_abort_of_any_rank_ends_the_calls_of_all_ranks_of_all_processes) { an_abort_reaches_all(run); }

BOOST_AUTO_TEST_CASE(a_broken_communicator_throws_the_same_error_from_then_on) { a_broken_group_stays_broken(run); }

BOOST_AUTO_TEST_CASE(a_process_that_leaves_ends_the_calls_of_all_ranks_of_all_processes) {
  const auto ends = run_group({2, 1, 2}, [](communicator& c) {
    c.barrier(20s);
    if (c.rank() != 2) c.barrier(20s);
  });
  BOOST_TEST(ends[2].ok(), ends[2].render());
  for (const auto rank : {0U, 1U, 3U, 4U})
    require_all({ends[rank]}, status_code::unavailable, "rank 1 has left the group");  // of the processes
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_ends_the_calls_of_its_process_which_ends_all_others) {
  const auto ends = run_group({2, 1}, [](communicator& c) {
    c.barrier(20s);
    if (c.rank() != 1) c.barrier(20s);
  });
  BOOST_TEST(ends[1].ok(), ends[1].render());
  require_all({ends[0], ends[2]}, status_code::unavailable, "rank 1 has left the group");
}

BOOST_AUTO_TEST_CASE(ranks_that_are_done_leave_the_processes_as_they_are) {
  auto processes = make_thread_communicators(2);
  const std::shared_ptr<communicator> first = std::move(processes[0]);
  const std::shared_ptr<communicator> second = std::move(processes[1]);
  const auto work = [](const std::shared_ptr<communicator>& process) {
    make_hierarchical_communicators(process, {1, 1}).front()->barrier(20s);
  };
  require_ok(run_threads(2, [&](int rank) { work(rank == 0 ? first : second); }));
  BOOST_TEST(!first->broken().has_value());
  BOOST_TEST(!second->broken().has_value());
}

BOOST_AUTO_TEST_CASE(a_limit_beyond_the_end_of_the_clock_is_none) { the_longest_limit_is_none(run); }

BOOST_AUTO_TEST_CASE(a_bad_argument_leaves_the_group_usable) { bad_arguments_break_nothing(run); }

BOOST_AUTO_TEST_CASE(a_mean_of_large_halves_does_not_overflow) {
  require_ok(run_group({1, 3}, [](communicator& c) {
    auto x = tensor::full(shape{3}, float16{60000.0f});
    c.all_reduce(x, reduce_op::mean, 20s);
    expect(static_cast<float>(x.values<float16>().front()) == 60000.0f, "the mean of equal numbers is that number");
  }));
}

BOOST_AUTO_TEST_CASE(numbers_of_ranks_that_do_not_fit_are_refused) {
  const auto make = [](const std::vector<int>& ranks) {
    auto processes = make_thread_communicators(2);
    make_hierarchical_communicators(std::move(processes[0]), ranks);
  };
  BOOST_CHECK_THROW(make({1}), invalid_argument_error);
  BOOST_CHECK_THROW(make({1, 0}), invalid_argument_error);
  BOOST_CHECK_THROW(make({}), invalid_argument_error);
}

BOOST_AUTO_TEST_SUITE_END()
