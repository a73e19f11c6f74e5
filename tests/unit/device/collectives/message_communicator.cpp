// Ranks that are connected by sockets, as threads of this process. What processes add (their deaths) is in
// tests/cluster.
#include "communicator_cases.hpp"
#include "support/loopback_mesh.hpp"

#include <troupe/device/collectives/internal/rank_messages.hpp>
#include <troupe/device/collectives/message_communicator.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <string>
#include <utility>

#include <poll.h>

BOOST_AUTO_TEST_SUITE(message_communicator_suite)

namespace {

using namespace std::chrono_literals;
using namespace troupe;
using namespace troupe::communicator_cases;
using namespace troupe::rank_messages;

constexpr auto patience = 20s;

std::vector<status> run(int size, const rank_work& work) {
  auto mesh = loopback_mesh(size);
  return run_threads(
      size, [&](int rank) { work(*make_message_communicator(rank, std::move(mesh[static_cast<std::size_t>(rank)]))); });
}

/// What rank 0 of two hears in a barrier of a rank 1 that sends these bytes.
status heard_of(std::span<const std::byte> said, bool hangs_up = false) {
  auto mesh = loopback_mesh(2);
  auto other = std::move(mesh[1][0]);
  other->send_some(said);
  if (hangs_up) other.reset();
  const auto ends = run_threads(1, [&](int) { make_message_communicator(0, std::move(mesh[0]))->barrier(patience); });
  return ends.front();
}

constexpr collective broadcast_of_two_floats{
    .kind = collective_kind::broadcast, .type = dtype::float32, .count = 2, .root = 1};

std::array<std::byte, head_bytes> head_of(const message_head& head) {
  std::array<std::byte, head_bytes> bytes{};
  write_head(head, bytes);
  return bytes;
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

// M-3. Each time it is open who looks first. The first rank gives up as soon as it has all; the others may have all,
// too, but not have looked, and know of its farewell already.
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

BOOST_AUTO_TEST_CASE(ranks_and_connections_that_do_not_belong_together_are_refused) {
  BOOST_CHECK_THROW(make_message_communicator(0, {}), invalid_argument_error);
  BOOST_CHECK_THROW(make_message_communicator(2, std::move(loopback_mesh(2)[0])), invalid_argument_error);
  BOOST_CHECK_THROW(make_message_communicator(-1, std::move(loopback_mesh(2)[0])), invalid_argument_error);
  // Those of the other one.
  BOOST_CHECK_THROW(make_message_communicator(1, std::move(loopback_mesh(2)[0])), invalid_argument_error);
}

// --- what comes over a connection ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(heads_are_read_as_written) {
  const message_head head{
      .kind = message_kind::round,
      .round = 7,
      .content_bytes = 4096,
      .call = {
          .kind = collective_kind::broadcast, .op = reduce_op::max, .type = dtype::int64, .count = 512, .root = 3}};
  BOOST_TEST((read_head(head_of(head)) == head));
}

BOOST_AUTO_TEST_CASE(what_is_no_message_ends_the_call_and_names_the_rank) {
  const auto is_nonsense = [](std::span<const std::byte> said) {
    const auto ended = heard_of(said);
    return ended.code() == status_code::data_loss &&
           ended.message().find("rank 1 sends what is no message of a group") != std::string::npos;
  };
  BOOST_TEST(is_nonsense(std::array<std::byte, head_bytes>{}));
  const message_head barrier{.round = 1, .call = {.kind = collective_kind::barrier}};
  const auto right = head_of(barrier);
  // Its kind, and that of the call, its operation, its type.
  for (const std::size_t at : {0, 4, 36, 37, 38}) {
    auto wrong = right;
    wrong[at] = std::byte{0xee};
    BOOST_TEST(is_nonsense(wrong), "byte " << at);
  }
  for (const std::size_t bytes : {std::size_t{1} << 21, SIZE_MAX, SIZE_MAX - head_bytes}) {
    auto large = barrier;
    large.content_bytes = bytes;
    BOOST_TEST(is_nonsense(head_of(large)), bytes << " bytes");
  }
}

BOOST_AUTO_TEST_CASE(a_message_of_another_round_is_refused) {
  const auto ended =
      heard_of(head_of({.round = 2, .call = {.kind = collective_kind::barrier, .type = dtype::float32}}));
  BOOST_TEST((ended.code() == status_code::data_loss), ended.render());
}

BOOST_AUTO_TEST_CASE(a_message_with_more_or_less_in_it_than_the_round_has_is_refused) {
  const auto ended = heard_of(
      head_of({.round = 1, .content_bytes = 64, .call = {.kind = collective_kind::barrier, .type = dtype::float32}}));
  BOOST_TEST((ended.code() == status_code::data_loss), ended.render());
  BOOST_TEST(
      ended.message().find("rank 1 gives 64 bytes in a round of barrier, and rank 0 expects 0") != std::string::npos,
      ended.render());
  // Whatever was in the memory would be taken for what the root says.
  auto mesh = loopback_mesh(2);
  const auto nothing = head_of({.round = 1, .call = broadcast_of_two_floats});
  mesh[1][0]->send_some(nothing);
  const auto ends = run_threads(1, [&](int) {
    auto x = tensor::full(shape{2}, 1.0f);
    make_message_communicator(0, std::move(mesh[0]))->broadcast(x, 1, patience);
  });
  require_all(ends, status_code::data_loss, "rank 1 gives 0 bytes");
}

BOOST_AUTO_TEST_CASE(a_farewell_is_heard_before_the_end_of_the_connection) {
  const status why{status_code::cancelled, "enough"};
  const auto ended = heard_of(farewell_of(why), true);
  BOOST_TEST((ended.code() == status_code::cancelled), ended.render());
  BOOST_TEST(ended.message() == "enough");
  const status long_one{status_code::aborted, std::string(5000, 'x')};
  BOOST_TEST(heard_of(farewell_of(long_one)).message() == std::string(farewell_text_max, 'x'));
}

BOOST_AUTO_TEST_CASE(half_a_farewell_is_the_loss_of_the_rank) {
  const auto words = farewell_of({status_code::cancelled, "enough"});
  const auto ended = heard_of(std::span{words}.first(head_bytes + 2), true);
  BOOST_TEST((ended.code() == status_code::unavailable), ended.render());
  BOOST_TEST(ended.message().find("rank 1 is lost during barrier") != std::string::npos, ended.render());
}

// M-2. What the other one has sent lies unread in the socket that is closed.
BOOST_AUTO_TEST_CASE(who_gives_up_and_leaves_is_heard_before_his_end) {
  for (auto round = 0; round < 50; ++round) {
    auto mesh = loopback_mesh(2);
    const auto ends = run_threads(2, [&](int rank) {
      auto others = std::move(mesh[static_cast<std::size_t>(rank)]);
      if (rank == 1) return make_message_communicator(1, std::move(others))->barrier(patience);
      pollfd arrival{others[1]->socket(), POLLIN, 0};
      expect(::poll(&arrival, 1, 20'000) == 1, "the other one is in the barrier");
      make_message_communicator(0, std::move(others))->abort({status_code::cancelled, "enough"});
    });
    BOOST_TEST_CONTEXT("round " << round) {
      require_ok({ends[0]});
      require_all({ends[1]}, status_code::cancelled, "enough");
    }
  }
}

// M-4.
BOOST_AUTO_TEST_CASE(what_a_rank_has_given_arrives_after_its_end) {
  const auto ends = run(3, [](communicator& c) {
    auto x = tensor::full(shape{200'000}, static_cast<float>(c.rank()));
    c.broadcast(x, 1, patience);  // and the end
    expect(x.values<float>().back() == 1.0f, "the whole tensor");
  });
  require_ok(ends);
}

BOOST_AUTO_TEST_SUITE_END()
