// Variables that go: by name, by a restore, and when making them failed half way. Nothing of them stays on the servers.
#include "support/local_world.hpp"

#include <filesystem>

#include <unistd.h>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(variable_removal_suite)

namespace {

const tensor table = tensor::of<float>({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});

/// A cluster whose servers hold so many shards at most, so that a shard too many is noticed.
struct full_world : local_world {
  explicit full_world(std::size_t shards_max, int servers = 1)
      : local_world({.workers = 1, .servers = servers}, {.members = {.server = {.shards_max = shards_max}}}) {}
};

struct scratch_file {
  std::string path =
      (std::filesystem::temp_directory_path() / ("troupe-removal-" + std::to_string(::getpid()))).string();
  ~scratch_file() { std::filesystem::remove(path); }
};

std::vector<std::pair<std::string, tensor>> numbered(int count) {
  std::vector<std::pair<std::string, tensor>> result;
  for (int i = 0; i < count; ++i) result.emplace_back("v" + std::to_string(i), tensor::scalar(i));
  return result;
}

bool is_not_found(const error& e) { return e.code() == status_code::not_found && says(e, "removed"); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_variable_that_is_removed_frees_its_name_and_its_place) {
  full_world world{1};
  for (int i = 0; i < 10; ++i) {
    const auto v = world.strategy.variable("v", i);
    BOOST_TEST(v.read() == i);
    world.strategy.remove("v");
    BOOST_TEST(world.strategy.variables().empty());
  }
  BOOST_CHECK_THROW(world.strategy.remove("v"), not_found_error);
}

BOOST_AUTO_TEST_CASE(handles_of_a_removed_variable_fail_at_once_everywhere) {
  local_world world;
  const auto v = world.strategy.variable("v", 1);
  BOOST_TEST(v.read() == 1);
  const auto add = [](variable<int> x) { x.assign_add(1); };
  world.coordinator.schedule(add, v).fetch();
  world.strategy.remove("v");
  BOOST_CHECK_EXCEPTION(v.read(), error, is_not_found);
  BOOST_CHECK_EXCEPTION(world.coordinator.schedule(add, v).fetch(), error, is_not_found);
}

BOOST_AUTO_TEST_CASE(many_variables_are_made_together_or_not_at_all) {
  full_world world{10};
  BOOST_CHECK_EXCEPTION(world.strategy.create_variables(numbered(11)), error,
                        [](const error& e) { return says(e, "shards_max"); });
  BOOST_TEST(world.strategy.variables().empty());
  const auto made = world.strategy.create_variables(numbered(10));
  for (int i = 0; i < 10; ++i) BOOST_TEST(made[static_cast<std::size_t>(i)].read().item<int>() == i);
  BOOST_CHECK_THROW(world.strategy.create_variables(numbered(1)), already_exists_error);
  BOOST_TEST(world.strategy.variables().size() == 10u);
}

BOOST_AUTO_TEST_CASE(a_sharded_variable_that_fails_half_way_leaves_nothing_behind) {
  full_world world{3};
  world.strategy.variable("v", 0);
  BOOST_CHECK_EXCEPTION(world.strategy.sharded("w", table, fixed_shards_partitioner(4)), error,
                        [](const error& e) { return says(e, "shards_max"); });
  BOOST_TEST(world.strategy.variables().size() == 1u);
  // Two places are free again, and the name is.
  const auto w = world.strategy.sharded("w", table, fixed_shards_partitioner(2));
  BOOST_TEST(w.read().bitwise_equal(table));
}

BOOST_AUTO_TEST_CASE(a_restore_deletes_what_it_replaces) {
  const scratch_file file;
  full_world world{4};
  const auto v = world.strategy.sharded("v", table, fixed_shards_partitioner(2));
  save_checkpoint(world.strategy, file.path);
  for (int i = 0; i < 10; ++i) {
    v.assign(tensor::zeros(dtype::float32, {4, 2}));
    restore_checkpoint(world.strategy, file.path);
    BOOST_TEST(v.read().bitwise_equal(table));
  }
}

BOOST_AUTO_TEST_CASE(a_restore_that_fails_half_way_changes_nothing) {
  const scratch_file file;
  full_world world{5};
  const auto v = world.strategy.variable("v", table);
  const auto w = world.strategy.sharded("w", table, fixed_shards_partitioner(2));
  save_checkpoint(world.strategy, file.path);
  const auto later = tensor::zeros(dtype::float32, {4, 2});
  v.assign(later);
  w.assign(later);
  // There is room for the first two of three new shards; each is sent alone.
  BOOST_CHECK_EXCEPTION(restore_checkpoint(world.strategy, file.path, {.window_bytes = 1}), error,
                        [](const error& e) { return says(e, "shards_max"); });
  BOOST_TEST(v.read().bitwise_equal(later));
  BOOST_TEST(w.read().bitwise_equal(later));
  // What was made is deleted: there is room again for two.
  world.strategy.variable("x", 1);
  world.strategy.variable("y", 1);
}

BOOST_AUTO_TEST_SUITE_END()
