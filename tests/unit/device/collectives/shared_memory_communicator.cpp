// Ranks in shared memory, as threads of this process. What processes add (their deaths) is in tests/cluster.
#include "communicator_cases.hpp"

#include <troupe/device/collectives/internal/local_socket.hpp>
#include <troupe/device/collectives/internal/shared_segment.hpp>
#include <troupe/device/collectives/shared_memory_communicator.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <latch>
#include <span>

#include <sys/time.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(shared_memory_communicator_suite)

namespace {

using namespace std::chrono_literals;
using namespace troupe;
using namespace troupe::communicator_cases;

constexpr auto patience = 20s;

std::string fresh_name() {
  static std::atomic<int> count{0};
  return fmt::format("unit-{}-{}", ::getpid(), ++count);
}

std::vector<status> run(int size, const rank_work& work) {
  const auto name = fresh_name();
  return run_threads(size, [&](int rank) { work(*make_shared_memory_communicator(name, rank, size, patience)); });
}

/// Says what a rank says to rank 0, then ends.
void introduce_as(const std::string& name, std::int32_t rank, std::int32_t size) {
  const auto socket = connect_local(name, std::chrono::steady_clock::now() + patience);
  std::array<std::byte, 16> greeting;
  std::memcpy(greeting.data(), "troupe 1", 8);
  std::memcpy(greeting.data() + 8, &rank, sizeof(rank));
  std::memcpy(greeting.data() + 12, &size, sizeof(size));
  expect(send_message(socket, greeting), "rank 0 takes a greeting");
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_collective_gives_what_a_plain_loop_gives) {
  collectives_give_what_plain_loops_give(run, {1, 2, 3, 4});
}

BOOST_AUTO_TEST_CASE(tensors_larger_than_the_windows_travel_in_chunks) { large_tensors_arrive_whole(run); }

BOOST_AUTO_TEST_CASE(ranks_that_call_different_collectives_are_named_on_every_rank) { different_calls_are_named(run); }

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_come_is_named_when_the_limit_passes) { late_ranks_are_named(run); }

BOOST_AUTO_TEST_CASE(an_abort_ends_the_calls_of_all_ranks_with_its_status) { an_abort_reaches_all(run); }

BOOST_AUTO_TEST_CASE(a_broken_communicator_throws_the_same_error_from_then_on) { a_broken_group_stays_broken(run); }

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_ends_the_calls_that_need_it) { leaving_ends_the_others(run); }

BOOST_AUTO_TEST_CASE(a_limit_beyond_the_end_of_the_clock_is_none) { the_longest_limit_is_none(run); }

BOOST_AUTO_TEST_CASE(a_bad_argument_leaves_the_group_usable) { bad_arguments_break_nothing(run); }

BOOST_AUTO_TEST_CASE(a_group_that_is_not_complete_in_time_names_who_is_missing) {
  const auto name = fresh_name();
  const auto ends =
      run_threads(2, [&](int rank) { make_shared_memory_communicator(name, rank, 4, rank == 0 ? 50ms : 20s); });
  require_all(ends, status_code::deadline_exceeded, "ranks 2, 3 did not come");
  BOOST_CHECK_THROW(make_shared_memory_communicator(fresh_name(), 1, 2, 10ms), deadline_exceeded_error);
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_there_twice_is_refused_and_the_group_is_formed_without_it) {
  const auto name = fresh_name();
  std::latch refused{1};
  const auto ends = run_threads(4, [&](int thread) {
    // Threads 1 and 2 both say that they are rank 1; rank 2 completes the group only when one of them is refused.
    if (thread == 3) refused.wait();
    const auto rank = thread == 3 ? 2 : std::min(thread, 1);
    try {
      make_shared_memory_communicator(name, rank, 3, patience)->barrier(patience);
    } catch (const invalid_argument_error&) {
      refused.count_down();
      throw;
    }
  });
  require_ok({ends[0], ends[3]});
  BOOST_TEST((ends[1].ok() != ends[2].ok()));
  require_all({ends[1].ok() ? ends[2] : ends[1]}, status_code::invalid_argument, "each once");
}

