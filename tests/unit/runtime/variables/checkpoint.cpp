// Checkpoints (issue "The company on stage"): saved whole, restored into other shards and servers, refused when wrong.
#include "support/local_world.hpp"

#include <troupe/runtime/files/safetensors.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(checkpoint_suite)

namespace {

struct scratch_file {
  std::string path =
      (std::filesystem::temp_directory_path() / ("troupe-checkpoint-" + std::to_string(::getpid()))).string();
  ~scratch_file() { std::filesystem::remove(path); }
};

std::string bytes_of(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

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

BOOST_AUTO_TEST_CASE(a_slot_that_only_some_shards_have_is_not_saved_as_if_it_were_whole) {
  const scratch_file file;
  local_world world{{.workers = 1, .servers = 2}};
  const auto v = world.strategy.sharded("v", table, fixed_shards_partitioner(2));
  v.shard(0).apply_gradient(optimizer::adam(0.1), tensor::full<float>({3, 2}, 0.25f));
  save_checkpoint(world.strategy, file.path);
  const safetensors_file read{file.path};
  BOOST_TEST(read.names() == (std::vector<std::string>{"v"}), boost::test_tools::per_element());
  BOOST_TEST(read.read("v").bitwise_equal(v.read()));
  restore_checkpoint(world.strategy, file.path);
  v.apply_gradient(optimizer::adam(0.1), gradient);
}

BOOST_AUTO_TEST_CASE(contents_pass_in_pieces_when_the_window_is_small) {
  const scratch_file whole;
  const scratch_file pieces{whole.path + "-pieces"};
  local_world world{{.workers = 1, .servers = 3}};
  const auto rule = optimizer::adam(0.1);
  std::vector<sharded_variable> variables;
  for (int i = 0; i < 20; ++i) {
    auto content = tensor::zeros(dtype::float32, {37, 11});
    for (auto& x : content.mutable_values<float>())
      x = static_cast<float>(i) + 0.125f * static_cast<float>(&x - content.values<float>().data());
    variables.push_back(world.strategy.sharded("v" + std::to_string(i), content, fixed_shards_partitioner(1 + i % 5)));
    if (i % 2 == 0) variables.back().apply_gradient(rule, tensor::full<float>({37, 11}, 0.25f));
  }
  world.strategy.variable("count", std::int64_t{9});
  save_checkpoint(world.strategy, whole.path);
  for (const std::size_t window : {std::size_t{1}, std::size_t{10'000}, std::size_t{40'000}}) {
    save_checkpoint(world.strategy, pieces.path, {}, {.window_bytes = window});
    BOOST_TEST(bytes_of(pieces.path) == bytes_of(whole.path));
  }
  std::vector<tensor> before;
  for (const auto& v : variables) {
    before.push_back(v.read());
    v.assign(tensor::zeros(dtype::float32, {37, 11}));
  }
  restore_checkpoint(world.strategy, pieces.path, {.window_bytes = 5'000});
  for (std::size_t i = 0; i < variables.size(); ++i) BOOST_TEST(variables[i].read().bitwise_equal(before[i]));
  save_checkpoint(world.strategy, pieces.path);
  BOOST_TEST(bytes_of(pieces.path) == bytes_of(whole.path));
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
