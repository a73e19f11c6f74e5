// Where strategy_extended puts variables, whose they are, what it makes of input, and its attributes;
// examples/reference/semantics.md 1.4.
#include "replica_test.hpp"

#include <troupe/runtime/cluster/program_log.hpp>

#include <boost/test/unit_test.hpp>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>

namespace troupe {

BOOST_AUTO_TEST_SUITE(strategy_placement_suite)

namespace {

using devices = std::vector<std::string>;

int my_id() { return replica_context::current().replica_id_in_sync_group(); }

strategy default_strategy() { return strategy{strategy_state::default_strategy()}; }

std::vector<float> copies(const distributed_variable& v) {
  std::vector<float> result;
  for (const auto& each : v.components()) result.push_back(each.item<float>());
  return result;
}

// --- where variables go ---------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(non_slot_devices_are_all_parameter_devices) {
  const mirrored_strategy strategy{replica_devices(2)};
  BOOST_TEST(strategy.extended().non_slot_devices(strategy.variables()) == replica_devices(2));
  const central_storage_strategy central{replica_devices(2), "CPU:7"};
  BOOST_TEST(central.extended().non_slot_devices({}) == devices{"CPU:7"});
}

BOOST_AUTO_TEST_CASE(non_slot_devices_of_the_default_strategy_are_those_of_the_variable_with_the_smallest_name) {
  const auto alone = default_strategy();
  const mirrored_strategy strategy{replica_devices(2)};
  const std::vector variables{alone.variable("b", 0.0f), strategy.variable("a", 0.0f)};
  BOOST_TEST(alone.extended().non_slot_devices(variables) == replica_devices(2));
  require_error<invalid_argument_error>("at least one variable", [&] { alone.extended().non_slot_devices({}); });
}

BOOST_AUTO_TEST_CASE(colocated_variables_go_where_the_other_is_until_the_block_ends) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto extended = strategy.extended();
  const auto scope = strategy.scope();
  const auto on = [&](const std::string& name) { return strategy.variable(name, 0.0f).devices(); };
  const auto outer = extended.colocate_vars_with(devices{"CPU:0"});
  const auto first = strategy.variable("first", 0.0f);
  BOOST_TEST(first.devices() == devices{"CPU:0"});
  {
    const auto inner = extended.colocate_vars_with(extended.worker_devices());
    BOOST_TEST(on("inner") == replica_devices(2));
    const auto again = extended.colocate_vars_with(first);
    BOOST_TEST(on("again") == devices{"CPU:0"});
  }
  BOOST_TEST(on("outer") == devices{"CPU:0"});
}

BOOST_AUTO_TEST_CASE(the_seeds_example_updates_variables_that_are_colocated) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto scope = strategy.scope();
  const auto var1 = strategy.variable("var1", 1.0f);
  const auto together = strategy.extended().colocate_vars_with(var1);
  const auto var2 = strategy.variable("var2", 2.0f);
  const auto var3 = strategy.variable("var3", 3.0f);
  strategy.extended().update(
      var1,
      [](const variable_component& v1, const distributed_variable& v2, const distributed_variable& v3) {
        v1.assign(v2.item<float>() + v3.item<float>());
        v2.assign(0.0f);
      },
      var2, var3);
  BOOST_TEST(copies(var1) == std::vector(2, 5.0f));
  BOOST_TEST(copies(var2) == std::vector(2, 0.0f));
}

BOOST_AUTO_TEST_CASE(colocation_holds_for_variables_that_replicas_make) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto made = strategy.run([&] {
    const auto here = strategy.extended().colocate_vars_with(devices{"CPU:1"});
    return strategy.variable("v", 0.0f);
  });
  BOOST_TEST(made.devices() == devices{"CPU:1"});
  strategy.run([&] { expect(made.item<float>() == 0.0f); });
}

BOOST_AUTO_TEST_CASE(a_colocated_variable_that_is_synchronised_on_read_still_has_a_copy_for_each_replica) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto scope = strategy.scope();
  const auto together = strategy.extended().colocate_vars_with(devices{"CPU:0"});
  const auto sum = strategy.variable(
      "sum", 0.0f, {.synchronization = variable_synchronization::on_read, .aggregation = variable_aggregation::sum});
  strategy.run([&] { sum.assign_add(static_cast<float>(my_id() + 1)); });
  BOOST_TEST(copies(sum) == (std::vector{1.0f, 2.0f}));
  BOOST_TEST(sum.item<float>() == 3.0f);
}

