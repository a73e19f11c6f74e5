// What replicas do together inside run(): all_reduce, all_gather, update, and what happens when they do not do the
// same; examples/reference/semantics.md 1.3, 3.2, 5.2.2.
#include "replica_test.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <latch>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <tuple>

namespace troupe {

BOOST_AUTO_TEST_SUITE(strategy_collectives_suite)

namespace {

const std::vector replica_counts{1, 2, 4};

int my_id() { return replica_context::current().replica_id_in_sync_group(); }

template <class T>
T all_reduced(reduce_op op, const T& mine) {
  return replica_context::current().all_reduce(op, mine);
}

/// The strategy works as if nothing had happened.
void require_usable(const strategy& which) {
  const auto sums = which.run([] { return all_reduced(reduce_op::sum, 1); });
  BOOST_TEST(all(sums) == std::vector(sums.size(), which.num_replicas_in_sync()));
}

/// What went wrong for each replica: its error's text, or nothing.
class complaints {
 public:
  template <class Call>
  void listen(Call call) {
    try {
      call();
    } catch (const error& thrown) {
      const std::scoped_lock lock{mutex_};
      texts_[my_id()] = thrown.what();
      codes_[my_id()] = thrown.code();
      throw;
    }
  }
  const std::string& text(int replica) { return texts_[replica]; }
  status_code code(int replica) { return codes_[replica]; }

 private:
  std::mutex mutex_;
  std::map<int, std::string> texts_;
  std::map<int, status_code> codes_;
};

void require_part(const std::string& text, const std::string& part) {
  BOOST_TEST(text.find(part) != std::string::npos, "\"" << part << "\" is not in: " << text);
}

// --- all_reduce -----------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(every_operation_gives_every_replica_the_reduction, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto reduced = [&](reduce_op op) {
    const auto results = strategy.run([&] {
      return all_reduced(op, tensor::of({static_cast<float>(my_id() + 1), -2.0f}));
    });
    for (auto i = std::size_t{1}; i < results.size(); ++i) BOOST_TEST(results[i].bitwise_equal(results[0]));
    return elements<float>(results[0]);
  };
  const auto n = static_cast<float>(count);
  BOOST_TEST(reduced(reduce_op::sum) == (std::vector{n * (n + 1) / 2, -2 * n}));
  BOOST_TEST(reduced(reduce_op::mean) == (std::vector{(n + 1) / 2, -2.0f}));
  BOOST_TEST(reduced(reduce_op::min) == (std::vector{1.0f, -2.0f}));
  BOOST_TEST(reduced(reduce_op::max) == (std::vector{n, -2.0f}));
  BOOST_TEST(reduced(reduce_op::product) ==
             (std::vector{count == 4 ? 24.0f : n, count == 1 ? -2.0f : static_cast<float>(1 << count)}));
}

BOOST_AUTO_TEST_CASE(numbers_and_structures_are_reduced_leaf_by_leaf) {
  const mirrored_strategy strategy{replica_devices(2)};
  struct statistics {
    double loss = 0;
    std::int64_t seen = 0;
    bool operator==(const statistics&) const = default;
  };
  strategy.run([] {
    const auto id = my_id();
    expect(all_reduced(reduce_op::sum, id + 1) == 3);
    expect(all_reduced(reduce_op::mean, static_cast<double>(id)) == 0.5);
    expect(all_reduced(reduce_op::sum, std::vector{id, 10 * id}) == (std::vector{1, 10}));
    expect((all_reduced(reduce_op::max, std::tuple{id, 2.0f * static_cast<float>(id)}) == std::tuple{1, 2.0f}));
    const auto map = all_reduced(reduce_op::sum, std::map<std::string, std::pair<tensor, int>>{
                                                     {"a", {tensor::of({id, 1}), 1}}, {"b", {{}, id}}});
    expect(elements<int>(map.at("a").first) == (std::vector{1, 2}));
    expect(map.at("b").second == 1);
    expect((all_reduced(reduce_op::sum, statistics{0.5, id + 1}) == statistics{1.0, 3}));
    expect(all_reduced(reduce_op::sum, std::vector<tensor>{}).empty());
  });
}