BOOST_AUTO_TEST_CASE(ranks_that_expect_groups_of_different_sizes_are_told) {
  const auto name = fresh_name();
  const auto ends = run_threads(
      2, [&](int rank) { make_shared_memory_communicator(name, rank, rank == 0 ? 2 : 3, rank == 0 ? 200ms : 20s); });
  require_all({ends[1]}, status_code::invalid_argument, "rank 1 of 3 cannot join");
}

BOOST_AUTO_TEST_CASE(a_rank_that_dies_before_the_group_is_complete_is_named) {
  const auto name = fresh_name();
  const auto ends = run_threads(2, [&](int thread) {
    if (thread == 0) {
      make_shared_memory_communicator(name, 0, 3, patience);
    } else {
      introduce_as(name, 1, 3);
    }
  });
  require_all({ends[0]}, status_code::unavailable, fmt::format("rank 1 (process {}) has ended", ::getpid()));
}

BOOST_AUTO_TEST_CASE(strangers_that_connect_do_not_disturb_a_group) {
  const auto name = fresh_name();
  std::latch strangers_are_there{2};
  require_ok(run_threads(4, [&](int thread) {
    if (thread == 1) strangers_are_there.wait();
    if (thread < 2) {
      make_shared_memory_communicator(name, thread, 2, patience)->barrier(patience);
      return;
    }
    const auto socket = connect_local(name, std::chrono::steady_clock::now() + patience);
    if (thread == 2) send_message(socket, std::as_bytes(std::span{"GET / HTTP/1.1"}));
    strangers_are_there.count_down();
  }));
}

BOOST_AUTO_TEST_CASE(bad_ranks_sizes_names_and_limits_are_refused) {
  const auto make = [](int rank, int size, std::chrono::nanoseconds limit = 1s, const std::string& name = "x") {
    make_shared_memory_communicator(name, rank, size, limit);
  };
  BOOST_CHECK_THROW(make(0, 0), invalid_argument_error);
  BOOST_CHECK_THROW(make(2, 2), invalid_argument_error);
  BOOST_CHECK_THROW(make(-1, 2), invalid_argument_error);
  BOOST_CHECK_THROW(make(0, 100'000), invalid_argument_error);
  BOOST_CHECK_THROW(make(0, 1, 0s), invalid_argument_error);
  BOOST_CHECK_THROW(make(0, 1, std::chrono::nanoseconds::min()), invalid_argument_error);
  BOOST_CHECK_THROW(make(0, 1, 1s, ""), invalid_argument_error);
  BOOST_CHECK_THROW(make(0, 1, 1s, std::string(200, 'x')), invalid_argument_error);
}

// A profiler sends them; the kernel gives up reserving memory when one comes.
BOOST_AUTO_TEST_CASE(signals_do_not_keep_memory_from_being_reserved) {
  static std::atomic<int> received;
  received = 0;
  struct sigaction counting = {};
  counting.sa_handler = [](int) { ++received; };
  struct sigaction before = {};
  ::sigaction(SIGALRM, &counting, &before);
  const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 300}, .it_value = {.tv_sec = 0, .tv_usec = 300}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  for (auto round = 0; round < 10; ++round) BOOST_CHECK_NO_THROW(shared_segment::create(64));
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  BOOST_TEST(received > 0);
}

BOOST_AUTO_TEST_CASE(two_groups_cannot_be_formed_under_one_name_at_once) {
  const auto name = fresh_name();
  const auto ends = run_threads(2, [&](int) { make_shared_memory_communicator(name, 0, 2, 200ms); });
  BOOST_TEST(std::ranges::count(ends, status_code::already_exists, &status::code) == 1);
  BOOST_TEST(std::ranges::count(ends, status_code::deadline_exceeded, &status::code) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