BOOST_AUTO_TEST_CASE(colocation_is_refused_for_variables_of_others_outside_of_the_scope_and_for_some_replicas) {
  const mirrored_strategy strategy{replica_devices(4)};
  const mirrored_strategy other{replica_devices(2)};
  const auto mine = strategy.variable("mine", 0.0f);
  const auto theirs = other.variable("theirs", 0.0f);
  const auto colocate = [&](const auto& where) {
    return [&] { static_cast<void>(strategy.extended().colocate_vars_with(where)); };
  };
  require_error<failed_precondition_error>("outside of its scope()", colocate(mine));
  const auto scope = strategy.scope();
  require_error<invalid_argument_error>("variable \"theirs\" was not made by this mirrored_strategy", colocate(theirs));
  require_error<invalid_argument_error>("names no device", colocate(devices{"/job:worker"}));
  require_error<invalid_argument_error>("there is no destination", colocate(devices{}));
  // Which copy would replica 3 use?
  require_error<invalid_argument_error>("one device, or all", colocate(devices{"CPU:0", "CPU:1"}));
}

// --- variables and containers ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(read_var_aggregates_what_is_synchronised_on_read_and_copies_any_other_in_every_context) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto extended = strategy.extended();
  const auto plain = strategy.variable("plain", 4.0f);
  const auto sum = strategy.variable(
      "sum", 0.0f, {.synchronization = variable_synchronization::on_read, .aggregation = variable_aggregation::sum});
  strategy.run([&] {
    sum.assign(static_cast<float>(my_id() + 1));
    expect(extended.read_var(plain).item<float>() == 4.0f);
  });
  BOOST_TEST(extended.read_var(sum).item<float>() == 3.0f);
  const auto before = extended.read_var(plain);
  plain.assign(5.0f);
  BOOST_TEST(before.item<float>() == 4.0f);
}

BOOST_AUTO_TEST_CASE(value_container_finds_the_variable_of_a_component_and_is_anything_else_itself) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto extended = strategy.extended();
  const auto v = strategy.variable("v", 1.0f);
  for (const auto& component : v.components()) {
    BOOST_TEST((extended.value_container(component) == v));
    const auto results = strategy.local_results(extended.value_container(component));
    BOOST_TEST((std::find(results.begin(), results.end(), component) != results.end()));
  }
  BOOST_TEST((extended.value_container(v) == v));
  BOOST_TEST(extended.value_container(7) == 7);
  BOOST_TEST(strategy.local_results(extended.value_container(7)) == std::vector{7});
}

BOOST_AUTO_TEST_CASE(a_variable_belongs_to_the_strategy_that_made_it) {
  const mirrored_strategy strategy{replica_devices(2)};
  const mirrored_strategy other{replica_devices(2)};
  const auto alone = default_strategy();
  const auto v = [&] {
    const auto scope = strategy.scope();
    return get_strategy().variable("v", 1.0f);
  }();
  const auto outside = get_strategy().variable("made outside", 1.0f);
  BOOST_TEST(strategy.extended().variable_created_in_scope(v));
  BOOST_TEST(!other.extended().variable_created_in_scope(v));
  BOOST_TEST(!alone.extended().variable_created_in_scope(v));
  BOOST_TEST(!strategy.extended().variable_created_in_scope(outside));
  BOOST_TEST(alone.extended().variable_created_in_scope(outside));
}

// --- input ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(make_host_dataset_slices_tensors_and_stacks_lists) {
  const mirrored_strategy strategy{replica_devices(2)};
  const auto extended = strategy.extended();
  const auto rows = extended.make_host_dataset(tensor::of(shape{2, 2}, {1.0f, 2.0f, 3.0f, 4.0f})).iterate();
  BOOST_TEST(elements<float>(rows.next()) == (std::vector{1.0f, 2.0f}));
  BOOST_TEST(elements<float>(rows.next()) == (std::vector{3.0f, 4.0f}));
  BOOST_TEST(!rows.next_or_end().has_value());
  const auto stacked = extended.make_host_dataset(std::vector{tensor::of({1.0f}), tensor::of({2.0f})}).iterate();
  BOOST_TEST(elements<float>(stacked.next()) == std::vector{1.0f});
  BOOST_TEST(elements<float>(stacked.next()) == std::vector{2.0f});
  const auto nested = extended.make_host_dataset(
      std::tuple{std::vector{tensor::scalar(1), tensor::scalar(2)},
                 std::map<std::string, std::vector<tensor>>{{"y", {tensor::of({3, 4}), tensor::of({5, 6})}}}});
  const auto [x, y] = nested.iterate().next();
  BOOST_TEST(x.item<int>() == 1);
  BOOST_TEST(elements<int>(y.at("y")) == (std::vector{3, 4}));
  // It goes on as any dataset does.
  const auto split = strategy.distribute_dataset(nested.batch(2)).iterate().next();
  BOOST_TEST(elements<int>(std::get<0>(split[1])) == std::vector{2});
}