BOOST_AUTO_TEST_CASE(results_are_bitwise_equal_on_all_replicas) {
  const mirrored_strategy strategy{replica_devices(4)};
  const auto results = strategy.run([] {
    std::mt19937 random{static_cast<unsigned>(my_id())};
    std::uniform_real_distribution<float> exponent{-20, 20};
    std::vector<tensor> gradients;
    for (const auto size : {1, 3, 10'007, 300'000, 64}) {
      auto x = tensor::zeros(dtype::float32, shape{size});
      for (auto& each : x.mutable_values<float>()) each = std::exp2(exponent(random));
      gradients.push_back(x);
    }
    return replica_context::current().all_reduce(reduce_op::mean, gradients, {.bytes_per_pack = 1 << 15});
  });
  for (const auto& gradient : results)
    for (auto i = std::size_t{1}; i < gradient.size(); ++i) BOOST_TEST(gradient[i].bitwise_equal(gradient[0]));
}

BOOST_AUTO_TEST_CASE(the_mean_of_integers_and_negative_options_are_refused_before_anything_is_sent) {
  const mirrored_strategy strategy{replica_devices(2)};
  require_error<invalid_argument_error>("mean", [&] { strategy.run([] { all_reduced(reduce_op::mean, 1); }); });
  require_error<invalid_argument_error>("bytes_per_pack", [&] {
    strategy.run([] { replica_context::current().all_reduce(reduce_op::sum, 1.0f, {.bytes_per_pack = -1}); });
  });
  require_usable(strategy);
}

BOOST_DATA_TEST_CASE(sparse_values_are_concatenated_and_their_mean_divides_by_the_replicas, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto results = strategy.run([] {
    const auto id = my_id();
    // Replica i brings i + 1 rows.
    std::vector<float> values(static_cast<std::size_t>(2 * (id + 1)), 4.0f);
    const std::vector<std::int64_t> rows(static_cast<std::size_t>(id + 1), id);
    const indexed_slices mine{tensor::of<float>(shape{id + 1, 2}, std::span<const float>{values}),
                              tensor::of<std::int64_t>(shape{id + 1}, std::span<const std::int64_t>{rows}),
                              shape{5, 2}};
    return std::pair{replica_context::current().all_reduce(reduce_op::sum, mine),
                     replica_context::current().all_reduce(reduce_op::mean, mine)};
  });
  for (auto i = std::size_t{0}; i < results.first.size(); ++i) {
    const indexed_slices& sum = results.first[i];
    BOOST_TEST(sum.dense_shape == (shape{5, 2}));
    BOOST_TEST(sum.indices.element_count() == count * (count + 1) / 2);
    BOOST_TEST(sum.indices.values<std::int64_t>().back() == count - 1);
    BOOST_TEST(elements<float>(densify(sum).row(count - 1)) == std::vector(2, 4.0f * static_cast<float>(count)));
    BOOST_TEST(elements<float>(results.second[i].values)[0] == 4.0f / static_cast<float>(count));
  }
}

// --- all_reduce that goes on by itself -------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_started_reduction_gives_what_all_reduce_gives, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  strategy.run([count] {
    const auto context = replica_context::current();
    const auto n = static_cast<float>(count);
    const auto here = tensor::full(shape{3}, 1.0f).copy_to(context.devices()[0]);
    auto first = context.start_all_reduce(reduce_op::sum, std::vector{here, tensor::full(shape{300'000}, 2.0f)});
    auto second = context.start_all_reduce(reduce_op::mean, std::pair{static_cast<float>(my_id()), 3.0});
    const indexed_slices rows{tensor::full(shape{1, 2}, 4.0f), tensor::of<std::int64_t>({0}), shape{5, 2}};
    auto third = context.start_all_reduce(reduce_op::sum, rows);
    // In any order.
    expect(third.get().indices.element_count() == count);
    expect((second.get() == std::pair{(n - 1) / 2, 3.0}));
    const auto tensors = first.get();
    expect(tensors[0].device() == here.device());
    expect(elements<float>(tensors[0].copy_to("CPU:0")) == std::vector(3, n));
    expect(elements<float>(tensors[1]).back() == 2 * n);
  });
}

BOOST_AUTO_TEST_CASE(replicas_that_start_a_reduction_meet_those_that_call_it) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto sums = strategy.run([] {
    const auto context = replica_context::current();
    return my_id() == 0 ? context.start_all_reduce(reduce_op::sum, 1).get() : context.all_reduce(reduce_op::sum, 2);
  });
  BOOST_TEST(all(sums) == std::vector(2, 3));
}

