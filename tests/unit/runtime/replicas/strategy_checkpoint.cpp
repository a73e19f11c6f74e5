// Saving and restoring the variables of replica strategies; examples/reference/semantics.md 3.4, last column.
#include "replica_test.hpp"

#include <troupe/runtime/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>

#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(strategy_checkpoint_suite)

namespace {

/// A file that is gone at the end of the test.
class checkpoint_path {
 public:
  checkpoint_path()
      : path_(std::filesystem::temp_directory_path() / fmt::format("troupe-strategy-{}.safetensors", ::getpid())) {}
  ~checkpoint_path() { std::filesystem::remove(path_); }
  std::string name() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

constexpr variable_options on_read(variable_aggregation aggregation) {
  return {.synchronization = variable_synchronization::on_read, .aggregation = aggregation};
}

/// 3 on replica 0, 4 on replica 1.
void assign_three_and_four(const strategy& strategy, const distributed_variable& v) {
  strategy.run([&] {
    v.assign(tensor::scalar(3.0f + static_cast<float>(replica_context::current().replica_id_in_sync_group())));
  });
}

std::vector<float> copies_of(const distributed_variable& v) {
  std::vector<float> result;
  for (const auto& each : v.components()) result.push_back(each.item<float>());
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_kind_of_variable_is_saved_as_one_value_and_restored_by_its_rule) {
  const checkpoint_path file;
  const mirrored_strategy strategy{replica_devices(2)};
  const auto mirrored = strategy.variable("mirrored", 1.0f);
  const auto sum = strategy.variable("sum", 0.0f, on_read(variable_aggregation::sum));
  const auto mean = strategy.variable("mean", 0.0f, on_read(variable_aggregation::mean));
  const auto first = strategy.variable("first", 0.0f, on_read(variable_aggregation::only_first_replica));
  for (const auto& each : {sum, mean, first}) assign_three_and_four(strategy, each);
  save_checkpoint(strategy, file.name(), {{"epoch", "7"}});
  for (const auto& each : {mirrored, sum, mean, first}) each.assign(100.0f);

  const auto restored = restore_checkpoint(strategy, file.name());
  BOOST_TEST(restored.variables == 4);
  BOOST_TEST(restored.metadata.at("epoch") == "7");
  BOOST_TEST(copies_of(mirrored) == (std::vector{1.0f, 1.0f}));
  // Saved as 7, and back as half of it for each.
  BOOST_TEST(copies_of(sum) == (std::vector{3.5f, 3.5f}));
  BOOST_TEST(copies_of(mean) == (std::vector{3.5f, 3.5f}));
  BOOST_TEST(copies_of(first) == (std::vector{3.0f, 3.0f}));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_two_replicas_restores_into_four_and_into_one) {
  const checkpoint_path file;
  const mirrored_strategy two{replica_devices(2)};
  assign_three_and_four(two, two.variable("sum", 0.0f, on_read(variable_aggregation::sum)));
  const auto kept = two.variable("sum again", 0.0f, on_read(variable_aggregation::sum));
  assign_three_and_four(two, kept);
  save_checkpoint(two, file.name());
  for (const auto replicas : {1, 4}) {
    const mirrored_strategy other{replica_devices(replicas)};
    const auto sum = other.variable("sum again", 0.0f, on_read(variable_aggregation::sum));
    restore_checkpoint(other, file.name());
    BOOST_TEST(sum.item<float>() == 7.0f);
    BOOST_TEST(copies_of(sum)[0] == 7.0f / static_cast<float>(replicas));
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_changed_when_a_variable_is_missing_or_of_another_shape) {
  const checkpoint_path file;
  const mirrored_strategy saved{replica_devices(1)};
  const auto a = saved.variable("a", 1.0f);
  save_checkpoint(saved, file.name());
  const mirrored_strategy strategy{replica_devices(1)};
  const auto same = strategy.variable("a", 2.0f);
  const auto missing = strategy.variable("b", 2.0f);
  BOOST_CHECK_THROW(restore_checkpoint(strategy, file.name()), not_found_error);
  BOOST_TEST(same.item<float>() == 2.0f);
  const mirrored_strategy wider{replica_devices(1)};
  const auto other_shape = wider.variable("a", tensor::of({2.0f, 2.0f}));
  require_error<invalid_argument_error>("the variable is float32 (2,)",
                                        [&] { restore_checkpoint(wider, file.name()); });
}

BOOST_AUTO_TEST_CASE(a_variable_without_a_value_across_replicas_cannot_be_saved) {
  const checkpoint_path file;
  const mirrored_strategy strategy{replica_devices(2)};
  const auto v = strategy.variable("v", 0.0f, on_read(variable_aggregation::none));
  require_error<invalid_argument_error>("no aggregation", [&] { save_checkpoint(strategy, file.name()); });
  BOOST_TEST(!std::filesystem::exists(file.name()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
