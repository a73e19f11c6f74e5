// Groups of emulated GPUs: NCCL's rules, as device_group.hpp has them, and what device_communicator.hpp makes of groups
// that would hang by them. Each case repairs the devices that it harms.
#include "eight_small_gpus.hpp"
#include "gate.hpp"
#include "support/refusal.hpp"
#include "unit/device/collectives/thread_ranks.hpp"

#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/collectives/device_communicator.hpp>
#include <troupe/device/collectives/device_group.hpp>
#include <troupe/device/emulated/emulated_faults.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/tensor/internal/borrowed_tensor.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(emulated_groups_suite, *boost::unit_test::fixture<eight_small_gpus>())

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

/// Whether it holds soon; a test that asks in vain has found a hang.
template <class Predicate>
bool becomes(Predicate holds) {
  for (const auto end = steady_clock::now() + 1min; steady_clock::now() < end; std::this_thread::yield())
    if (holds()) return true;
  return false;
}

/// Whether the device stays in its collectives for so long that one which only works would be through.
bool hangs(const std::string& device) {
  return !accelerator_of(device).record_collectives()->wait_until(steady_clock::now() + 200ms);
}

/// A group of two devices and a tensor of ones on each.
struct pair_of_gpus {
  pair_of_gpus(const std::string& a, const std::string& b) : names{a, b} {
    const auto id = accelerator_of(a).new_group(group_reach::one_process);
    for (auto rank = 0; rank < 2; ++rank) {
      ranks.push_back(device(rank).join_group(id, rank, 2));
      values.push_back(tensor::full({100}, 1.0f).copy_to(names[static_cast<std::size_t>(rank)]));
    }
    for (const auto& each : ranks) BOOST_REQUIRE(becomes([&] { return each->is_settled(); }));
  }

  accelerator& device(int rank) { return accelerator_of(names[static_cast<std::size_t>(rank)]); }
  void launch_all_reduce(int rank) {
    const auto i = static_cast<std::size_t>(rank);
    auto* const data = values[i].mutable_data();
    ranks[i]->launch({.kind = collective_kind::all_reduce, .op = reduce_op::sum, .count = 100}, data, data);
  }
  /// An element, after what has been launched.
  float result(int rank) {
    device(rank).wait_for_collectives();
    return values[static_cast<std::size_t>(rank)].copy_to("CPU:0").values<float>()[99];
  }

  std::vector<std::string> names;
  std::vector<std::unique_ptr<device_group>> ranks;
  std::vector<tensor> values;
};

/// A control that hears late of what has broken it.
class late_control final : public communicator {
 public:
  explicit late_control(std::unique_ptr<communicator> ends)
      : communicator(ends->rank(), ends->size()), ends_(std::move(ends)) {}

  void abort(status why) noexcept override { ends_->abort(std::move(why)); }
  std::optional<status> broken() const override {
    auto why = ends_->broken();
    if (!why) return {};
    auto since = steady_clock::time_point::min();
    broken_since_.compare_exchange_strong(since, steady_clock::now());
    return steady_clock::now() - broken_since_.load() < 50ms ? std::nullopt : why;
  }

 private:
  void execute(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline) override {
    const auto limit = deadline - now();
    if (call.kind == collective_kind::broadcast) {
      auto x = borrowed_tensor(call.type, {call.count}, output);
      return ends_->broadcast(x, call.root, limit);
    }
    const auto all = ends_->all_gather(borrowed_tensor(call.type, {call.count}, const_cast<std::byte*>(input)), limit);
    std::memcpy(output, all.data(), all.size_bytes());
  }

  const std::unique_ptr<communicator> ends_;
  mutable std::atomic<steady_clock::time_point> broken_since_ = steady_clock::time_point::min();
};

/// A collective of every rank, with a short limit, and how it ended on each.
std::vector<status> all_reduce_of(const std::vector<std::string>& devices, std::chrono::nanoseconds limit) {
  auto group = make_local_communicators(devices);
  return end_of_ranks(group, [&](communicator& end) {
    auto x = tensor::zeros(dtype::float32, {4}, end.device());
    end.all_reduce(x, reduce_op::sum, limit);
  });
}

