// Checkpoints (issue "The company on stage"): saved whole, restored into other shards and servers, refused when wrong.
#include "support/local_world.hpp"

#include <troupe/runtime/files/safetensors.hpp>

#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(checkpoint_suite)

namespace {

struct scratch_file {
  std::string path =
      (std::filesystem::temp_directory_path() / ("troupe-checkpoint-" + std::to_string(::getpid()))).string();
  ~scratch_file() { std::filesystem::remove(path); }
};

const tensor table = tensor::of<float>({5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
const tensor gradient = tensor::full<float>({5, 2}, 0.25f);

}  // namespace

BOOST_AUTO_TEST_CASE(a_checkpoint_is_restored_into_other_shards_servers_and_continues_the_same) {
  const scratch_file file;
  const auto rule = optimizer::adam(0.1);
  tensor expected;
  {
    local_world world{{.workers = 1, .servers = 2}};
    const auto v = world.strategy.sharded("v", table, fixed_shards_partitioner(2));
    const auto count = world.strategy.variable("count", std::int64_t{7});
    v.apply_gradient(rule, gradient);
    v.apply_gradient(rule, gradient);
    save_checkpoint(world.strategy, file.path, {{"epoch", "3"}});
    v.apply_gradient(rule, gradient);
    expected = v.read();
  }
  local_world world{{.workers = 1, .servers = 3}};
  const auto v = world.strategy.sharded("v", tensor::zeros(dtype::float32, {5, 2}), fixed_shards_partitioner(3));
  const auto count = world.strategy.variable("count", std::int64_t{0});
  const auto restored = restore_checkpoint(world.strategy, file.path);
  BOOST_TEST(restored.variables == 2u);
  BOOST_TEST(restored.metadata.at("epoch") == "3");
  BOOST_TEST(count.read() == 7);
  // Adam's moments and step came along: the next update is the one that the first job made.
  v.apply_gradient(rule, gradient);
  BOOST_TEST(v.read().bitwise_equal(expected));
}

BOOST_AUTO_TEST_CASE(the_file_is_plain_safetensors_with_one_tensor_for_a_sharded_variable) {
  const scratch_file file;
  local_world world{{.workers = 1, .servers = 2}};
  world.strategy.sharded("v", table, fixed_shards_partitioner(2));
  save_checkpoint(world.strategy, file.path);
  const safetensors_file read{file.path};
  BOOST_TEST(read.names() == (std::vector<std::string>{"v"}), boost::test_tools::per_element());
  BOOST_TEST(read.read("v").bitwise_equal(table));
}

BOOST_AUTO_TEST_CASE(handles_work_on_after_a_restore_in_place) {
  const scratch_file file;
  local_world world;
  const auto v = world.strategy.variable("v", 1.0f);
  save_checkpoint(world.strategy, file.path);
  v.assign(9.0f);
  restore_checkpoint(world.strategy, file.path);
  BOOST_TEST(v.read() == 1.0f);
  BOOST_TEST(world.coordinator.schedule([](variable<float> x) { return x.read(); }, v).fetch() == 1.0f);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_before_anything_changes) {
  const scratch_file file;
  local_world first;
  first.strategy.variable("a", 1.0f);
  first.strategy.variable("b", table);
  save_checkpoint(first.strategy, file.path);

  local_world other_shape;
  const auto a = other_shape.strategy.variable("a", 5.0f);
  other_shape.strategy.variable("b", 2.0f);
  BOOST_CHECK_EXCEPTION(restore_checkpoint(other_shape.strategy, file.path), invalid_argument_error,
                        [](const error& e) { return says(e, "\"b\"") && says(e, "(5, 2)"); });
  BOOST_TEST(a.read() == 5.0f);

  local_world other_name;
  other_name.strategy.variable("c", 5.0f);
  BOOST_CHECK_EXCEPTION(restore_checkpoint(other_name.strategy, file.path), not_found_error,
                        [](const error& e) { return says(e, "c"); });
}

BOOST_AUTO_TEST_CASE(missing_truncated_and_foreign_files_are_named) {
  const scratch_file file;
  local_world world;
  world.strategy.variable("v", 1.0f);
  BOOST_CHECK_THROW(restore_checkpoint(world.strategy, file.path), not_found_error);
  std::ofstream{file.path} << "not a checkpoint at all";
  BOOST_CHECK_EXCEPTION(restore_checkpoint(world.strategy, file.path), data_loss_error,
                        [&](const error& e) { return says(e, file.path); });
  write_safetensors(file.path, {}, {});
  BOOST_CHECK_EXCEPTION(restore_checkpoint(world.strategy, file.path), invalid_argument_error,
                        [](const error& e) { return says(e, "no checkpoint of troupe"); });
  save_checkpoint(world.strategy, file.path);
  std::filesystem::resize_file(file.path, std::filesystem::file_size(file.path) - 1);
  BOOST_CHECK_THROW(restore_checkpoint(world.strategy, file.path), data_loss_error);
  BOOST_CHECK_THROW(save_checkpoint(world.strategy, "/nowhere/at/all"), error);
}

BOOST_AUTO_TEST_SUITE_END()
