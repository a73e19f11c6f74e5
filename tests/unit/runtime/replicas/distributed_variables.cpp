// What variables of replica strategies do when they are read and written: the table of
// examples/reference/semantics.md 3.4 with the decisions of 5.1, row by row, for 1, 2 and 4 replicas.
#include "replica_test.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <tuple>

namespace troupe {

// Boost.Test names the parameters of a case.
static std::ostream& boost_test_print_type(std::ostream& out, variable_synchronization x) {
  return out << to_string(x);
}
static std::ostream& boost_test_print_type(std::ostream& out, variable_aggregation x) { return out << to_string(x); }

BOOST_AUTO_TEST_SUITE(distributed_variables_suite)

namespace {

const std::vector replica_counts{1, 2, 4};

constexpr auto on_write = variable_synchronization::on_write;
constexpr auto on_read = variable_synchronization::on_read;

const std::vector aggregations{variable_aggregation::none, variable_aggregation::sum, variable_aggregation::mean,
                               variable_aggregation::only_first_replica};

/// Replica i's number.
float own(int first = 1) { return static_cast<float>(replica_context::current().replica_id_in_sync_group() + first); }

std::vector<float> copies(const distributed_variable& v) {
  std::vector<float> result;
  for (const auto& each : v.components()) result.push_back(each.item<float>());
  return result;
}

std::vector<float> alike(int count, float value) { return std::vector(static_cast<std::size_t>(count), value); }

/// One strategy with variables of every kind.
struct replicas {
  explicit replicas(int given) : count(given), strategy(replica_devices(given)) {}

  distributed_variable make(variable_synchronization synchronization, variable_aggregation aggregation,
                            float initial = 0) {
    return strategy.variable(fmt::format("v{}", ++made), initial,
                             {.synchronization = synchronization, .aggregation = aggregation});
  }
  /// The sum and the mean of what own() gives.
  float sum() const { return static_cast<float>(count * (count + 1)) / 2; }
  float mean() const { return sum() / static_cast<float>(count); }

