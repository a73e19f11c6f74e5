// NCCL over the GPUs of all processes (D4). The processes here share one: what a group has in common it has in memory
// that is shared between processes, or on the control.
#include "eight_small_gpus.hpp"
#include "support/refusal.hpp"
#include "unit/device/collectives/thread_ranks.hpp"

#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/collectives/device_communicator.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>
#include <troupe/device/emulated/emulated_faults.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(groups_over_processes_suite, *boost::unit_test::fixture<eight_small_gpus>())

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using communicator_list = std::vector<std::unique_ptr<communicator>>;
using names = std::vector<std::string>;

/// A group over these devices of each process, of which all have as many; the ends by rank.
communicator_list make_group(const std::vector<names>& processes) {
  communicator_list all;
  for (auto& process : make_thread_communicators(static_cast<int>(processes.size()))) {
    const auto plan =
        plan_communication({.devices = locate_devices(processes[static_cast<std::size_t>(process->rank())]),
                            .processes = process->size(),
                            .implementation = communication_implementation::nccl});
    BOOST_REQUIRE(plan.nccl_spans_processes);
    for (auto& end : make_communicators(plan, std::move(process))) all.push_back(std::move(end));
  }
  return all;
}

const std::vector<names> two_by_two{{"GPU:0", "GPU:1"}, {"GPU:2", "GPU:3"}};

std::vector<float> floats_of(const tensor& x) {
  const auto on_host = x.copy_to("CPU:0");
  const auto values = on_host.values<float>();
  return {values.begin(), values.end()};
}

void expect(bool holds, const std::string& what) {
  if (!holds) throw internal_error{what};
}

/// That each rank's all_reduce of ones gives their number.
void sum_ones(communicator& end, std::chrono::nanoseconds limit = 1min) {
  auto x = tensor::full({100}, 1.0f).copy_to(end.device());
  end.all_reduce(x, reduce_op::sum, limit);
  expect(floats_of(x) == std::vector<float>(100, static_cast<float>(end.size())), "a sum is wrong");
}

