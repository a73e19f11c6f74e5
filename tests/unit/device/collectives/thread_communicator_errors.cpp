// Everything that can go wrong among threads of a group ends on every rank, and no rank touches the memory of one that
// has left. The latter shows under the address and thread sanitizers.
#include "thread_ranks.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <random>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(thread_communicator_errors_suite)

namespace {

bool mentions(const status& why, std::string_view text) { return why.message().find(text) != std::string::npos; }

bool refuses(const std::function<void()>& call, std::string_view text) {
  try {
    call();
  } catch (const invalid_argument_error& e) {
    return mentions(e.get_status(), text);
  }
  return false;
}

// Two ranks call different collectives; both must learn both calls.
void check_mismatch(const std::function<void(communicator&)>& first, const std::function<void(communicator&)>& second,
                    std::string_view first_text, std::string_view second_text) {
  auto ends = make_thread_communicators(3);
  const auto results =
      end_of_ranks(ends, [&](communicator& ranks) { ranks.rank() == 1 ? second(ranks) : first(ranks); });
  for (const auto& end : results) {
    BOOST_CHECK(end.code() == status_code::failed_precondition);
    BOOST_TEST(mentions(end, std::string{"rank 0 "}.append(first_text)));
    BOOST_TEST(mentions(end, std::string{"rank 1 "}.append(second_text)));
  }
  for (const auto& end : ends) BOOST_CHECK(end->broken() == results[0]);
}

auto reducing(dtype type, std::int64_t count, reduce_op op = reduce_op::sum) {
  return [=](communicator& ranks) {
    auto x = tensor::zeros(type, {count});
    ranks.all_reduce(x, op, ample_time);
  };
}

auto broadcasting(int root) {
  return [=](communicator& ranks) {
    auto x = tensor::zeros(dtype::float32, {3});
    ranks.broadcast(x, root, ample_time);
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(different_calls_end_on_all_ranks_and_are_named) {
  const auto barrier = [](communicator& ranks) { ranks.barrier(ample_time); };
  check_mismatch(reducing(dtype::float32, 4), barrier, "all_reduce(sum, 4 x float32)", "barrier");
  check_mismatch(reducing(dtype::float32, 4), reducing(dtype::float32, 5), "all_reduce(sum, 4 x float32)",
                 "all_reduce(sum, 5 x float32)");
  check_mismatch(reducing(dtype::float32, 9000), reducing(dtype::float64, 9000), "all_reduce(sum, 9000 x float32)",
                 "all_reduce(sum, 9000 x float64)");
  check_mismatch(reducing(dtype::int8, 4), reducing(dtype::int8, 4, reduce_op::max), "all_reduce(sum, 4 x int8)",
                 "all_reduce(max, 4 x int8)");
  check_mismatch(broadcasting(2), broadcasting(0), "broadcast(from rank 2, 3 x float32)",
                 "broadcast(from rank 0, 3 x float32)");
}

BOOST_AUTO_TEST_CASE(a_deadline_names_the_ranks_that_are_missing) {
  auto ends = make_thread_communicators(4);
  const auto results = end_of_ranks(ends, [](communicator& ranks) {
    if (ranks.rank() % 2 == 0) ranks.barrier(30ms);
  });
  for (const auto rank : {0, 2}) {
    BOOST_CHECK(results[static_cast<std::size_t>(rank)].code() == status_code::deadline_exceeded);
    BOOST_TEST(mentions(results[static_cast<std::size_t>(rank)], "ranks 1, 3 did not come"));
    BOOST_TEST(mentions(results[static_cast<std::size_t>(rank)], "barrier"));
  }
  BOOST_TEST(results[1].ok());
  // Who comes later learns the same, at once and for ever.
  for (auto i = 0; i < 2; ++i) {
    for (const auto& end : end_of_ranks(ends, [](communicator& ranks) { ranks.barrier(ample_time); })) {
      BOOST_CHECK(end == results[0]);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_abort_by_any_thread_ends_all_ranks_with_its_status) {
  const status why{status_code::unavailable, "replica 2 was lost"};
  auto ends = make_thread_communicators(3);
  const auto results = end_of_ranks(ends, [&](communicator& ranks) {
    ranks.rank() == 2 ? ranks.abort(why) : reducing(dtype::float32, 100'000)(ranks);
  });
  BOOST_CHECK(results[0] == why);
  BOOST_CHECK(results[1] == why);
  ends[0]->abort({status_code::cancelled, "too late: the first abort counts"});
  for (const auto& end : ends) BOOST_CHECK(end->broken() == why);
  BOOST_CHECK_THROW(ends[2]->barrier(ample_time), unavailable_error);
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_is_named_to_those_who_stay) {
  auto ends = make_thread_communicators(3);
  BOOST_CHECK(!ends[0]->broken());
  const auto results = end_of_ranks(ends, [&](communicator& ranks) {
    ranks.barrier(ample_time);
    ranks.rank() == 1 ? ends[1].reset() : ranks.barrier(ample_time);
  });
  for (const auto rank : {std::size_t{0}, std::size_t{2}}) {
    BOOST_CHECK(results[rank].code() == status_code::unavailable);
    BOOST_TEST(mentions(results[rank], "rank 1 has left"));
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_after_a_call_does_not_disturb_those_who_are_still_in_it) {
  for (const auto count : {1, 5000}) {
    for (auto i = 0; i < 50; ++i) {
      auto ends = make_thread_communicators(4);
      const auto results = end_of_ranks(ends, [&](communicator& ranks) {
        const auto rank = static_cast<std::size_t>(ranks.rank());
        auto x = tensor::full({count}, 1.0f);
        ranks.all_reduce(x, reduce_op::sum, ample_time);
        ends[rank].reset();
        if (!x.bitwise_equal(tensor::full({count}, 4.0f))) throw internal_error{"wrong sum"};
      });
      for (const auto& end : results) BOOST_TEST(end.ok(), end.render());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_bad_argument_is_refused_and_the_group_stays_usable) {
  on_ranks(2, [](communicator& ranks) {
    auto x = tensor::zeros(dtype::float32, {3});
    auto flags = tensor::zeros(dtype::boolean, {3});
    auto integers = tensor::zeros(dtype::int32, {3});
    auto scalar = tensor::scalar(1.0f);
    auto memory = std::make_shared<float>(0.0f);
    auto elsewhere = tensor::from_buffer(dtype::float32, {1}, buffer::adopt(memory, memory.get(), 4, "GPU:0"));
    const auto refused = refuses([&] { ranks.all_reduce(flags, reduce_op::max, ample_time); }, "boolean") &&
                         refuses([&] { ranks.all_reduce(integers, reduce_op::mean, ample_time); }, "int32") &&
                         refuses([&] { ranks.all_reduce(x, reduce_op::sum, 0ns); }, "limit is 0 ns") &&
                         refuses([&] { ranks.barrier(-1s); }, "limit") &&
                         refuses([&] { ranks.barrier(std::chrono::nanoseconds::min()); }, "limit") &&
                         refuses([&] { ranks.all_gather(scalar, ample_time); }, "scalar") &&
                         refuses([&] { ranks.reduce_scatter(scalar, reduce_op::sum, ample_time); }, "scalar") &&
                         refuses([&] { ranks.reduce_scatter(x, reduce_op::sum, ample_time); }, "3 rows") &&
                         refuses([&] { ranks.broadcast(x, 2, ample_time); }, "no rank 2") &&
                         refuses([&] { ranks.broadcast(x, -1, ample_time); }, "no rank -1") &&
                         refuses([&] { ranks.all_reduce(elsewhere, reduce_op::sum, ample_time); }, "on GPU:0");
    ranks.barrier(ample_time);
    if (!refused) throw internal_error{"a bad argument was not refused, or with other words"};
  });
}

namespace {

// All ranks reduce, each time with a tensor of its own that is gone as soon as the call has ended, until an error.
// `before` runs before each call and gives its limit; a rank stops where it gives none.
std::vector<status> reduce_until_error(std::vector<std::unique_ptr<communicator>>& ends, std::int64_t count,
                                       const std::function<std::chrono::nanoseconds(int rank, int call)>& before) {
  return end_of_ranks(ends, [&](communicator& ranks) {
    for (auto call = 0;; ++call) {
      const auto limit = before(ranks.rank(), call);
      if (limit == 0ns) return;
      auto x = tensor::full({count}, static_cast<float>(ranks.rank()));
      ranks.all_reduce(x, reduce_op::sum, limit);
      if (x.values<float>().back() != 6.0f) throw internal_error{"wrong sum"};
    }
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(aborts_at_any_moment_end_all_ranks_and_leave_no_one_in_foreign_memory) {
  const status why{status_code::aborted, "now"};
  for (auto i = 0; i < 32; ++i) {
    auto ends = make_thread_communicators(4);
    const auto results = reduce_until_error(ends, i % 2 == 0 ? 100 : 50'000, [&](int rank, int call) {
      if (rank == i % 4 && call == i / 4) ends[static_cast<std::size_t>(3 - rank)]->abort(why);
      return ample_time;
    });
    for (const auto& end : results) BOOST_CHECK(end == why);
  }
}

BOOST_AUTO_TEST_CASE(aborts_from_outside_end_all_ranks_and_leave_no_one_in_foreign_memory) {
  const status why{status_code::aborted, "now"};
  for (auto i = 0; i < 16; ++i) {
    auto ends = make_thread_communicators(4);
    std::atomic<int> calls{0};
    std::thread aborting{[&] {
      while (calls < i) std::this_thread::yield();
      ends[0]->abort(why);
    }};
    const auto results = reduce_until_error(ends, 50'000, [&](int, int) {
      ++calls;
      return ample_time;
    });
    aborting.join();
    for (const auto& end : results) BOOST_CHECK(end == why);
  }
}

BOOST_AUTO_TEST_CASE(deadlines_at_any_moment_end_all_ranks_and_leave_no_one_in_foreign_memory) {
  for (auto i = 0; i < 32; ++i) {
    auto ends = make_thread_communicators(4);
    const auto results = reduce_until_error(ends, i % 2 == 0 ? 100 : 20'000, [&](int rank, int call) {
      // One rank stays away some time; with limits as short as these, ranks mostly miss each other before.
      if (rank == i % 4 && call == i) return 0ns;
      return std::chrono::nanoseconds{std::minstd_rand{static_cast<unsigned>(i + call + rank)}() % 500'000 + 1};
    });
    for (auto rank = 0; rank < 4; ++rank) {
      const auto& end = results[static_cast<std::size_t>(rank)];
      if (rank == i % 4 && end.ok()) continue;
      BOOST_CHECK(end.code() == status_code::deadline_exceeded);
      BOOST_CHECK(end == ends[0]->broken());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