  int count;
  mirrored_strategy strategy;
  int made = 0;
};

// --- on_write -------------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(on_write_every_aggregation_reads_and_is_written_across_replicas,
                     boost::unit_test::data::make(replica_counts) * aggregations, count, aggregation) {
  replicas r{count};
  const distributed_variable v = r.make(on_write, aggregation, 1);
  const auto written = [&] {
    v.assign(tensor::scalar(4.0f));
    v.assign_add(2.0f);
    v.assign_sub(tensor::scalar(1.0f));
    BOOST_TEST(v.item<float>() == 5.0f);
    BOOST_TEST(copies(v) == alike(count, 5.0f));
  };
  // Outside of any context, in scope(), and in a merge function.
  written();
  {
    const auto scope = r.strategy.scope();
    written();
  }
  r.strategy.run([&] {
    expect(v.item<float>() == 5.0f);
    replica_context::current().merge_call([&](troupe::strategy&) { written(); });
  });
}

BOOST_DATA_TEST_CASE(on_write_without_aggregation_is_not_written_in_replica_context, replica_counts, count) {
  replicas r{count};
  const distributed_variable v = r.make(on_write, variable_aggregation::none, 3);
  for (const auto write : {+[](const distributed_variable& x) { x.assign(tensor::scalar(1.0f)); },
                           +[](const distributed_variable& x) { x.assign_add(1.0f); },
                           +[](const distributed_variable& x) { x.assign_sub(1.0f); }})
    require_error<invalid_argument_error>("\"v1\" was assigned in replica context, but has no aggregation",
                                          [&] { r.strategy.run([&] { write(v); }); });
  BOOST_TEST(copies(v) == alike(count, 3.0f));
}

BOOST_DATA_TEST_CASE(on_write_sum_adds_up_what_the_replicas_bring, replica_counts, count) {
  replicas r{count};
  const distributed_variable v = r.make(on_write, variable_aggregation::sum);
  r.strategy.run([&] {
    v.assign(tensor::scalar(own()));
    expect(v.item<float>() == r.sum());
    v.assign_add(tensor::scalar(own()));
    v.assign_add(tensor::scalar(own()));
    v.assign_sub(tensor::scalar(own()));
  });
  BOOST_TEST(copies(v) == alike(count, 2 * r.sum()));
  if (count == 1) {
    r.strategy.run([&] { v.assign(5.0f); });
    BOOST_TEST(v.item<float>() == 5.0f);
  } else {
    require_error<invalid_argument_error>("pass a tensor", [&] { r.strategy.run([&] { v.assign(5.0f); }); });
  }
}

BOOST_DATA_TEST_CASE(on_write_mean_takes_the_mean_and_plain_numbers_as_they_are, replica_counts, count) {
  replicas r{count};
  const distributed_variable v = r.make(on_write, variable_aggregation::mean);
  r.strategy.run([&] { v.assign(tensor::scalar(own())); });
  BOOST_TEST(copies(v) == alike(count, r.mean()));
  r.strategy.run([&] {
    v.assign(5.0f);
    v.assign_add(2.0f);
    v.assign_sub(1.0f);
  });
  BOOST_TEST(copies(v) == alike(count, 6.0f));
}

BOOST_DATA_TEST_CASE(on_write_mean_of_integers_takes_plain_numbers_only, replica_counts, count) {
  const mirrored_strategy strategy{replica_devices(count)};
  const auto steps = strategy.variable("steps", 0, {.aggregation = variable_aggregation::mean});
  strategy.run([&] { steps.assign_add(1); });
  BOOST_TEST(steps.item<int>() == 1);
  require_error<invalid_argument_error>("use a floating dtype",
                                        [&] { strategy.run([&] { steps.assign(tensor::scalar(1)); }); });
}

BOOST_DATA_TEST_CASE(on_write_only_first_replica_takes_replica_0s_value, replica_counts, count) {
  replicas r{count};
  const distributed_variable v = r.make(on_write, variable_aggregation::only_first_replica);
  r.strategy.run([&] {
    v.assign(tensor::scalar(own()));
    v.assign_add(own(10));
  });
  BOOST_TEST(copies(v) == alike(count, 11.0f));
}

BOOST_AUTO_TEST_CASE(all_copies_stay_bitwise_equal) {  // DV-1
  const mirrored_strategy strategy{replica_devices(4)};
  const auto v = strategy.variable("v", tensor::of({0.1f, 0.2f, 0.3f}), {.aggregation = variable_aggregation::mean});
  strategy.run([&] {
    auto x = tensor::of({own() / 3, own() * 1e10f, 1e-20f / own()});
    for (auto i = 0; i < 30; ++i) {
      v.assign_add(x);
      x = v.read();
    }
  });
  for (const auto& each : v.components()) BOOST_TEST(each.read().bitwise_equal(v.components()[0].read()));
}

BOOST_AUTO_TEST_CASE(a_write_that_does_not_fit_is_refused_and_changes_nothing) {
  replicas r{2};
  for (const auto aggregation : aggregations) {
    const distributed_variable v = r.make(on_write, aggregation, 3);
    const auto fits = [&](const tensor& x) {
      require_error<invalid_argument_error>("is float32 of shape ()", [&] { v.assign(x); });
      require_error<invalid_argument_error>("is float32 of shape ()",
                                            [&] { r.strategy.run([&] { v.assign_add(x); }); });
    };
    fits(tensor::of({1.0f}));
    fits(tensor::scalar(1.0));
    require_error<invalid_argument_error>("but was given int32", [&] { v.assign(1); });
    BOOST_TEST(copies(v) == alike(2, 3.0f));
  }
}

// --- on_read --------------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(on_read_each_replica_reads_and_writes_its_own_copy,
                     boost::unit_test::data::make(replica_counts) * aggregations, count, aggregation) {
  replicas r{count};
  const distributed_variable v = r.make(on_read, aggregation);
  r.strategy.run([&] {
    v.assign(own());
    v.assign_add(tensor::scalar(own(10)));
    v.assign_sub(own());
    expect(v.item<float>() == own(10));
  });
  for (auto i = 0; i < count; ++i) BOOST_TEST(copies(v)[static_cast<std::size_t>(i)] == static_cast<float>(10 + i));
}

