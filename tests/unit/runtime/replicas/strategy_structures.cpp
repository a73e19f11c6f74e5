// One set of structures for all that replicas do with values: every container that travels, structs and sparse values
// in run's results and arguments, merge_call, reduce, gather, their forms in replica context, and reduce_to.
#include "replica_test.hpp"

#include <troupe/device/collectives/thread_communicator.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/replicas/replica_group.hpp>
#include <troupe/runtime/unzip.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <unordered_map>

namespace troupe {

BOOST_AUTO_TEST_SUITE(strategy_structures_suite)

namespace {

int my_id() { return replica_context::current().replica_id_in_sync_group(); }

/// Every container, nested.
template <class Leaf>
using every_container = std::tuple<std::pair<Leaf, Leaf>, std::array<Leaf, 2>, std::vector<Leaf>,
                                   std::map<std::string, Leaf>, std::unordered_map<int, std::vector<Leaf>>>;
constexpr auto leaf_count = 8;

/// Leaf k is `first + k`.
every_container<int> counting(int first) {
  return {{first, first + 1}, {first + 2, first + 3}, {first + 4}, {{"x", first + 5}}, {{7, {first + 6, first + 7}}}};
}

every_container<tensor> counting_tensors(int first) {
  return map_leaves(counting(first), [](int leaf) { return tensor::of({leaf}); });
}

struct metrics {
  float loss = 0;
  std::vector<tensor> confusion;
  std::map<std::string, std::int64_t> counts;
};

metrics metrics_of(int id) { return {static_cast<float>(id + 1), {tensor::of({id, 10 * id})}, {{"seen", id + 5}}}; }

/// Replica `id` has the row `id` and row 3 of a tensor of shape (4, 2).
indexed_slices sparse_of(int id) {
  return {tensor::full({2, 2}, static_cast<float>(id + 1)), tensor::of<std::int64_t>({id, 3}), {4, 2}};
}

template <class F>
auto of_replicas(int count, F make) {
  std::vector<std::decay_t<std::invoke_result_t<F&, int>>> values;
  for (auto i = 0; i < count; ++i) values.push_back(make(i));
  return per_replica{std::move(values)};
}

// --- regrouped and sliced -------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(every_container_of_results_is_regrouped_and_sliced_again_as_an_argument) {
  const mirrored_strategy strategy{replica_devices(3)};
  const auto results = strategy.run([] { return counting(100 * my_id()); });
  static_assert(std::is_same_v<decltype(results), const every_container<per_replica<int>>>);
  auto leaf = 0;
  for_each_leaf(results, [&](const per_replica<int>& each) {
    BOOST_TEST(all(each) == (std::vector{leaf, leaf + 100, leaf + 200}));
    ++leaf;
  });
  BOOST_TEST(leaf == leaf_count);
  strategy.run([](const every_container<int>& mine) { expect(mine == counting(100 * my_id())); }, results);
  BOOST_CHECK((strategy.local_results(results) == std::vector{counting(0), counting(100), counting(200)}));
}

BOOST_AUTO_TEST_CASE(every_container_goes_into_a_merge_function_and_back) {
  mirrored_strategy strategy{replica_devices(2)};
  strategy.run([] {
    const auto mine = counting(100 * my_id());
    const auto back = replica_context::current().merge_call(
        [](troupe::strategy& here, const every_container<per_replica<int>>& grouped) {
          auto leaf = 0;
          for_each_leaf(here.reduce(reduce_op::sum, grouped), [&](int sum) { BOOST_TEST(sum == 100 + 2 * leaf++); });
          return grouped;
        },
        mine);
    expect(back == mine);
  });
}

BOOST_AUTO_TEST_CASE(a_struct_comes_back_whole_and_strings_and_optionals_can_be_results) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto [structs, texts, maybe, flags] = strategy.run([] {
    const auto id = my_id();
    return std::tuple{metrics_of(id), std::vector{std::to_string(id)},
                      id == 0 ? std::optional<int>{} : std::optional{id}, std::vector<bool>{id == 1}};
  });
  static_assert(std::is_same_v<decltype(structs), const per_replica<metrics>>);
  BOOST_TEST(structs[1].counts.at("seen") == 6);
  BOOST_TEST(all(texts.at(0)) == (std::vector<std::string>{"0", "1"}));
  BOOST_TEST(!maybe[0].has_value());
  BOOST_TEST(maybe[1].value() == 1);
  BOOST_TEST(flags[1].at(0));
}

