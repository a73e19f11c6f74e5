#include "collective_checks.hpp"
#include "communicator_cases.hpp"

#include <boost/test/unit_test.hpp>

#include <exception>
#include <future>
#include <latch>
#include <string>

namespace troupe::communicator_cases {

namespace {

using namespace std::chrono_literals;

constexpr auto patience = 20s;

}  // namespace

std::vector<status> run_threads(int size, const std::function<void(int)>& f) {
  std::vector<std::future<void>> running;
  running.reserve(static_cast<std::size_t>(size));
  for (auto rank = 0; rank < size; ++rank) running.push_back(std::async(std::launch::async, f, rank));
  std::vector<status> ends;
  for (auto& each : running) {
    try {
      each.get();
      ends.emplace_back();
    } catch (...) {
      ends.push_back(status_of(std::current_exception()));
    }
  }
  return ends;
}

void expect(bool holds, std::string_view what) {
  if (!holds) throw data_loss_error{std::string{what}};
}

void require_ok(const std::vector<status>& ends) {
  for (const auto& each : ends) BOOST_TEST(each.ok(), each.render());
}

void require_all(const std::vector<status>& ends, status_code code, std::string_view text) {
  for (const auto& each : ends) {
    BOOST_TEST((each.code() == code), each.render());
    BOOST_TEST((each.render().find(text) != std::string::npos), each.render() << " lacks \"" << text << "\"");
  }
}

void collectives_give_what_plain_loops_give(const group_runner& run, const std::vector<int>& sizes) {
  for (const auto size : sizes) {
    BOOST_TEST_CONTEXT(size << " ranks") {
      require_ok(run(size, [](communicator& c) { check_collectives(c); }));
    }
  }
}

void large_tensors_arrive_whole(const group_runner& run) {
  require_ok(run(3, [](communicator& c) {
    auto x = tensor::full(shape{1'000'003}, std::int64_t{c.rank()} + 1);
    c.all_reduce(x, reduce_op::sum, patience);
    for (const auto each : x.values<std::int64_t>()) expect(each == 6, "a sum of 1, 2 and 3 is 6");
    check_equal_bits(c, 700'001, patience);
    const auto all = c.all_gather(tensor::full(shape{700'001}, static_cast<float>(c.rank())), patience);
    expect(all.values<float>()[700'000] == 0 && all.values<float>()[700'001] == 1, "parts follow each other");
    expect(all.values<float>().back() == 2, "the last part is the last rank's");
    const auto part = c.reduce_scatter(tensor::full(shape{900'003}, 2.0), reduce_op::product, patience);
    for (const auto each : part.values<double>()) expect(each == 8, "a product of three twos is 8");
    auto sent = tensor::full(shape{700'001}, c.rank());
    c.broadcast(sent, 2, patience);
    for (const auto each : sent.values<int>()) expect(each == 2, "what rank 2 sends is 2");
  }));
}

void different_calls_are_named(const group_runner& run) {
  const auto ends = run(3, [](communicator& c) {
    auto x = tensor::full(shape{c.rank() == 2 ? 5 : 4}, 1.0f);
    c.all_reduce(x, reduce_op::sum, patience);
  });
  require_all(ends, status_code::failed_precondition, "rank 2 all_reduce(sum, 5 x float32)");
  const auto kinds = run(2, [](communicator& c) {
    auto x = tensor::full(shape{4}, 1.0f);
    c.rank() == 0 ? c.barrier(patience) : c.all_reduce(x, reduce_op::mean, patience);
  });
  require_all(kinds, status_code::failed_precondition, "rank 0 barrier, but rank 1 all_reduce(mean, 4 x float32)");
  const auto roots = run(4, [](communicator& c) {
    auto x = tensor::full(shape{4}, 1.0f);
    c.broadcast(x, c.rank() < 2 ? 0 : 1, patience);
  });
  require_all(roots, status_code::failed_precondition, "broadcast(from rank 1, 4 x float32)");
}

void late_ranks_are_named(const group_runner& run) {
  std::latch others_done{2};
  const auto ends = run(3, [&](communicator& c) {
    // A longer limit before the short one must not delay it.
    c.barrier(patience);
    if (c.rank() == 1) return others_done.wait();
    const auto begin = std::chrono::steady_clock::now();
    try {
      c.barrier(50ms);
    } catch (...) {
      others_done.count_down();
      expect(std::chrono::steady_clock::now() - begin < patience / 2, "a limit of 50 ms passes soon");
      throw;
    }
    others_done.count_down();
  });
  BOOST_TEST(ends[1].ok(), ends[1].render());
  require_all({ends[0], ends[2]}, status_code::deadline_exceeded, "rank 1");
}

void an_abort_reaches_all(const group_runner& run) {
  const auto ends = run(4, [](communicator& c) {
    c.barrier(patience);
    if (c.rank() == 1) c.abort({status_code::data_loss, "the disk is full"});
    c.barrier(patience);
  });
  require_all(ends, status_code::data_loss, "the disk is full");
}

void a_broken_group_stays_broken(const group_runner& run) {
  const auto fails_with = [](communicator& c, std::string_view text) {
    try {
      c.barrier(patience);
    } catch (const aborted_error& failure) {
      return std::string_view{failure.what()}.find(text) != std::string_view::npos;
    }
    return false;
  };
  require_ok(run(2, [&](communicator& c) {
    if (c.rank() == 0) {
      c.barrier(patience);
      expect(!c.broken(), "a group that works is not broken");
      c.abort({status_code::aborted, "enough"});
      c.abort({status_code::data_loss, "the first reason counts"});
    } else {
      // The first call may be ended, too, if this rank hears of the abort before it hears that all are there.
      if (!fails_with(c, "enough")) expect(fails_with(c, "enough"), "the next call is ended");
    }
    expect(fails_with(c, "enough"), "the first call after an abort fails");
    expect(fails_with(c, "enough"), "the second one, too");
    expect(c.broken().value_or(status{}).render().find("enough") != std::string::npos, "broken() says why");
  }));
}

void leaving_ends_the_others(const group_runner& run) {
  const auto ends = run(3, [](communicator& c) {
    c.barrier(patience);
    if (c.rank() != 2) c.barrier(patience);
  });
  BOOST_TEST(ends[2].ok(), ends[2].render());
  require_all({ends[0], ends[1]}, status_code::unavailable, "rank 2");
}

void the_longest_limit_is_none(const group_runner& run) {
  require_ok(run(2, [](communicator& c) {
    auto x = tensor::full(shape{3}, 1.0f);
    c.all_reduce(x, reduce_op::sum, std::chrono::nanoseconds::max());
    expect(x.values<float>().back() == 2.0f, "the sum is there");
    c.barrier(std::chrono::nanoseconds::max());
  }));
}

void bad_arguments_break_nothing(const group_runner& run) {
  require_ok(run(2, [](communicator& c) {
    auto x = tensor::of({true, false});
    auto refused = false;
    try {
      c.all_reduce(x, reduce_op::sum, patience);
    } catch (const invalid_argument_error&) {
      refused = true;
    }
    expect(refused, "booleans cannot be reduced");
    check_collectives(c, {.counts = {5}});
  }));
}

}  // namespace troupe::communicator_cases