BOOST_DATA_TEST_CASE(on_read_the_value_across_replicas_is_aggregated, replica_counts, count) {
  replicas r{count};
  const auto filled = [&](variable_aggregation aggregation) -> distributed_variable {
    const distributed_variable v = r.make(on_read, aggregation);
    r.strategy.run([&] { v.assign(own()); });
    return v;
  };
  const distributed_variable sum = filled(variable_aggregation::sum);
  BOOST_TEST(sum.item<float>() == r.sum());
  const distributed_variable mean = filled(variable_aggregation::mean);
  BOOST_TEST(mean.item<float>() == r.mean());
  const distributed_variable first = filled(variable_aggregation::only_first_replica);
  BOOST_TEST(first.item<float>() == 1.0f);
  const distributed_variable none = filled(variable_aggregation::none);
  require_error<invalid_argument_error>("give it an aggregation", [&] { none.read(); });
  const auto scope = r.strategy.scope();
  require_error<invalid_argument_error>("give it an aggregation", [&] { none.read(); });
  r.strategy.run([&] {
    replica_context::current().merge_call([&](troupe::strategy&) { BOOST_TEST(sum.item<float>() == r.sum()); });
  });
}

BOOST_DATA_TEST_CASE(on_read_assigning_across_replicas_gives_each_its_share, replica_counts, count) {
  replicas r{count};
  const auto assigned = [&](variable_aggregation aggregation) {
    const distributed_variable v = r.make(on_read, aggregation);
    v.assign(8.0f);
    BOOST_TEST(v.item<float>() == 8.0f);
    return copies(v);
  };
  BOOST_TEST(assigned(variable_aggregation::sum) == alike(count, 8.0f / static_cast<float>(count)));
  BOOST_TEST(assigned(variable_aggregation::mean) == alike(count, 8.0f));
  BOOST_TEST(assigned(variable_aggregation::only_first_replica) == alike(count, 8.0f));
  const auto none = r.make(on_read, variable_aggregation::none, 1);
  require_error<unimplemented_error>("can't be assigned across replicas", [&] { none.assign(8.0f); });
  BOOST_TEST(copies(none) == alike(count, 1.0f));
}

BOOST_DATA_TEST_CASE(on_read_adding_across_replicas_has_no_meaning,
                     boost::unit_test::data::make(replica_counts) * aggregations, count, aggregation) {
  replicas r{count};
  const distributed_variable v = r.make(on_read, aggregation, 1);
  require_error<invalid_argument_error>("has no meaning", [&] { v.assign_add(8.0f); });
  require_error<invalid_argument_error>("has no meaning", [&] { v.assign_sub(tensor::scalar(8.0f)); });
  BOOST_TEST(copies(v) == alike(count, 1.0f));
}

BOOST_AUTO_TEST_CASE(on_read_inside_the_synchronising_scope_a_replica_reads_the_aggregate) {
  replicas r{4};
  const std::vector expected{std::pair{variable_aggregation::sum, r.sum()},
                             std::pair{variable_aggregation::mean, r.mean()},
                             std::pair{variable_aggregation::only_first_replica, 1.0f}};
  for (const auto& [aggregation, value] : expected) {
    const distributed_variable v = r.make(on_read, aggregation);
    const auto wanted = value;
    r.strategy.run([&] {
      v.assign(own());
      {
        const variable_sync_on_read_context synchronising;
        expect(v.item<float>() == wanted);
        const variable_sync_on_read_context nested;
        expect(v.item<float>() == wanted);
      }
      expect(v.item<float>() == own());
    });
  }
  const auto mirrored = r.make(on_write, variable_aggregation::none, 2);
  const auto none = r.make(on_read, variable_aggregation::none);
  r.strategy.run([&] {
    const variable_sync_on_read_context synchronising;
    expect(mirrored.item<float>() == 2.0f);
    in_turn([&] { require_error<invalid_argument_error>("give it an aggregation", [&] { none.read(); }); });
  });
}