BOOST_AUTO_TEST_CASE(results_are_moved_not_copied) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto results = strategy.run([] { return std::tuple{std::make_unique<int>(my_id())}; });
  BOOST_TEST(*std::get<0>(results)[1] == 1);
  // Nobody else holds a merge function's tensors either, so that it may write to them in place.
  strategy.run([] {
    auto mine = tensor::full({1000}, 1.0f);
    const auto* const bytes = mine.data();
    replica_context::current().merge_call(
        [](troupe::strategy& here, const per_replica<tensor>& grouped, const per_replica<const std::byte*>& addresses) {
          for (auto i = std::size_t{0}; i < here.local_results(addresses).size(); ++i)
            BOOST_TEST((grouped[i].data() == addresses[i]));
        },
        std::move(mine), bytes);
  });
}

BOOST_AUTO_TEST_CASE(empty_containers_are_regrouped_reduced_and_gathered) {
  using empty = std::tuple<std::vector<tensor>, std::map<int, tensor>, std::unordered_map<int, tensor>, std::tuple<>>;
  const mirrored_strategy strategy{replica_devices(2)};
  const auto results = strategy.run([] {
    const auto context = replica_context::current();
    expect(std::get<0>(context.all_reduce(reduce_op::sum, empty{})).empty());
    expect(std::get<1>(context.all_gather(empty{}, 0)).empty());
    return empty{};
  });
  BOOST_TEST(std::get<0>(results).empty());
  BOOST_TEST(std::get<2>(strategy.reduce(reduce_op::sum, results)).empty());
  BOOST_TEST(std::get<1>(strategy.gather(results, 0)).empty());
  BOOST_TEST(strategy.reduce(reduce_op::sum, of_replicas(2, [](int) { return metrics{}; })).confusion.empty());
}

BOOST_AUTO_TEST_CASE(replicas_with_structures_of_different_size_are_named) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto refuses = [&](const std::string& text, auto make) {
    require_error<invalid_argument_error>(text, [&] { strategy.run([&] { return make(my_id()); }); });
  };
  refuses("replica 1 has a map with other keys at [0] than replica 0", [](int id) {
    return std::tuple{std::map<int, int>{{id, 1}}};
  });
  refuses("replica 1 has a map with other keys than replica 0", [](int id) {
    return std::unordered_map<int, int>{{id, 1}};
  });
  refuses("replica 1 has a list of another length at [\"a\"] (1 instead of 0)", [](int id) {
    return std::map<std::string, std::vector<int>>{{"a", std::vector<int>(static_cast<std::size_t>(id))}};
  });
  const auto uneven = of_replicas(2, [](int i) {
    auto x = metrics_of(i);
    x.confusion.resize(static_cast<std::size_t>(i + 1));
    return x;
  });
  require_error<invalid_argument_error>("replica 1 has a list of another length at [1] (2 instead of 1) than replica 0",
                                        [&] { strategy.reduce(reduce_op::sum, uneven); });
}

// --- reduced and gathered -------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(every_container_is_reduced_and_gathered_leaf_by_leaf_on_either_side_of_per_replica) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto check_sum = [](const every_container<int>& sums) {
    auto leaf = 0;
    for_each_leaf(sums, [&](int sum) { BOOST_TEST(sum == 100 + 2 * leaf++); });
    BOOST_TEST(leaf == leaf_count);
  };
  const auto check_rows = [](const every_container<tensor>& rows) {
    auto leaf = 0;
    for_each_leaf(rows, [&](const tensor& x) {
      BOOST_TEST(elements<int>(x) == (std::vector{leaf, leaf + 100}));
      ++leaf;
    });
    BOOST_TEST(leaf == leaf_count);
  };
  check_sum(strategy.reduce(reduce_op::sum, strategy.run([] { return counting(100 * my_id()); })));
  check_sum(strategy.reduce(reduce_op::sum, of_replicas(2, [](int i) { return counting(100 * i); })));
  check_rows(strategy.gather(strategy.run([] { return counting_tensors(100 * my_id()); }), 0));
  check_rows(strategy.gather(of_replicas(2, [](int i) { return counting_tensors(100 * i); }), 0));
  const auto [sums, rows] = strategy.run([] {
    const auto context = replica_context::current();
    return std::tuple{std::optional{context.all_reduce(reduce_op::sum, counting(100 * my_id()))},
                      std::optional{context.all_gather(counting_tensors(100 * my_id()), 0)}};
  });
  for (auto i = std::size_t{0}; i < 2; ++i) {
    check_sum(*sums[i]);
    check_rows(*rows[i]);
  }
}