BOOST_AUTO_TEST_CASE(a_started_reduction_is_given_once_and_may_be_left) {
  const mirrored_strategy strategy{replica_devices(2)};
  strategy.run([] {
    const auto context = replica_context::current();
    for (auto round = 0; round < 20; ++round) {
      auto x = tensor::full(shape{1000}, 1.0f).copy_to(context.devices()[0]);
      context.start_all_reduce(reduce_op::sum, x);
      expect(elements<float>(x.copy_to("CPU:0")).back() == 1.0f);
      expect(all_reduced(reduce_op::sum, round) == 2 * round);
    }
    auto once = context.start_all_reduce(reduce_op::sum, 1);
    expect(once.get() == 2);
    try {
      once.get();
      throw internal_error{"it was given twice"};
    } catch (const failed_precondition_error& refused) {
      expect(refused.message().find("given before") != std::string::npos);
    }
  });
  require_usable(strategy);
  // Without a strategy there is nobody else.
  BOOST_TEST(replica_context::current().start_all_reduce(reduce_op::sum, 5).get() == 5);
}

BOOST_AUTO_TEST_CASE(a_replica_that_throws_while_a_reduction_goes_on_is_the_one_that_is_named) {
  const mirrored_strategy strategy{replica_devices(2)};
  require_error<out_of_range_error>("a label of 11", [&] {
    strategy.run([] {
      auto sum = replica_context::current().start_all_reduce(reduce_op::sum, tensor::full(shape{1000}, 1.0f));
      if (my_id() == 1) throw out_of_range_error{"a label of 11"};
      sum.get();
      all_reduced(reduce_op::sum, 1);
    });
  });
  require_usable(strategy);
}

BOOST_AUTO_TEST_CASE(a_started_reduction_may_outlive_its_strategy) {
  std::array<std::optional<started_reduction<tensor>>, 2> kept;
  {
    const mirrored_strategy strategy{replica_devices(2)};
    strategy.run([&] {
      kept[static_cast<std::size_t>(my_id())] =
          replica_context::current().start_all_reduce(reduce_op::sum, tensor::full(shape{1000}, 1.0f));
    });
  }
  kept = {};
  require_usable(mirrored_strategy{replica_devices(2)});
}

BOOST_AUTO_TEST_CASE(structures_with_sparse_values_are_started_and_called_in_one_order) {
  const mirrored_strategy strategy{replica_devices(2)};
  strategy.run([] {
    const auto context = replica_context::current();
    const indexed_slices rows{tensor::full(shape{1, 2}, 4.0f), tensor::of<std::int64_t>({0}), shape{5, 2}};
    const std::pair mine{1.0f, rows};
    const auto all =
        my_id() == 0 ? context.start_all_reduce(reduce_op::sum, mine).get() : context.all_reduce(reduce_op::sum, mine);
    expect(all.first == 2.0f);
    expect(all.second.indices.element_count() == 2);
  });
}

BOOST_AUTO_TEST_CASE(replicas_that_start_different_reductions_are_told_as_if_they_had_called_them) {
  const mirrored_strategy strategy{replica_devices(2)};
  require_error<failed_precondition_error>("rank", [&] {
    strategy.run([] {
      const auto x = tensor::full(shape{3 + my_id()}, 1.0f);
      replica_context::current().start_all_reduce(reduce_op::sum, x).get();
    });
  });
  require_usable(strategy);
}

// --- all_gather -----------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(all_gather_joins_uneven_tensors_in_the_order_of_replicas, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto results = strategy.run([] {
    const auto id = my_id();
    return replica_context::current().all_gather(tensor::full(shape{id, 2}, id), 0);
  });
  std::vector<int> expected;
  for (auto i = 0; i < count; ++i) expected.insert(expected.end(), static_cast<std::size_t>(2 * i), i);
  for (const auto& each : all(results)) {
    BOOST_TEST(elements<int>(each) == expected);
    BOOST_TEST(each.get_shape() == (shape{count * (count - 1) / 2, 2}));
  }
}

BOOST_AUTO_TEST_CASE(all_gather_takes_any_axis_and_structures) {
  const mirrored_strategy strategy{replica_devices(2)};
  strategy.run([] {
    const auto id = my_id();
    const auto [wide, list] = replica_context::current().all_gather(
        std::tuple{tensor::full(shape{2, id + 1}, id), std::vector{tensor::full(shape{1, 1}, id)}}, -1);
    expect(elements<int>(wide) == (std::vector{0, 1, 1, 0, 1, 1}));
    expect(elements<int>(list.at(0)) == (std::vector{0, 1}));
  });
}