void require_that_it_works(communicator_list group) {
  for (const auto& end : end_of_ranks(group, [](communicator& each) { sum_ones(each); }))
    BOOST_TEST(end.ok(), end.render());
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_collective_gives_on_the_gpus_of_all_processes_what_it_gives_on_those_of_one) {
  auto group = make_group(two_by_two);
  const auto ends = end_of_ranks(group, [](communicator& end) {
    const auto rank = static_cast<float>(end.rank());
    const auto on_device = [&](const tensor& x) { return x.copy_to(end.device()); };
    expect(end.size() == 4, "four ranks");
    sum_ones(end);
    auto mean = on_device(tensor::of({rank, 2 * rank}));
    end.all_reduce(mean, reduce_op::mean, 1min);
    expect(floats_of(mean) == std::vector{1.5f, 3.0f}, "a mean is wrong");
    expect(floats_of(end.all_gather(on_device(tensor::of({rank})), 1min)) == std::vector{0.0f, 1.0f, 2.0f, 3.0f},
           "what was gathered is wrong");
    const auto part = end.reduce_scatter(on_device(tensor::of({1.0f, 2.0f, 3.0f, 4.0f})), reduce_op::sum, 1min);
    expect(floats_of(part) == std::vector{4 * (rank + 1)}, "a part is wrong");
    for (auto root = 0; root < end.size(); ++root) {
      auto x = on_device(tensor::of({rank}));
      end.broadcast(x, root, 1min);
      expect(floats_of(x) == std::vector{static_cast<float>(root)}, "what a root has sent is wrong");
    }
    auto narrow = on_device(tensor::full({3}, static_cast<std::int16_t>(end.rank())));
    end.all_reduce(narrow, reduce_op::sum, 1min);
    expect(narrow.copy_to("CPU:0").values<std::int16_t>()[2] == 6, "a sum of int16 is wrong");
    std::vector<tensor> several;
    for (const auto count : {3, 100'000, 1}) several.push_back(on_device(tensor::full({count}, rank)));
    end.start_all_reduce(several, reduce_op::max, 1min)->wait();
    for (const auto& each : several) expect(floats_of(each).back() == 3.0f, "one of several is wrong");
    end.barrier(1min);
  });
  for (const auto& end : ends) BOOST_TEST(end.ok(), end.render());
}

BOOST_AUTO_TEST_CASE(one_gpu_in_each_of_several_processes_makes_a_group) {
  require_that_it_works(make_group({{"GPU:0"}, {"GPU:1"}, {"GPU:2"}}));
}

// Each group launches everywhere before another one does anywhere (D10).
BOOST_AUTO_TEST_CASE(groups_over_the_same_processes_that_are_used_at_the_same_time_never_block_each_other) {
  constexpr auto rounds = 60;
  const std::vector<std::vector<names>> kinds{
      two_by_two, {{"GPU:1", "GPU:0"}, {"GPU:3", "GPU:2"}}, {{"GPU:0"}, {"GPU:3"}}, {{"GPU:0", "GPU:2"}}};
  std::vector<std::vector<status>> ends(kinds.size());
  {
    std::vector<std::jthread> groups;
    for (auto i = std::size_t{0}; i < kinds.size(); ++i) {
      const auto& each = kinds[i];
      auto group = each.size() == 1 ? make_local_communicators(each.front()) : make_group(each);
      groups.emplace_back([&end = ends[i], group = std::move(group)]() mutable {
        end = end_of_ranks(group, [](communicator& rank) {
          for (auto round = 0; round < rounds; ++round) sum_ones(rank);
        });
      });
    }
  }
  for (const auto& group : ends)
    for (const auto& end : group) BOOST_TEST(end.ok(), end.render());
}

BOOST_AUTO_TEST_CASE(a_gpu_that_fails_is_named_in_all_processes_and_nobody_waits_for_it) {
  for (const auto* const before : {"its first collective", "a later one"}) {
    auto group = make_group(two_by_two);
    if (before == std::string{"a later one"})
      for (const auto& end : end_of_ranks(group, [](communicator& each) { sum_ones(each); })) BOOST_REQUIRE(end.ok());
    fail_emulated_gpu("GPU:2", "a bus error");
    const auto started = steady_clock::now();
    const auto all_reduce = [](communicator& end) {
      auto x = tensor::uninitialised(dtype::float32, {4}, end.device());
      end.all_reduce(x, reduce_op::sum, 1min);
    };
    for (const auto& end : end_of_ranks(group, all_reduce))
      BOOST_TEST(contains(end.render(), "GPU:2 has failed in"), before << ": " << end.render());
    BOOST_TEST((steady_clock::now() - started < 20s));
    // Who comes later hears the same.
    for (const auto& end : end_of_ranks(group, all_reduce))
      BOOST_TEST(contains(end.render(), "GPU:2 has failed in"), before << ": " << end.render());
    repair_emulated_gpu("GPU:2");
    require_that_it_works(make_group(two_by_two));
  }
}

BOOST_AUTO_TEST_CASE(a_gpu_that_hangs_ends_the_collective_in_all_processes_at_the_deadline) {
  auto group = make_group(two_by_two);
  std::atomic<int> ready = 0;
  const auto ends = end_of_ranks(group, [&](communicator& end) {
    sum_ones(end);
    auto x = tensor::full({4}, 1.0f).copy_to(end.device());
    ++ready;
    if (end.rank() == 3) {
      while (ready < 4) std::this_thread::yield();
      hang_emulated_gpu("GPU:3");
    }
    end.barrier(1min);
    end.all_reduce(x, reduce_op::sum, 300ms);
  });
  for (const auto& end : ends) BOOST_TEST((end.code() == status_code::deadline_exceeded), end.render());
  for (const auto* const device : {"GPU:0", "GPU:1", "GPU:2"})
    BOOST_TEST(tensor::full({1}, 2.0f).copy_to(device).item<float>() == 2.0f);
  repair_emulated_gpu("GPU:3");
  require_that_it_works(make_group(two_by_two));
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_ends_the_others_calls_wherever_they_are) {
  auto group = make_group(two_by_two);
  const auto ends = end_of_ranks(group, [&](communicator& end) {
    sum_ones(end);
    const auto rank = static_cast<std::size_t>(end.rank());
    if (rank == 3) return group[rank].reset();
    sum_ones(end);
  });
  for (const auto rank : {0, 1, 2})
    BOOST_TEST((ends[static_cast<std::size_t>(rank)].code() == status_code::unavailable),
               ends[static_cast<std::size_t>(rank)].render());
}

BOOST_AUTO_TEST_CASE(an_abort_in_one_process_ends_the_group_in_all_with_its_reason) {
  auto group = make_group(two_by_two);
  const auto ends = end_of_ranks(group, [](communicator& end) {
    sum_ones(end);
    if (end.rank() == 3) end.abort({status_code::cancelled, "enough"});
    sum_ones(end);
  });
  for (const auto& end : ends) {
    BOOST_TEST((end.code() == status_code::cancelled), end.render());
    BOOST_TEST(contains(end.render(), "enough"), end.render());
  }
}

BOOST_AUTO_TEST_CASE(ranks_of_different_processes_that_call_different_collectives_are_told_so) {
  auto group = make_group({{"GPU:0"}, {"GPU:1"}});
  const auto ends = end_of_ranks(group, [](communicator& end) {
    auto x = tensor::zeros(dtype::float32, {4}, end.device());
    end.all_reduce(x, end.rank() == 0 ? reduce_op::sum : reduce_op::max, 1min);
  });
  for (const auto& end : ends) {
    BOOST_TEST((end.code() == status_code::failed_precondition), end.render());
    for (const auto* const call : {"all_reduce(sum", "all_reduce(max"})
      BOOST_TEST(contains(end.render(), call), end.render());
  }
}

BOOST_AUTO_TEST_CASE(processes_with_different_numbers_of_gpus_are_refused) {
  auto controls = make_thread_communicators(3);
  controls.pop_back();
  BOOST_TEST(refuses<invalid_argument_error>(
      [&] {
        make_device_communicators(std::move(controls), {"GPU:0", "GPU:1"});
      },
      "expected as many devices"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