BOOST_AUTO_TEST_CASE(a_struct_of_metrics_is_reduced_member_by_member) {
  mirrored_strategy strategy{replica_devices(2)};
  const auto check = [](const metrics& total) {
    BOOST_TEST(total.loss == 3.0f);
    BOOST_TEST(elements<int>(total.confusion.at(0)) == (std::vector{1, 10}));
    BOOST_TEST(total.counts.at("seen") == 11);
  };
  const auto each = strategy.run([] { return metrics_of(my_id()); });
  check(strategy.reduce(reduce_op::sum, each));
  check(strategy.extended().reduce_to(reduce_op::sum, each, {"CPU:0"}).get());
  const auto context_sums =
      strategy.run([] { return replica_context::current().all_reduce(reduce_op::sum, metrics_of(my_id())); });
  check(context_sums[1]);
  strategy.run([&] {
    replica_context::current().merge_call(
        [&](troupe::strategy& here, const per_replica<metrics>& mine) { check(here.reduce(reduce_op::sum, mine)); },
        metrics_of(my_id()));
  });
  // Alike on all replicas: the mean of a struct is the struct.
  BOOST_TEST(strategy.reduce(reduce_op::mean, metrics_of(2)).loss == 3.0f);
  require_error<invalid_argument_error>("pass a per_replica value",
                                        [&] { strategy.reduce(reduce_op::sum, metrics_of(2)); });
  require_error<invalid_argument_error>("the mean of integers", [&] { strategy.reduce(reduce_op::mean, each); });
}

BOOST_AUTO_TEST_CASE(a_struct_of_tensors_is_gathered_and_unzipped_member_by_member) {
  struct batch {
    tensor image;
    tensor label;
  };
  const mirrored_strategy strategy{replica_devices(2)};
  const auto batches = of_replicas(2, [](int i) { return batch{tensor::of({i, i}), tensor::of({10 * i})}; });
  const auto all_of_them = strategy.gather(batches, 0);
  BOOST_TEST(elements<int>(all_of_them.image) == (std::vector{0, 0, 1, 1}));
  BOOST_TEST(elements<int>(all_of_them.label) == (std::vector{0, 10}));
  const auto [images, labels] = unzip(batches);
  BOOST_TEST(elements<int>(images[1]) == (std::vector{1, 1}));
  BOOST_TEST(elements<int>(labels[1]) == std::vector{10});
  const auto [first, second] = unzip(of_replicas(2, [](int i) { return std::array{i, -i}; }));
  BOOST_TEST(all(second) == (std::vector{0, -1}));
  BOOST_TEST(all(first) == (std::vector{0, 1}));
}

BOOST_AUTO_TEST_CASE(structs_of_a_mirrored_value_are_reduced_as_what_all_replicas_have_alike) {
  const mirrored_strategy strategy{replica_devices(2)};
  const mirrored<std::pair<float, tensor>> same{{{1.0f, tensor::of({2.0f})}, {1.0f, tensor::of({2.0f})}}};
  BOOST_TEST(strategy.reduce(reduce_op::mean, same).second.item<float>() == 2.0f);
  require_error<invalid_argument_error>("pass a per_replica value", [&] { strategy.reduce(reduce_op::sum, same); });
}

// --- sparse values --------------------------------------------------------------------------------------------------

/// Of two replicas: rows 0 and 1 are theirs, row 3 has both.
void check_sparse_sum(const indexed_slices& sum, float scale = 1) {
  BOOST_TEST(elements<float>(densify(sum)) ==
             (std::vector{scale, scale, 2 * scale, 2 * scale, 0.0f, 0.0f, 3 * scale, 3 * scale}));
  BOOST_TEST(elements<std::int64_t>(sum.indices) == (std::vector<std::int64_t>{0, 3, 1, 3}));
}

BOOST_AUTO_TEST_CASE(sparse_values_are_reduced_as_all_reduce_does_and_stay_sparse) {
  mirrored_strategy strategy{replica_devices(2)};
  const auto values = strategy.run([] { return sparse_of(my_id()); });
  static_assert(std::is_same_v<decltype(values), const per_replica<indexed_slices>>);
  check_sparse_sum(strategy.reduce(reduce_op::sum, values));
  check_sparse_sum(strategy.reduce(reduce_op::mean, values), 0.5f);
  const auto extended = strategy.extended();
  const auto everywhere = extended.reduce_to(reduce_op::sum, values, values);
  BOOST_TEST(everywhere.size() == 2u);
  check_sparse_sum(everywhere[1]);
  const std::vector<std::pair<per_replica<indexed_slices>, destinations>> pairs{{values, {"CPU:0"}},
                                                                                {values, {"CPU:1"}}};
  for (const auto& each : extended.batch_reduce_to(reduce_op::mean, pairs)) check_sparse_sum(each.get(), 0.5f);
  BOOST_TEST(densify(extended.reduce_to(variable_aggregation::only_first_replica, values, {"CPU:0"}).get())
                 .bitwise_equal(densify(sparse_of(0))));
  strategy.run([&] {
    replica_context::current().merge_call(
        [&](troupe::strategy& here, const per_replica<indexed_slices>& mine) {
          check_sparse_sum(here.reduce(reduce_op::sum, mine));
          check_sparse_sum(here.extended().reduce_to(reduce_op::mean, mine, {"CPU:0"}).get(), 0.5f);
        },
        sparse_of(my_id()));
  });
}