BOOST_AUTO_TEST_CASE(all_gather_refuses_scalars_unknown_axes_and_other_differences) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto gathered = [&](int axis, auto make) {
    return
        [&strategy, axis, make] { strategy.run([&] { replica_context::current().all_gather(make(my_id()), axis); }); };
  };
  require_error<invalid_argument_error>("()", gathered(0, [](int id) { return tensor::scalar(id); }));
  require_error<out_of_range_error>("2", gathered(2, [](int) { return tensor::zeros(dtype::float32, {1, 1}); }));
  require_error<invalid_argument_error>("(1, 3)", gathered(0, [](int id) {
                                          return tensor::zeros(dtype::float32, {1, 2 + id});
                                        }));
  require_usable(strategy);
}

// --- replicas that do not do the same -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(different_collectives_are_named_and_nobody_hangs) {
  const mirrored_strategy strategy{replica_devices(2)};
  complaints heard;
  BOOST_CHECK_THROW(strategy.run([&] {
    heard.listen([] {
      if (my_id() == 0)
        all_reduced(reduce_op::sum, 1.0f);
      else
        replica_context::current().all_gather(tensor::of({1.0f}), 0);
    });
  }),
                    failed_precondition_error);
  for (const auto replica : {0, 1}) {
    require_part(heard.text(replica), "all_reduce(sum, 1 x float32)");
    require_part(heard.text(replica), "all_gather");
  }
  require_usable(strategy);
}

BOOST_AUTO_TEST_CASE(different_sizes_types_and_operations_are_named) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto refused = [&](const std::string& part, auto call) {
    require_error<failed_precondition_error>(part, [&] { strategy.run([&] { call(my_id()); }); });
    require_usable(strategy);
  };
  refused("3 x float32", [](int id) { all_reduced(reduce_op::sum, tensor::zeros(dtype::float32, {2 + id})); });
  refused("1 x int32",
          [](int id) { id == 0 ? void(all_reduced(reduce_op::sum, 1)) : void(all_reduced(reduce_op::sum, 1.0f)); });
  refused("all_reduce(max", [](int id) { all_reduced(id == 0 ? reduce_op::sum : reduce_op::max, 1.0f); });
}

BOOST_AUTO_TEST_CASE(a_replica_that_returns_without_the_others_collective_is_named) {
  const mirrored_strategy strategy{replica_devices(3)};
  complaints heard;
  require_error<failed_precondition_error>("replica 1 has returned without having called it", [&] {
    strategy.run([&] {
      if (my_id() == 1) return;
      heard.listen([] { all_reduced(reduce_op::sum, 1.0f); });
    });
  });
  for (const auto replica : {0, 2}) {
    BOOST_TEST((heard.code(replica) == status_code::failed_precondition));
    require_part(heard.text(replica), "replica 1 has returned");
  }
  require_usable(strategy);
}

BOOST_AUTO_TEST_CASE(a_replica_in_merge_call_while_another_is_in_a_collective_is_named) {
  const mirrored_strategy strategy{replica_devices(2)};
  for (auto round = 0; round < 20; ++round) {
    complaints heard;
    require_error<failed_precondition_error>("replica 1 waits in merge_call", [&] {
      strategy.run([&] {
        heard.listen([] {
          if (my_id() == 0)
            all_reduced(reduce_op::sum, 1.0f);
          else
            replica_context::current().merge_call([](troupe::strategy&) {});
        });
      });
    });
    for (const auto replica : {0, 1}) BOOST_TEST((heard.code(replica) == status_code::failed_precondition));
    require_usable(strategy);
  }
}

BOOST_AUTO_TEST_CASE(a_replica_that_throws_ends_the_collective_of_the_others_with_an_error_that_names_it) {
  const mirrored_strategy strategy{replica_devices(3)};
  for (auto round = 0; round < 20; ++round) {
    complaints heard;
    require_error<out_of_range_error>(name_of_replica(2) + " failed", [&] {
      strategy.run([&] {
        if (my_id() == 2) throw out_of_range_error{"no such row"};
        heard.listen([] { all_reduced(reduce_op::sum, tensor::zeros(dtype::float32, {100})); });
      });
    });
    for (const auto replica : {0, 1}) {
      BOOST_TEST((heard.code(replica) == status_code::aborted), heard.text(replica));
      require_part(heard.text(replica), name_of_replica(2) + " failed");
    }
    require_usable(strategy);
  }
}

