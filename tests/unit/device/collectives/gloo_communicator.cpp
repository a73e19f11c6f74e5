// Ranks that gloo connects, as threads of this process. What processes add (their deaths) is in tests/cluster.
#include "communicator_cases.hpp"

#include <troupe/device/collectives/gloo_communicator.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(gloo_communicator_suite)

namespace {

using namespace std::chrono_literals;
using namespace troupe;
using namespace troupe::communicator_cases;

constexpr auto patience = 20s;
constexpr auto host = "127.0.0.1";

std::vector<status> run(int size, const rank_work& work) {
  memory_rendezvous_store store;
  return run_threads(size, [&](int rank) { work(*make_gloo_communicator(store, host, rank, size, patience)); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_collective_gives_what_a_plain_loop_gives) {
  collectives_give_what_plain_loops_give(run, {1, 2, 3});
}

BOOST_AUTO_TEST_CASE(tensors_larger_than_a_message_travel_in_chunks) { large_tensors_arrive_whole(run); }

BOOST_AUTO_TEST_CASE(ranks_that_call_different_collectives_are_named_on_every_rank) { different_calls_are_named(run); }

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_come_is_named_when_the_limit_passes) { late_ranks_are_named(run); }

BOOST_AUTO_TEST_CASE(an_abort_ends_the_calls_of_all_ranks_with_its_status) { an_abort_reaches_all(run); }

BOOST_AUTO_TEST_CASE(a_broken_communicator_throws_the_same_error_from_then_on) { a_broken_group_stays_broken(run); }

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_ends_the_calls_that_need_it) { leaving_ends_the_others(run); }

// Each time it is open who looks first. The first rank gives up as soon as it has all; the others may have all, too,
// but not have looked, and know of its farewell already.
BOOST_AUTO_TEST_CASE(who_gives_up_after_the_last_collective_disturbs_nobody_in_it) {
  for (auto round = 0; round < 150; ++round) {
    const auto ends = run(3, [&](communicator& c) {
      auto x = tensor::full(shape{round % 2 == 0 ? 100 : 300'000}, 1.0f);
      c.all_reduce(x, reduce_op::sum, patience);
      if (c.rank() == round % 3) c.abort({status_code::cancelled, "this rank has all it needs"});
      expect(x.values<float>().back() == 3.0f, "the sum is whole");
    });
    BOOST_TEST_CONTEXT("round " << round) { require_ok(ends); }
  }
}

BOOST_AUTO_TEST_CASE(a_limit_beyond_the_end_of_the_clock_is_none) { the_longest_limit_is_none(run); }

BOOST_AUTO_TEST_CASE(a_bad_argument_leaves_the_group_usable) { bad_arguments_break_nothing(run); }

BOOST_AUTO_TEST_CASE(ranks_that_do_not_come_end_the_connecting_when_the_limit_passes) {
  memory_rendezvous_store store;
  const auto ends = run_threads(1, [&](int rank) { make_gloo_communicator(store, host, rank, 2, 50ms); });
  require_all(ends, status_code::deadline_exceeded, "rank 0 of 2 has not heard from all other ranks");
}

BOOST_AUTO_TEST_CASE(addresses_that_are_not_this_hosts_are_refused) {
  memory_rendezvous_store store;
  const auto refused = [&](const std::string& address, const std::string& text) {
    const auto ends = run_threads(1, [&](int rank) { make_gloo_communicator(store, address, rank, 1, 1s); });
    require_all(ends, status_code::invalid_argument, text);
  };
  refused("192.0.2.1", "no address of this host");
  refused("no such host", "cannot be resolved");
  refused("", "cannot be resolved");
}

BOOST_AUTO_TEST_CASE(bad_ranks_sizes_and_limits_are_refused) {
  memory_rendezvous_store store;
  BOOST_CHECK_THROW(make_gloo_communicator(store, host, 0, 0, 1s), invalid_argument_error);
  BOOST_CHECK_THROW(make_gloo_communicator(store, host, 1, 1, 1s), invalid_argument_error);
  BOOST_CHECK_THROW(make_gloo_communicator(store, host, -1, 1, 1s), invalid_argument_error);
  BOOST_CHECK_THROW(make_gloo_communicator(store, host, 0, 1, -1s), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(a_store_gives_what_was_set_and_names_what_was_not) {
  memory_rendezvous_store store;
  store.set("a", {std::byte{1}, std::byte{2}});
  BOOST_TEST((store.get("a", 1s) == rendezvous_store::bytes{std::byte{1}, std::byte{2}}));
  const auto ends = run_threads(1, [&](int) { store.get("b", 1ms); });
  require_all(ends, status_code::deadline_exceeded, "\"b\"");
}

BOOST_AUTO_TEST_SUITE_END()