BOOST_AUTO_TEST_CASE(make_host_dataset_refuses_what_has_no_rows_and_lists_that_do_not_stack) {
  const auto extended = mirrored_strategy{replica_devices(1)}.extended();
  require_error<invalid_argument_error>("empty list", [&] { extended.make_host_dataset(std::vector<tensor>{}); });
  require_error<invalid_argument_error>("()", [&] { extended.make_host_dataset(tensor::scalar(1)); });
  require_error<invalid_argument_error>("element 1 is int32 of shape (2,)", [&] {
    extended.make_host_dataset(std::vector{tensor::of({1}), tensor::of({1, 2})});
  });
}

// --- attributes -----------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(worker_devices_run_replicas_and_parameter_devices_hold_variables) {
  const mirrored_strategy mirrored{{"/cpu:1", "CPU:0"}};
  BOOST_TEST(mirrored.extended().worker_devices() == (devices{"CPU:1", "CPU:0"}));
  BOOST_TEST(mirrored.extended().parameter_devices() == (devices{"CPU:1", "CPU:0"}));
  const one_device_strategy single{"CPU:3"};
  BOOST_TEST(single.extended().worker_devices() == devices{"CPU:3"});
  BOOST_TEST(single.extended().parameter_devices() == devices{"CPU:3"});
  const central_storage_strategy central{replica_devices(2), "CPU:5"};
  BOOST_TEST(central.extended().worker_devices() == replica_devices(2));
  BOOST_TEST(central.extended().parameter_devices() == devices{"CPU:5"});
  const auto alone = default_strategy();
  BOOST_TEST(alone.extended().worker_devices() == devices{"CPU:0"});
  require_error<failed_precondition_error>("the default strategy has no parameter devices",
                                           [&] { alone.extended().parameter_devices(); });
}

// --- who carries values ----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_strategy_says_how_its_replicas_communicate) {
  const mirrored_strategy mirrored{{"CPU:0", "CPU:1", "CPU:2", "CPU:3"}};
  BOOST_TEST(mirrored.extended().communicator_description() == "threads in shared memory, 4 replicas on CPU:0..3");
  BOOST_TEST(one_device_strategy{"CPU:2"}.extended().communicator_description() ==
             "1 replica on CPU:2, which is alone");
  BOOST_TEST(default_strategy().extended().communicator_description() == "1 replica on CPU:0, which is alone");
}

BOOST_AUTO_TEST_CASE(an_implementation_that_the_devices_cannot_have_is_refused_when_the_strategy_is_made) {
  const replica_strategy_options options{.communication = {.implementation = communication_implementation::nccl}};
  require_error<invalid_argument_error>("NCCL connects GPUs only", [&] {
    mirrored_strategy{{"CPU:0", "CPU:1"}, options};
  });
}

BOOST_AUTO_TEST_CASE(the_decision_is_written_once_to_the_programs_log_and_nowhere_without_one) {
  std::ostringstream lines;
  {
    mirrored_strategy{replica_devices(3)}.run([] {});
  }  // nobody listens yet
  const auto log =
      std::make_shared<spdlog::logger>(program_log_name, std::make_shared<spdlog::sinks::ostream_sink_mt>(lines));
  log->set_pattern("%v");
  spdlog::register_logger(log);
  const struct unregistering {
    ~unregistering() { spdlog::drop(program_log_name); }
  } last;
  const mirrored_strategy strategy{{"CPU:0", "CPU:1"}};
  for (auto i = 0; i < 3; ++i) strategy.run([] { replica_context::current().all_reduce(reduce_op::sum, 1.0f); });
  BOOST_TEST(lines.str() == "mirrored_strategy: threads in shared memory, 2 replicas on CPU:0..1\n");
}

BOOST_AUTO_TEST_CASE(a_strategy_of_one_process_initialises_saves_and_summarises_itself) {
  for (const auto& strategy :
       std::vector<troupe::strategy>{one_device_strategy{"CPU:0"}, mirrored_strategy{replica_devices(2)},
                                     central_storage_strategy{replica_devices(2)}, default_strategy()}) {
    const auto extended = strategy.extended();
    BOOST_TEST(!extended.between_graph());
    BOOST_TEST(!extended.require_static_shapes());
    BOOST_TEST(extended.should_init());
    BOOST_TEST(extended.should_checkpoint());
    BOOST_TEST(extended.should_save_summary());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
