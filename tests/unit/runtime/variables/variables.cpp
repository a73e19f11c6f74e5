// Variables and sharded variables (examples/reference/semantics.md 1.2, 1.6), from the program and from closures.
#include "support/local_world.hpp"

#include <troupe/device/kernels/elementwise.hpp>

#include <limits>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(variables_suite)

namespace {

const tensor four_rows = tensor::of<float>({4, 2}, {0, 1, 10, 11, 20, 21, 30, 31});

struct sharded_world : local_world {
  sharded_world() : local_world({.workers = 2, .servers = 3}) {}
  sharded_variable table = strategy.sharded("table", four_rows, fixed_shards_partitioner(3));
};

bool same(const tensor& a, const tensor& b) {
  if (a.bitwise_equal(b)) return true;
  BOOST_TEST_MESSAGE(a.to_string() << " is not " << b.to_string());
  return false;
}

tensor doubled(const tensor& current) {
  auto next = current;
  scale_in_place(next, 2);
  return next;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_scalar_is_read_assigned_added_and_subtracted, local_world) {
  const auto v = strategy.variable("v", 1.5);
  v.assign_add(2.0);
  v.assign_sub(0.5);
  BOOST_TEST(v.read() == 3.0);
  v.assign(-0.0);
  BOOST_TEST(std::signbit(v.read()));
  v.assign(std::numeric_limits<double>::infinity());
  BOOST_TEST(v.read() == std::numeric_limits<double>::infinity());
}

BOOST_FIXTURE_TEST_CASE(a_read_value_does_not_change_when_the_variable_does, local_world) {
  const auto v = strategy.variable("v", four_rows);
  const auto before = v.read();
  v.assign_add(four_rows);
  BOOST_TEST(same(before, four_rows));
  BOOST_TEST(same(v.read(), doubled(four_rows)));
}

BOOST_FIXTURE_TEST_CASE(reading_in_the_servers_process_copies_nothing, local_world) {
  if (tests_gpus()) return;  // what is read comes to the host
  const auto v = strategy.variable("v", four_rows);
  BOOST_TEST(v.read().get_buffer().data() == v.read().get_buffer().data());
}

BOOST_FIXTURE_TEST_CASE(concurrent_additions_of_closures_are_all_applied, local_world) {
  const auto v = strategy.variable("v", std::int64_t{0});
  for (int i = 0; i < 1000; ++i) coordinator.schedule([](variable<std::int64_t> x) { x.assign_add(1); }, v);
  coordinator.join();
  BOOST_TEST(v.read() == 1000);
}

BOOST_FIXTURE_TEST_CASE(shapes_and_dtypes_that_do_not_fit_are_named, local_world) {
  const auto v = strategy.variable("weights", four_rows);
  const auto names_both = [](const error& e) { return says(e, "weights") && says(e, "(4, 2)"); };
  BOOST_CHECK_EXCEPTION(v.assign(tensor::of<float>({1, 2})), invalid_argument_error, names_both);
  BOOST_CHECK_EXCEPTION(v.assign_add(tensor::zeros(dtype::float64, {4, 2})), invalid_argument_error, names_both);
  BOOST_TEST(same(v.read(), four_rows));
}

BOOST_FIXTURE_TEST_CASE(names_are_unique_and_not_empty, local_world) {
  strategy.variable("v", 1.0f);
  BOOST_CHECK_THROW(strategy.variable("v", 2.0f), already_exists_error);
  BOOST_CHECK_THROW(strategy.variable("", 2.0f), invalid_argument_error);
}

BOOST_FIXTURE_TEST_CASE(a_sharded_variable_reads_and_writes_as_one, sharded_world) {
  BOOST_TEST(table.shard_count() == 3u);
  BOOST_TEST(same(table.read(), four_rows));
  table.assign_add(four_rows);
  BOOST_TEST(same(table.read(), doubled(four_rows)));
  // The first extent % shards shards are one row larger.
  BOOST_TEST(table.shard(0).get_shape()[0] == 2);
  BOOST_TEST(table.shard(2).get_shape()[0] == 1);
  BOOST_TEST(table.shard(1).name() == "table/part_1");
  BOOST_CHECK_THROW(table.shard(3), out_of_range_error);
}

BOOST_FIXTURE_TEST_CASE(rows_are_gathered_in_the_order_asked_for_from_all_shards, sharded_world) {
  const std::vector<std::int64_t> rows{3, 0, 3};
  BOOST_TEST(same(table.gather(rows), tensor::of<float>({3, 2}, {30, 31, 0, 1, 30, 31})));
  BOOST_TEST(table.gather({}).get_shape()[0] == 0);
  const std::vector<std::int64_t> outside{4};
  BOOST_CHECK_EXCEPTION(table.gather(outside), out_of_range_error, [](const error& e) { return says(e, "row 4"); });
}

BOOST_FIXTURE_TEST_CASE(rows_are_scattered_and_duplicates_add_up, sharded_world) {
  const std::vector<std::int64_t> rows{1, 3, 1};
  table.scatter_add(rows, tensor::full<float>({3, 2}, 1));
  BOOST_TEST(same(table.read(), tensor::of<float>({4, 2}, {0, 1, 12, 13, 20, 21, 31, 32})));
  const std::vector<std::int64_t> one{2};
  table.scatter_update(one, tensor::full<float>({1, 2}, 7));
  table.scatter_sub(one, tensor::full<float>({1, 2}, 2));
  BOOST_TEST(same(table.gather(one), tensor::full<float>({1, 2}, 5)));
  BOOST_CHECK_THROW(table.scatter_add(one, tensor::full<float>({2, 2}, 1)), invalid_argument_error);
}

BOOST_FIXTURE_TEST_CASE(slices_follow_numpy_with_negative_numbers_and_steps, sharded_world) {
  BOOST_TEST(same(table.slice(1, 3), four_rows.slice(1, 3)));
  BOOST_TEST(same(table.slice(-1, 100), four_rows.slice(3, 4)));
  BOOST_TEST(same(table.slice(3, -5, -2), tensor::of<float>({2, 2}, {30, 31, 10, 11})));
  BOOST_CHECK_THROW(table.slice(0, 1, 0), invalid_argument_error);
  BOOST_TEST(same(table.select({true, false, false, true}), tensor::of<float>({2, 2}, {0, 1, 30, 31})));
  BOOST_CHECK_THROW(table.select({true}), invalid_argument_error);
}

BOOST_FIXTURE_TEST_CASE(many_variables_are_read_and_written_in_one_call, sharded_world) {
  const std::vector<tensor_variable> variables{strategy.variable("a", four_rows), table};
  const std::vector<tensor> contents{doubled(four_rows), doubled(four_rows)};
  assign_all(variables, contents);
  const auto values = read_all(variables);
  BOOST_TEST(same(values[0], contents[0]));
  BOOST_TEST(same(values[1], contents[1]));
  BOOST_CHECK_THROW(assign_all(variables, std::span{contents}.first(1)), invalid_argument_error);
}

BOOST_FIXTURE_TEST_CASE(gradients_are_applied_where_the_variable_is, sharded_world) {
  const auto plain = strategy.variable("plain", four_rows);
  const auto gradient = tensor::full<float>({4, 2}, 0.5f);
  const auto rule = optimizer::adam(0.1);
  for (int i = 0; i < 3; ++i) {
    plain.apply_gradient(rule, gradient);
    table.apply_gradient(rule, gradient);
  }
  BOOST_TEST(!same(plain.read(), four_rows));
  BOOST_TEST(same(plain.read(), table.read()));
  plain.assign(four_rows);
  plain.apply_gradient(optimizer::sgd(2), gradient);
  BOOST_TEST(plain.read().values<float>()[0] == -1.0f);
}

BOOST_FIXTURE_TEST_CASE(a_function_is_applied_on_the_server, sharded_world) {
  table.update([](const tensor& current) { return doubled(current); });
  BOOST_TEST(same(table.read(), doubled(four_rows)));
  const auto v = strategy.variable("v", four_rows);
  BOOST_CHECK_EXCEPTION(v.update([](const tensor& current) { return current.slice(0, 1); }), invalid_argument_error,
                        [](const error& e) { return says(e, "(1, 2)"); });
}

BOOST_FIXTURE_TEST_CASE(within_a_caching_scope_a_variable_is_read_once, local_world) {
  const auto v = strategy.variable("v", 1.0f);
  {
    const cache_variable_reads scope;
    BOOST_TEST(v.read() == 1.0f);
    v.assign(2.0f);
    BOOST_TEST(v.read() == 1.0f);
    BOOST_CHECK_THROW(cache_variable_reads{}, failed_precondition_error);
  }
  BOOST_TEST(v.read() == 2.0f);
  const cache_variable_reads another;
  BOOST_TEST(v.read() == 2.0f);
}

BOOST_FIXTURE_TEST_CASE(a_caching_scope_belongs_to_its_closure, local_world) {
  const auto v = strategy.variable("v", 1.0f);
  const auto cached = coordinator.schedule(
      [](variable<float> x) {
        const cache_variable_reads scope;
        const auto before = x.read();
        x.assign(before + 1);
        return x.read();
      },
      v);
  BOOST_TEST(cached.fetch() == 1.0f);
  BOOST_TEST(coordinator.schedule([](variable<float> x) { return x.read(); }, v).fetch() == 2.0f);
}

BOOST_AUTO_TEST_CASE(variables_are_placed_round_robin_with_one_counter_for_shards_too) {
  local_world world{{.workers = 1, .servers = 2}};
  const auto a = world.strategy.variable("a", 0.0f);
  const auto b = world.strategy.sharded("b", four_rows, fixed_shards_partitioner(2));
  const auto c = world.strategy.variable("c", 0.0f);
  BOOST_TEST(a.devices().front() == "/job:ps/task:0/device:" + test_device());
  BOOST_TEST(b.devices().front() == "/job:ps/task:1/device:" + test_device());
  BOOST_TEST(b.devices().back() == "/job:ps/task:0/device:" + test_device());
  BOOST_TEST(c.devices().front() == "/job:ps/task:1/device:" + test_device());
}

BOOST_AUTO_TEST_CASE(an_empty_variable_says_who_makes_variables) {
  const tensor_variable empty;
  BOOST_CHECK_THROW(empty.read(), failed_precondition_error);
}

BOOST_AUTO_TEST_SUITE_END()