BOOST_AUTO_TEST_CASE(the_deadline_of_a_collective_names_who_is_missing) {
  const mirrored_strategy strategy{replica_devices(2)};
  std::latch may_end{1};
  complaints heard;
  BOOST_CHECK_THROW(strategy.run([&] {
    if (my_id() == 1) return may_end.wait();
    const struct release {
      std::latch& latch;
      ~release() { latch.count_down(); }
    } at_end{may_end};
    heard.listen([] {
      replica_context::current().all_reduce(reduce_op::sum, 1.0f, {.timeout = std::chrono::milliseconds{20}});
    });
  }),
                    error);
  BOOST_TEST((heard.code(0) == status_code::deadline_exceeded));
  require_part(heard.text(0), "rank 1");
  require_usable(strategy);
}

BOOST_AUTO_TEST_CASE(the_timeout_of_a_call_counts_more_than_that_of_its_strategy) {
  const mirrored_strategy strategy{replica_devices(2), {.communication = {.timeout = std::chrono::seconds{20}}}};
  const communication_options soon{.timeout = std::chrono::milliseconds{20}};
  const auto late = [&](auto collective) {
    complaints heard;
    std::latch may_end{1};
    const auto begin = current_time();
    BOOST_CHECK_THROW(strategy.run([&] {
      if (my_id() == 1) return may_end.wait();
      const struct release {
        std::latch& latch;
        ~release() { latch.count_down(); }
      } at_end{may_end};
      heard.listen(collective);
    }),
                      error);
    BOOST_TEST((heard.code(0) == status_code::deadline_exceeded), heard.text(0));
    BOOST_TEST((current_time() - begin < std::chrono::seconds{10}));
  };
  late([&] { replica_context::current().all_reduce(reduce_op::sum, 1.0f, soon); });
  late([&] { replica_context::current().all_gather(tensor::of({1.0f}), 0, soon); });
  require_usable(strategy);
}

BOOST_AUTO_TEST_CASE(collectives_and_merge_calls_may_follow_each_other_in_any_order) {
  const mirrored_strategy strategy{replica_devices(4)};
  const auto results = strategy.run([] {
    auto x = my_id();
    for (auto i = 0; i < 20; ++i) {
      x = all_reduced(reduce_op::max, x) + my_id();
      x = replica_context::current().merge_call(
              [](troupe::strategy& here, const per_replica<int>& all) {
                // A run inside has collectives of its own.
                return here.reduce(reduce_op::sum,
                                   here.run([](int mine) { return all_reduced(reduce_op::min, mine); }, all));
              },
              x) %
              97 +
          my_id();
    }
    return x - my_id();
  });
  BOOST_TEST(all(results) == std::vector(4, results[0]));
}

// --- update in replica context --------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(update_changes_this_replicas_copy_in_update_context, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto v = strategy.variable("v", 1.0f);
  const auto results = strategy.run([&] {
    return replica_context::current().update(
        v,
        [](const variable_component& mine, float x) {
          expect(!in_cross_replica_context());
          in_turn(
              [] { require_error<failed_precondition_error>("update context", [] { replica_context::current(); }); });
          mine.assign_add(x);
          return mine.device();
        },
        2.0f);
  });
  BOOST_TEST(all(results) == replica_devices(count));
  for (const auto& each : v.components()) BOOST_TEST(each.item<float>() == 3.0f);
}

BOOST_AUTO_TEST_CASE(update_changes_a_variable_that_replicas_share_once) {
  const central_storage_strategy strategy{replica_devices(3)};
  const auto v = strategy.variable("v", 1.0f);
  const auto results = strategy.run([&] {
    return replica_context::current().update(
        v,
        [](const variable_component& shared, float x) {
          shared.assign_add(x);
          return shared.item<float>();
        },
        2.0f);
  });
  BOOST_TEST(v.item<float>() == 3.0f);
  BOOST_TEST(all(results) == std::vector(3, 3.0f));
}

}  // namespace

BOOST_AUTO_TEST_CASE(limits_beyond_the_end_of_the_clock_are_none) {
  const mirrored_strategy strategy{replica_devices(2),
                                   {.step_limit = duration::max(), .communication = {.timeout = duration::max()}}};
  const auto sums = strategy.run([] { return replica_context::current().all_reduce(reduce_op::sum, 1.0f); });
  BOOST_TEST(all(sums) == (std::vector{2.0f, 2.0f}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