// --- saving ---------------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(saving_and_restoring_keeps_the_value_across_replicas, replica_counts, count) {
  replicas r{count};
  const auto sums = r.make(on_read, variable_aggregation::sum);
  const auto means = r.make(on_read, variable_aggregation::mean);
  const auto first = r.make(on_read, variable_aggregation::only_first_replica);
  const auto plain = r.make(on_write, variable_aggregation::none);
  r.strategy.run([&] {
    for (const auto& each : {sums, means, first}) each.assign(own(3));
  });
  const auto total = r.sum() + 2 * static_cast<float>(count);
  BOOST_TEST(sums.state()->saved().item<float>() == total);
  BOOST_TEST(means.state()->saved().item<float>() == r.mean() + 2);
  BOOST_TEST(first.state()->saved().item<float>() == 3.0f);
  plain.state()->restore(sums.state()->saved());
  BOOST_TEST(copies(plain) == alike(count, total));
  for (const auto& each : {sums, means, first}) each.state()->restore(plain.state()->saved());
  BOOST_TEST(copies(sums) == alike(count, total / static_cast<float>(count)));
  BOOST_TEST(copies(means) == alike(count, total));
  BOOST_TEST(copies(first) == alike(count, total));
}

BOOST_AUTO_TEST_CASE(a_restored_sum_of_integers_is_truncated_to_shares) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto v = strategy.variable("v", 0, {.synchronization = on_read, .aggregation = variable_aggregation::sum});
  v.assign(8);
  BOOST_TEST(v.components()[0].item<int>() == 4);
  require_error<invalid_argument_error>("is int32", [&] { v.state()->restore(tensor::scalar(1.0f)); });
}

// --- other contexts -------------------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(inside_update_only_that_copy_is_read_and_written,
                     boost::unit_test::data::make({on_write, on_read}) * aggregations, synchronization, aggregation) {
  replicas r{2};
  const distributed_variable v = r.make(synchronization, aggregation, 1);
  const auto reads = r.strategy.extended().update<grouping::ungrouped>(
      v,
      [&](const variable_component& copy, float x) {
        v.assign(x);
        v.assign_add(tensor::scalar(x));
        BOOST_TEST(copy.item<float>() == 2 * x);
        return v.item<float>();
      },
      mirrored<float>{{3.0f, 4.0f}});
  BOOST_TEST(reads == (std::vector{6.0f, 8.0f}));
  BOOST_TEST(copies(v) == (std::vector{6.0f, 8.0f}));
}

BOOST_AUTO_TEST_CASE(another_strategys_replica_context_may_read_but_not_write) {
  const mirrored_strategy owner{replica_devices(2)};
  const mirrored_strategy other{replica_devices(2)};
  const auto v = owner.variable("v", 1.0f, {.aggregation = variable_aggregation::sum});
  const auto total =
      owner.variable("total", 1.0f, {.synchronization = on_read, .aggregation = variable_aggregation::sum});
  const strategy alone{strategy_state::default_strategy()};
  const auto unowned = alone.variable("read elsewhere", 5.0f);
  BOOST_TEST(all(other.run([&] { return v.item<float>() + unowned.item<float>(); })) == alike(2, 6.0f));
  const auto refused = [&](auto call) {
    require_error<failed_precondition_error>("in the replica context of another strategy",
                                             [&] { other.run([&] { call(); }); });
  };
  refused([&] { v.assign(1.0f); });
  refused([&] { v.assign_add(tensor::scalar(1.0f)); });
  refused([&] { total.read(); });
  refused([&] { unowned.assign(1.0f); });
  refused([&] { v.scatter(scatter_update::add, std::vector<std::int64_t>{0}, tensor::of({1.0f})); });
  // Across replicas it is as outside.
  const auto scope = other.scope();
  v.assign(7.0f);
  BOOST_TEST(v.item<float>() == 7.0f);
}

BOOST_AUTO_TEST_CASE(variables_of_the_default_strategy_are_ordinary_ones) {
  const strategy alone{strategy_state::default_strategy()};
  for (const auto synchronization : {on_write, on_read}) {
    for (const auto aggregation : aggregations) {
      const auto v = alone.variable("ordinary", 1.0f, {.synchronization = synchronization, .aggregation = aggregation});
      v.assign(2.0f);
      v.assign_add(tensor::scalar(3.0f));
      v.assign_sub(1.0f);
      BOOST_TEST(v.item<float>() == 4.0f);
      alone.run([&] { v.assign_add(1.0f); });
      BOOST_TEST(v.item<float>() == 5.0f);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