BOOST_AUTO_TEST_CASE(sparse_values_are_leaves_of_structures) {
  struct gradients {
    tensor dense;
    indexed_slices sparse;
  };
  const mirrored_strategy strategy{replica_devices(2)};
  const auto values = of_replicas(2, [](int i) { return gradients{tensor::of({i}), sparse_of(i)}; });
  const auto check = [](const gradients& sum) {
    BOOST_TEST(elements<int>(sum.dense) == std::vector{1});
    check_sparse_sum(sum.sparse);
  };
  check(strategy.reduce(reduce_op::sum, values));
  const auto reduced = strategy.run(
      [](const gradients& mine) { return replica_context::current().all_reduce(reduce_op::sum, mine); }, values);
  check(reduced[0]);
  check(reduced[1]);
}

BOOST_AUTO_TEST_CASE(sparse_values_are_gathered_like_the_dense_tensors_that_they_stand_for) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto values = of_replicas(2, [](int i) { return sparse_of(i); });
  const auto expected = concatenate(std::vector{densify(sparse_of(0)), densify(sparse_of(1))}, 0);
  for (const auto axis : {0, -2}) {
    BOOST_TEST(densify(strategy.gather(values, axis)).bitwise_equal(expected));
    const auto inside = strategy.run([&] { return replica_context::current().all_gather(sparse_of(my_id()), axis); });
    BOOST_TEST(densify(inside[0]).bitwise_equal(expected));
    BOOST_TEST(densify(inside[1]).bitwise_equal(expected));
  }
  require_error<unimplemented_error>("densify() them first", [&] { strategy.gather(values, 1); });
  require_error<out_of_range_error>("no axis 2", [&] { strategy.gather(values, 2); });
}

BOOST_AUTO_TEST_CASE(what_sparse_values_cannot_do_is_refused) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto values = of_replicas(2, [](int i) { return sparse_of(i); });
  require_error<invalid_argument_error>("densify() them first", [&] { strategy.reduce(reduce_op::sum, values, 0); });
  require_error<invalid_argument_error>("pass a per_replica value",
                                        [&] { strategy.reduce(reduce_op::sum, sparse_of(0)); });
  BOOST_TEST(densify(strategy.reduce(reduce_op::mean, sparse_of(0))).bitwise_equal(densify(sparse_of(0))));
  auto other = sparse_of(1);
  other.dense_shape = {5, 2};
  require_error<invalid_argument_error>("(5, 2)", [&] {
    strategy.reduce(reduce_op::sum, per_replica{std::vector{sparse_of(0), other}});
  });
}

BOOST_AUTO_TEST_CASE(sparse_values_of_several_processes_come_together) {
  auto ends = make_thread_communicators(2);
  std::vector<std::thread> processes;
  for (auto i = 0; i < 2; ++i)
    processes.emplace_back([i, end = std::shared_ptr<communicator>{std::move(ends[static_cast<std::size_t>(i)])}] {
      strategy_state process{{.name = "two processes",
                              .worker_devices = {"CPU:0"},
                              .parameter_devices = {"CPU:0"},
                              .first_replica = i,
                              .num_replicas_in_sync = 2,
                              .processes = end}};
      const std::vector mine{sparse_of(i)};
      const auto sum = process.reduce(reduce_op::sum, mine);
      const auto mean = process.reduce(reduce_op::mean, mine);
      const auto rows = process.gather(mine, 0);
      const auto first = process.first(mine.front());
      in_turn([&] {
        check_sparse_sum(sum);
        check_sparse_sum(mean, 0.5f);
        BOOST_TEST(
            densify(rows).bitwise_equal(concatenate(std::vector{densify(sparse_of(0)), densify(sparse_of(1))}, 0)));
        BOOST_TEST(densify(first).bitwise_equal(densify(sparse_of(0))));
      });
    });
  for (auto& each : processes) each.join();
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