/// Three groups that share devices perform a collective at the same time, again and again. `perform` is called with a
/// rank and its round, and says whether the result was right.
template <class Perform>
void use_groups_at_the_same_time(Perform perform) {
  constexpr auto rounds = 100;
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> groups;
  for (const auto& devices : std::vector<std::vector<std::string>>{
           {"GPU:0", "GPU:1", "GPU:2"}, {"GPU:2", "GPU:0", "GPU:1"}, {"GPU:1", "GPU:2"}})
    groups.emplace_back([&wrong, &perform, devices] {
      auto group = make_local_communicators(devices);
      const auto ends = end_of_ranks(group, [&](communicator& end) {
        for (auto round = 0; round < rounds; ++round) wrong += perform(end, round) ? 0 : 1;
      });
      for (const auto& end : ends) wrong += end.ok() ? 0 : 1;
    });
  groups.clear();
  BOOST_TEST(wrong == 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_group_is_joined_when_all_its_ranks_have_joined) {
  auto& first = accelerator_of("GPU:0");
  const auto id = first.new_group(group_reach::one_process);
  const auto mine = first.join_group(id, 0, 2);
  synchronize_device("GPU:0");
  BOOST_TEST(!mine->is_settled());
  const auto other = accelerator_of("GPU:1").join_group(id, 1, 2);
  BOOST_TEST(becomes([&] { return mine->is_settled() && other->is_settled(); }));
}

BOOST_AUTO_TEST_CASE(who_can_not_join_is_told) {
  auto& device = accelerator_of("GPU:0");
  const auto id = device.new_group(group_reach::one_process);
  const auto mine = device.join_group(id, 0, 2);
  BOOST_TEST(refuses<invalid_argument_error>([&] { device.join_group(id, 0, 2); }, "it has joined before"));
  BOOST_TEST(refuses<invalid_argument_error>([&] { device.join_group(id, 1, 3); }, "can't join a group of 2"));
  BOOST_TEST(refuses<invalid_argument_error>([&] { device.join_group({}, 0, 2); }, "no id of a group"));
}

BOOST_AUTO_TEST_CASE(who_waits_in_vain_for_a_rank_of_another_process_is_told_whom) {
  auto& device = accelerator_of("GPU:0");
  const auto id = device.new_group(group_reach::several_processes);
  const device_waits_until limit{steady_clock::now() + 200ms};
  BOOST_TEST(refuses<deadline_exceeded_error>([&] { device.join_group(id, 0, 2); }, "rank 1 did not come"));
  BOOST_TEST(refuses<deadline_exceeded_error>([&] { device.join_group(id, 1, 2); }, "nobody has opened the group"));
}

BOOST_AUTO_TEST_CASE(a_launch_waits_for_those_of_the_others_and_only_work_behind_it_waits_with_it) {
  pair_of_gpus group{"GPU:0", "GPU:1"};
  group.launch_all_reduce(0);
  BOOST_TEST(hangs("GPU:0"));
  BOOST_TEST(tensor::full({4}, 1.0f).copy_to("GPU:0").copy_to("CPU:0").values<float>()[3] == 1.0f);
  group.device(0).wait_for_collectives();
  add_in_place(group.values[0], group.values[0]);
  {
    const device_waits_until limit{steady_clock::now() + 200ms};
    BOOST_TEST(refuses<deadline_exceeded_error>([&] { synchronize_device("GPU:0"); }, "it is in all_reduce"));
  }
  BOOST_TEST(!hangs("GPU:1"));
  group.launch_all_reduce(1);
  BOOST_TEST(group.result(0) == 4.0f);
  BOOST_TEST(group.result(1) == 2.0f);
}

BOOST_AUTO_TEST_CASE(a_launch_begins_behind_what_its_device_has_been_given_to_compute) {
  pair_of_gpus group{"GPU:0", "GPU:1"};
  gate busy{"GPU:0"};
  add_in_place(group.values[0], group.values[0]);
  group.launch_all_reduce(0);
  group.launch_all_reduce(1);
  BOOST_TEST(hangs("GPU:1"));
  busy.open();
  BOOST_TEST(group.result(0) == 3.0f);
  BOOST_TEST(group.result(1) == 3.0f);
}

BOOST_AUTO_TEST_CASE(crossed_launches_of_two_groups_block_each_other_until_one_is_aborted) {
  pair_of_gpus a{"GPU:0", "GPU:1"};
  pair_of_gpus b{"GPU:0", "GPU:1"};
  a.launch_all_reduce(0);
  b.launch_all_reduce(0);
  b.launch_all_reduce(1);
  a.launch_all_reduce(1);
  const auto end = a.device(0).record_collectives();
  BOOST_TEST(hangs("GPU:0"));
  BOOST_TEST(hangs("GPU:1"));
  for (const auto& each : a.ranks) each->abort();
  BOOST_TEST(becomes([&] { return end->is_reached(); }));
  BOOST_TEST(b.result(1) == 2.0f);
  // The devices go on; the group that was aborted does not.
  BOOST_CHECK_THROW(a.launch_all_reduce(0), error);
}

BOOST_AUTO_TEST_CASE(groups_over_the_same_devices_that_are_used_at_the_same_time_never_block_each_other) {
  use_groups_at_the_same_time([](communicator& end, int round) {
    auto x = tensor::full({50}, static_cast<float>(round)).copy_to(end.device());
    end.all_reduce(x, reduce_op::sum, 1min);
    return x.copy_to("CPU:0").values<float>()[49] == static_cast<float>(round * end.size());
  });
}

// They are launched as int32, which takes no turn more than others do: the ranks have agreed on one.
BOOST_AUTO_TEST_CASE(groups_that_reduce_several_int16_tensors_at_the_same_time_never_block_each_other) {
  use_groups_at_the_same_time([](communicator& end, int round) {
    std::vector<tensor> all;
    for (auto i = 0; i < 3; ++i) {
      all.push_back(tensor::full({50}, static_cast<std::int16_t>(round + i)).copy_to(end.device()));
      all.push_back(tensor::full({50}, static_cast<float>(round + i)).copy_to(end.device()));
    }
    end.all_reduce(all, reduce_op::sum, 1min);
    const auto is_right = [&](std::size_t i) {
      const auto expected = (round + static_cast<int>(i)) * end.size();
      return all[2 * i].copy_to("CPU:0").values<std::int16_t>()[49] == expected &&
             all[2 * i + 1].copy_to("CPU:0").values<float>()[49] == static_cast<float>(expected);
    };
    return is_right(0) && is_right(1) && is_right(2);
  });
}

BOOST_AUTO_TEST_CASE(a_gpu_that_fails_in_a_collective_is_named_and_nobody_waits_for_it) {
  fail_emulated_gpu("GPU:1", "a bus error");
  const auto started = steady_clock::now();
  const auto ends = all_reduce_of({"GPU:0", "GPU:1", "GPU:2"}, 1min);
  for (const auto& end : ends) BOOST_TEST(contains(end.render(), "GPU:1 has failed in"), end.render());
  BOOST_TEST((steady_clock::now() - started < 20s));
  repair_emulated_gpu("GPU:1");
  for (const auto& end : all_reduce_of({"GPU:0", "GPU:1", "GPU:2"}, 1min)) BOOST_TEST(end.ok(), end.render());
}

BOOST_AUTO_TEST_CASE(a_gpu_that_hangs_in_a_collective_ends_it_at_the_deadline_and_the_others_go_on) {
  auto group = make_local_communicators(std::vector<std::string>{"GPU:0", "GPU:1"});
  std::atomic<int> ready = 0;
  const auto ends = end_of_ranks(group, [&](communicator& end) {
    auto x = tensor::full({4}, 1.0f).copy_to(end.device());
    end.all_reduce(x, reduce_op::sum, 1min);
    ++ready;
    if (end.rank() == 1) {
      while (ready < 2) std::this_thread::yield();
      hang_emulated_gpu("GPU:1");
    }
    end.barrier(1min);
    end.all_reduce(x, reduce_op::sum, 300ms);
  });
  for (const auto& end : ends) {
    BOOST_TEST((end.code() == status_code::deadline_exceeded), end.render());
    BOOST_TEST(contains(end.render(), "a GPU or the link to one does not answer"), end.render());
  }
  BOOST_TEST(tensor::full({1}, 2.0f).copy_to("GPU:0").item<float>() == 2.0f);
  repair_emulated_gpu("GPU:1");
  BOOST_TEST(tensor::full({1}, 2.0f).copy_to("GPU:1").item<float>() == 2.0f);
}

// Each further launch would need an agreement of its own.
BOOST_AUTO_TEST_CASE(several_int16_tensors_are_launched_together_and_named_as_what_they_are) {
  auto group = make_local_communicators(std::vector<std::string>{"GPU:0", "GPU:1"});
  const auto ends = end_of_ranks(group, [&](communicator& end) {
    std::vector<tensor> all;
    for (auto i = 0; i < 3; ++i) all.push_back(tensor::full({4}, std::int16_t{1}).copy_to(end.device()));
    end.all_reduce(all, reduce_op::sum, 1min);
    if (end.rank() == 1) hang_emulated_gpu("GPU:1");
    end.barrier(1min);
    end.all_reduce(all, reduce_op::sum, end.rank() == 0 ? 300ms : 2s);  // the first one to give up gives the reason
  });
  BOOST_TEST(contains(ends.front().render(), "all_reduce(sum, 4 x int16) and 2 others: rank 0 of 2 waited on GPU:0"),
             ends.front().render());
  repair_emulated_gpu("GPU:1");
}

// The group ends on the others' devices before the control brings its reason.
BOOST_AUTO_TEST_CASE(a_reason_that_comes_late_is_waited_for) {
  const std::vector<std::string> devices{"GPU:0", "GPU:1"};
  std::vector<std::unique_ptr<communicator>> controls;
  for (auto& each : make_thread_communicators(2)) controls.push_back(std::make_unique<late_control>(std::move(each)));
  auto group = make_device_communicators(std::move(controls), devices);
  const auto all_reduce = [](communicator& end) {
    auto x = tensor::uninitialised(dtype::float32, {4}, end.device());
    end.all_reduce(x, reduce_op::sum, 1min);
  };
  for (const auto& end : end_of_ranks(group, all_reduce)) BOOST_REQUIRE(end.ok());
  fail_emulated_gpu("GPU:1", "a bus error");
  for (const auto& end : end_of_ranks(group, all_reduce))
    BOOST_TEST(contains(end.render(), "GPU:1 has failed in all_reduce"), end.render());
  repair_emulated_gpu("GPU:1");
}

BOOST_AUTO_TEST_CASE(devices_join_at_the_first_collective_and_not_before) {
  fail_emulated_gpu("GPU:3", "it is broken");
  auto group = make_local_communicators(std::vector<std::string>{"GPU:3", "GPU:4"});
  for (const auto& end : end_of_ranks(group, [](communicator& end) { end.barrier(1min); })) BOOST_TEST(end.ok());
  repair_emulated_gpu("GPU:3");
  const auto ends = end_of_ranks(group, [](communicator& end) {
    auto x = tensor::full({4}, 1.0f).copy_to(end.device());
    end.all_reduce(x, reduce_op::sum, 1min);
  });
  for (const auto& end : ends) BOOST_TEST(end.ok(), end.render());
}

BOOST_AUTO_TEST_CASE(what_nccl_can_not_reduce_a_group_refuses_and_a_communicator_reduces_all_the_same) {
  pair_of_gpus group{"GPU:0", "GPU:1"};
  auto* const data = group.values[0].mutable_data();
  const collective call{.kind = collective_kind::all_reduce, .type = dtype::int16, .count = 100};
  BOOST_TEST(refuses<unimplemented_error>([&] { group.ranks[0]->launch(call, data, data); }, "NCCL has no int16"));
  auto ends = make_local_communicators(group.names);
  const auto how = end_of_ranks(ends, [](communicator& end) {
    auto x = tensor::full({3}, static_cast<std::int16_t>(20'000 + end.rank())).copy_to(end.device());
    end.all_reduce(x, reduce_op::sum, 1min);
    if (x.copy_to("CPU:0").values<std::int16_t>()[2] != static_cast<std::int16_t>(40'001))
      throw internal_error{"wrong"};
  });
  for (const auto& end : how) BOOST_TEST(end.ok(), end.render());
}

BOOST_AUTO_TEST_CASE(a_tensor_that_somebody_else_holds_is_reduced_elsewhere_and_after_an_error_it_is_what_it_was) {
  auto group = make_local_communicators(std::vector<std::string>{"GPU:0", "GPU:1"});
  std::atomic<int> wrong = 0;
  const auto all_reduce = [&](reduce_op of_rank_1, float expected) {
    return end_of_ranks(group, [&wrong, of_rank_1, expected](communicator& end) {
      const auto held = tensor::full({100}, 1.0f).copy_to(end.device());
      std::vector<tensor> all{held, held, tensor::full({3}, 1.0f).copy_to(end.device())};
      const auto why = problem_of([&] { end.all_reduce(all, end.rank() == 1 ? of_rank_1 : reduce_op::sum, 1min); });
      for (const auto& each : all)
        if (each.copy_to("CPU:0").values<float>().back() != expected) ++wrong;
      if (held.copy_to("CPU:0").values<float>().back() != 1.0f) ++wrong;
      if (!why.ok()) throw_status(why);
    });
  };
  for (const auto& end : all_reduce(reduce_op::sum, 2.0f)) BOOST_TEST(end.ok(), end.render());
  for (const auto& end : all_reduce(reduce_op::max, 1.0f))
    BOOST_TEST((end.code() == status_code::failed_precondition), end.render());
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(ranks_that_bring_different_tensors_together_are_told_before_anything_is_launched) {
  auto ends = make_local_communicators(std::vector<std::string>{"GPU:0", "GPU:1"});
  const auto how = end_of_ranks(ends, [](communicator& end) {
    std::vector<tensor> all;
    for (const auto count : {4, 5 + end.rank()}) all.push_back(tensor::zeros(dtype::float32, {count}, end.device()));
    end.all_reduce(all, reduce_op::sum, 1min);
  });
  for (const auto& end : how) {
    BOOST_TEST((end.code() == status_code::failed_precondition), end.render());
    BOOST_TEST(contains(end.render(), "together with 1 others"), end.render());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
