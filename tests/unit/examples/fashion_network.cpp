#include "fashion_mnist/data.hpp"
#include "fashion_mnist/network.hpp"
#include "fashion_mnist/plain_loop.hpp"
#include "fashion_mnist/recipe.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pthread.h>
#include <stdlib.h>

BOOST_AUTO_TEST_SUITE(fashion_network_suite)

namespace {

using namespace troupe::fashion_mnist;
using troupe::dtype;
using troupe::shape;
using troupe::tensor;

auto says(std::string_view text) {
  return [text](const troupe::error& thrown) {
    BOOST_TEST_INFO("message: " << thrown.what());
    auto found = thrown.message().find(text) != std::string::npos;
    BOOST_CHECK(found);
    return found;
  };
}

/// Numbers in [-1, 1) that are the same in every run.
tensor random_tensor(const shape& extents, std::uint64_t seed) {
  auto engine = std::mt19937_64{seed};
  auto result = tensor::uninitialised(dtype::float64, extents);
  for (auto& x : result.mutable_values<double>()) x = static_cast<double>(engine() >> 11) * 0x1p-52 - 1;
  return result;
}

/// A network with two hidden layers, small enough for a derivative by each single parameter.
struct small_problem {
  std::vector<tensor> parameters{random_tensor({7, 5}, 1), random_tensor({5}, 2),    random_tensor({5, 4}, 3),
                                 random_tensor({4}, 4),    random_tensor({4, 3}, 5), random_tensor({3}, 6)};
  tensor images = random_tensor({6, 7}, 7);
  tensor labels = tensor::of<std::uint8_t>({0, 1, 2, 2, 1, 0});

  double loss() const { return loss_and_gradients(parameters, images, labels).loss; }
};

/// `count` images of which image i has class i % 10, shown by where its bright bar lies, under some noise.
labelled_images bars(std::int64_t count, std::uint64_t seed) {
  auto engine = std::mt19937_64{seed};
  auto images = tensor::uninitialised(dtype::uint8, {count, image_rows, image_columns});
  auto labels = tensor::uninitialised(dtype::uint8, {count});
  auto pixel = images.mutable_values<std::uint8_t>().begin();
  for (std::int64_t i = 0; i < count; ++i) {
    labels.mutable_values<std::uint8_t>()[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i % class_count);
    for (std::int64_t row = 0; row < image_rows; ++row) {
      auto base = row / 2 == i % class_count ? 150u : 0u;
      for (std::int64_t column = 0; column < image_columns; ++column) {
        *pixel++ = static_cast<std::uint8_t>(base + engine() % 100);
      }
    }
  }
  return checked_images(images, labels, "synthetic");
}

/// All black, and told apart only by their labels.
labelled_images black(std::int64_t count) {
  auto labels = tensor::uninitialised(dtype::uint8, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    labels.mutable_values<std::uint8_t>()[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i % class_count);
  }
  return {tensor::zeros(dtype::uint8, {count, image_rows, image_columns}), labels};
}

bool all_finite(const std::vector<tensor>& tensors) {
  return std::ranges::all_of(tensors, [](const tensor& x) {
    return std::ranges::all_of(x.values<float>(), [](float each) { return std::isfinite(each); });
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fashion_network)

BOOST_AUTO_TEST_CASE(gradients_are_the_finite_differences_of_the_loss) {
  auto problem = small_problem{};
  auto gradients = loss_and_gradients(problem.parameters, problem.images, problem.labels).gradients;
  BOOST_REQUIRE_EQUAL(gradients.size(), problem.parameters.size());
  constexpr auto h = 1e-6;
  for (std::size_t p = 0; p < gradients.size(); ++p) {
    BOOST_REQUIRE(gradients[p].get_shape() == problem.parameters[p].get_shape());
    for (std::size_t i = 0; i < gradients[p].values<double>().size(); ++i) {
      auto original = problem.parameters[p].values<double>()[i];
      problem.parameters[p].mutable_values<double>()[i] = original + h;
      auto above = problem.loss();
      problem.parameters[p].mutable_values<double>()[i] = original - h;
      auto below = problem.loss();
      problem.parameters[p].mutable_values<double>()[i] = original;
      BOOST_TEST_CONTEXT("parameter " << p << ", element " << i) {
        BOOST_CHECK_SMALL(gradients[p].values<double>()[i] - (above - below) / (2 * h), 1e-8);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(float32_gives_the_loss_and_gradients_of_float64) {
  auto problem = small_problem{};
  auto narrow = std::vector<tensor>{};
  for (const auto& x : problem.parameters) narrow.push_back(troupe::cast(x, dtype::float32));
  auto expected = loss_and_gradients(problem.parameters, problem.images, problem.labels);
  auto result = loss_and_gradients(narrow, troupe::cast(problem.images, dtype::float32), problem.labels);
  BOOST_CHECK_CLOSE(result.loss, expected.loss, 1e-3);
  for (std::size_t p = 0; p < narrow.size(); ++p) {
    auto wide = troupe::cast(result.gradients[p], dtype::float64);
    for (std::size_t i = 0; i < wide.values<double>().size(); ++i) {
      BOOST_CHECK_SMALL(wide.values<double>()[i] - expected.gradients[p].values<double>()[i], 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_loss_of_equal_logits_is_the_logarithm_of_the_number_of_classes) {
  auto parameters = std::vector{tensor::zeros(dtype::float32, {4, 10}), tensor::zeros(dtype::float32, {10})};
  auto result = loss_and_gradients(parameters, tensor::zeros(dtype::float32, {2, 4}), tensor::of<std::uint8_t>({3, 9}));
  BOOST_CHECK_CLOSE(result.loss, std::log(10.0), 1e-4);
}

BOOST_AUTO_TEST_CASE(large_logits_neither_overflow_nor_lose_the_loss) {
  auto kernel = tensor::zeros(dtype::float32, {1, 3});
  auto image = tensor::zeros(dtype::float32, {1, 1});
  auto huge = std::vector{kernel, tensor::of<float>({1e30f, -1e30f, 0.0f})};
  auto right = loss_and_gradients(huge, image, tensor::of<std::uint8_t>({0}));
  BOOST_CHECK_EQUAL(right.loss, 0.0);
  BOOST_CHECK(all_finite(right.gradients));
  auto wrong = loss_and_gradients(huge, image, tensor::of<std::uint8_t>({2}));
  BOOST_CHECK_CLOSE(wrong.loss, 1e30, 1e-4);
  BOOST_CHECK(std::ranges::equal(wrong.gradients[1].values<float>(), std::array{1.0f, 0.0f, -1.0f}));
}

BOOST_AUTO_TEST_CASE(accuracy_is_the_share_of_images_whose_largest_logit_is_their_label) {
  // The identity: an image's largest pixel is its class.
  auto parameters = std::vector{tensor::of<float>({2, 2}, {1, 0, 0, 1}), tensor::zeros(dtype::float32, {2})};
  auto images = tensor::of<float>({4, 2}, {3, 1, 0, 1, 2, 5, 1, -1});
  BOOST_CHECK_EQUAL(accuracy(parameters, images, tensor::of<std::uint8_t>({0, 1, 1, 0})), 1.0);
  BOOST_CHECK_EQUAL(accuracy(parameters, images, tensor::of<std::uint8_t>({0, 1, 1, 1})), 0.75);
}

BOOST_AUTO_TEST_CASE(accuracy_over_a_set_counts_each_image_once_whatever_the_blocks) {
  auto favours_seven = std::vector{tensor::zeros(dtype::float32, {image_pixels, class_count}),
                                   tensor::of<float>({0, 0, 0, 0, 0, 0, 0, 1, 0, 0})};
  BOOST_CHECK_CLOSE(accuracy(favours_seven, black(1207)), 120.0 / 1207, 1e-9);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_together_is_refused_by_name) {
  auto parameters = initial_parameters(1, std::array<std::int64_t, 3>{4, 3, 2});
  auto images = tensor::zeros(dtype::float32, {2, 4});
  auto labels = tensor::of<std::uint8_t>({0, 1});
  auto run = [&] { return loss_and_gradients(parameters, images, labels); };
  auto refused = [&](std::size_t place, const tensor& replacement, std::string_view message) {
    auto original = std::exchange(parameters[place], replacement);
    BOOST_CHECK_EXCEPTION(run(), troupe::invalid_argument_error, says(message));
    parameters[place] = original;
  };
  BOOST_CHECK_NO_THROW(run());
  refused(0, tensor::zeros(dtype::int32, {4, 3}), "dtype int32; expected float32 or float64");
  refused(0, tensor::zeros(dtype::float32, {4}), "dense1/kernel is float32 (4,)");
  refused(1, tensor::zeros(dtype::float32, {4}), "dense1/bias is float32 (4,)");
  refused(2, tensor::zeros(dtype::float32, {4, 2}), "dense2/kernel is float32 (4, 2); expected 3 rows");
  refused(3, tensor::zeros(dtype::float64, {2}), "dense2/bias is float64 (2,)");
  images = tensor::zeros(dtype::float32, {2, 5});
  BOOST_CHECK_EXCEPTION(run(), troupe::invalid_argument_error,
                        says("images are float32 (2, 5); expected float32 (n, 4)"));
  images = tensor::zeros(dtype::float32, {3, 4});
  BOOST_CHECK_EXCEPTION(run(), troupe::invalid_argument_error, says("expected uint8 (3), one for each image"));
  labels = tensor::of<std::uint8_t>({0, 1, 2});
  BOOST_CHECK_EXCEPTION(run(), troupe::out_of_range_error, says("label 2; expected a class from 0 to 1"));
  parameters.pop_back();
  BOOST_CHECK_EXCEPTION(run(), troupe::invalid_argument_error, says("3 parameters"));
}

BOOST_AUTO_TEST_CASE(initial_parameters_follow_the_names_and_the_seed) {
  auto names = parameter_names();
  auto parameters = initial_parameters(1);
  BOOST_CHECK((names == std::vector<std::string>{"dense1/kernel", "dense1/bias", "dense2/kernel", "dense2/bias",
                                                 "dense3/kernel", "dense3/bias"}));
  BOOST_REQUIRE_EQUAL(parameters.size(), names.size());
  BOOST_CHECK(parameters[0].get_shape() == (shape{784, 128}));
  BOOST_CHECK(parameters[5].get_shape() == (shape{10}));
  auto limit = static_cast<float>(std::sqrt(6.0 / (784 + 128)));
  auto [lowest, highest] = std::ranges::minmax(parameters[0].values<float>());
  BOOST_CHECK(-limit <= lowest && lowest < -0.99f * limit && 0.99f * limit < highest && highest <= limit);
  BOOST_CHECK(initial_parameters(1)[0].bitwise_equal(parameters[0]));
  BOOST_CHECK(!initial_parameters(2)[0].bitwise_equal(parameters[0]));
  BOOST_CHECK_EXCEPTION(initial_parameters(1, std::array<std::int64_t, 2>{4, 0}), troupe::invalid_argument_error,
                        says("layer sizes (4, 0)"));
}

BOOST_AUTO_TEST_CASE(a_step_fits_into_half_of_a_fibers_stack) {
  auto attributes = pthread_attr_t{};
  BOOST_REQUIRE_EQUAL(pthread_attr_init(&attributes), 0);
  BOOST_REQUIRE_EQUAL(pthread_attr_setstacksize(&attributes, 128 * 1024), 0);
  auto result = step_result{};
  auto thread = pthread_t{};
  auto body = [](void* target) -> void* {
    auto examples = batch_of(black(256), 0, 256);
    *static_cast<step_result*>(target) = loss_and_gradients(initial_parameters(1), examples.images, examples.labels);
    return nullptr;
  };
  BOOST_REQUIRE_EQUAL(pthread_create(&thread, &attributes, body, &result), 0);
  BOOST_REQUIRE_EQUAL(pthread_join(thread, nullptr), 0);
  BOOST_REQUIRE_EQUAL(pthread_attr_destroy(&attributes), 0);
  BOOST_CHECK_EQUAL(result.gradients.size(), 6u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fashion_data)

BOOST_AUTO_TEST_CASE(an_order_is_a_permutation_fixed_by_seed_and_epoch) {
  auto order = epoch_order(1000, 42, 3);
  BOOST_CHECK(epoch_order(1000, 42, 3) == order);
  BOOST_CHECK(epoch_order(1000, 42, 4) != order);
  BOOST_CHECK(epoch_order(1000, 43, 3) != order);
  BOOST_CHECK(epoch_order(1000, 42 + (std::uint64_t{1} << 32), 3) != order);
  auto expected = std::vector<std::uint32_t>(1000);
  std::iota(expected.begin(), expected.end(), 0u);
  BOOST_CHECK(order != expected);
  std::ranges::sort(order);
  BOOST_CHECK(order == expected);
  BOOST_CHECK(epoch_order(0, 1, 0).empty());
}

BOOST_AUTO_TEST_CASE(an_order_never_changes_from_one_build_to_the_next) {
  BOOST_CHECK((epoch_order(8, 1, 0) == std::vector<std::uint32_t>{0, 5, 4, 3, 2, 6, 1, 7}));
}

BOOST_AUTO_TEST_CASE(shards_together_see_each_image_exactly_once_an_epoch) {
  // Each image carries its own number in its first two pixels.
  constexpr std::int64_t count = 307;
  auto set = black(count);
  for (std::int64_t i = 0; i < count; ++i) {
    auto first = static_cast<std::size_t>(i * image_pixels);
    set.images.mutable_values<std::uint8_t>()[first] = static_cast<std::uint8_t>(i / 256);
    set.images.mutable_values<std::uint8_t>()[first + 1] = static_cast<std::uint8_t>(i % 256);
  }
  constexpr std::int64_t epochs = 2;
  auto seen = std::vector<int>(count);
  for (std::int64_t shard = 0; shard < 3; ++shard) {
    auto source = batches{set, {.seed = 5, .shard_index = shard, .shard_count = 3, .batch_size = 10, .epochs = epochs}};
    auto batch_count = std::int64_t{0};
    while (auto part = source.next()) {
      ++batch_count;
      BOOST_CHECK(part->size() == 10 || batch_count % source.batches_per_epoch() == 0);
      for (std::int64_t row = 0; row < part->size(); ++row) {
        auto pixels = part->images.row(row);
        auto value = [&](std::size_t i) { return std::lround((pixels.values<float>()[i] + pixel_mean) * 255); };
        auto number = value(0) * 256 + value(1);
        BOOST_REQUIRE(0 <= number && number < count);
        BOOST_CHECK_EQUAL(part->labels.values<std::uint8_t>()[static_cast<std::size_t>(row)], number % class_count);
        ++seen[static_cast<std::size_t>(number)];
      }
    }
    BOOST_CHECK_EQUAL(batch_count, epochs * source.batches_per_epoch());
    BOOST_CHECK(!source.next());
  }
  BOOST_CHECK(std::ranges::all_of(seen, [](int times) { return times == epochs; }));
}

BOOST_AUTO_TEST_CASE(each_epoch_has_an_order_of_its_own) {
  auto source = batches{black(10), {.batch_size = 10, .epochs = 2}};
  auto first = source.next().value();
  auto second = source.next().value();
  BOOST_CHECK(!second.labels.bitwise_equal(first.labels));
}

BOOST_AUTO_TEST_CASE(without_a_number_of_epochs_batches_never_end) {
  auto source = batches{black(10), {.batch_size = 10, .epochs = std::nullopt}};
  for (auto i = 0; i < 100; ++i) BOOST_REQUIRE(source.next());
}

BOOST_AUTO_TEST_CASE(a_batch_holds_the_pixels_as_floats_around_the_mean) {
  auto set = black(2);
  set.images.mutable_values<std::uint8_t>()[image_pixels + 5] = 255;
  auto indices = std::array<std::uint32_t, 3>{1, 0, 1};
  auto part = batch_at(set, indices);
  BOOST_CHECK(part.images.get_shape() == (shape{3, image_pixels}));
  BOOST_CHECK_EQUAL(part.images.values<float>()[5], 1.0f - pixel_mean);
  BOOST_CHECK_EQUAL(part.images.values<float>()[image_pixels + 5], -pixel_mean);
  BOOST_CHECK(std::ranges::equal(part.labels.values<std::uint8_t>(), std::vector<std::uint8_t>{1, 0, 1}));
  indices[2] = 2;
  BOOST_CHECK_EXCEPTION(batch_at(set, indices), troupe::out_of_range_error, says("image 2 of a set of 2"));
  BOOST_CHECK_EXCEPTION(batch_of(set, 1, 3), troupe::out_of_range_error, says("images [1, 3)"));
}

BOOST_AUTO_TEST_CASE(options_out_of_range_are_refused_by_name) {
  auto refused = [](const batches_options& options, std::string_view message) {
    BOOST_CHECK_EXCEPTION((batches{black(10), options}), troupe::invalid_argument_error, says(message));
  };
  refused({.shard_count = 0}, "shard_count is 0");
  refused({.shard_count = 11}, "shard_count is 11; expected 1 to 10");
  refused({.shard_index = 2, .shard_count = 2}, "shard_index is 2");
  refused({.shard_index = -1}, "shard_index is -1");
  refused({.batch_size = 0}, "batch_size is 0");
  refused({.epochs = 0}, "epochs is 0");
}

BOOST_AUTO_TEST_CASE(images_and_labels_that_are_no_data_set_are_refused) {
  auto refused = [](const tensor& images, const tensor& labels, std::string_view message) {
    BOOST_CHECK_EXCEPTION(checked_images(images, labels, "test"), troupe::invalid_argument_error, says(message));
  };
  auto good = black(2);
  refused(tensor::zeros(dtype::uint8, {2, 28, 27}), good.labels, "the test images are uint8 (2, 28, 27)");
  refused(tensor::zeros(dtype::float32, {2, 28, 28}), good.labels, "the test images are float32");
  refused(good.images, tensor::zeros(dtype::uint8, {3}), "the test labels are uint8 (3,)");
  refused(good.images, tensor::of<std::uint8_t>({1, 10}), "test label 1 is 10");
}

BOOST_AUTO_TEST_CASE(a_missing_data_set_is_an_error_that_says_how_to_get_it) {
  auto check = [](const troupe::error& thrown) {
    return says("install Debian's package dataset-fashion-mnist or pass --data DIRECTORY")(thrown) &&
           says("/nowhere/at/all")(thrown);
  };
  BOOST_CHECK_EXCEPTION(load_dataset("/nowhere/at/all"), troupe::not_found_error, check);
}

BOOST_AUTO_TEST_CASE(files_that_are_not_gzipped_are_found_too) {
  auto pattern = (std::filesystem::temp_directory_path() / "troupe-fashion-XXXXXX").string();
  BOOST_REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  auto directory = std::filesystem::path{pattern};
  for (auto name : {"train", "t10k"}) {
    auto images = std::ofstream{directory / (std::string{name} + "-images-idx3-ubyte"), std::ios::binary};
    images << std::string{"\0\0\x08\x03\0\0\0\1\0\0\0\x1c\0\0\0\x1c", 16} << std::string(image_pixels, '\x7f');
    auto labels = std::ofstream{directory / (std::string{name} + "-labels-idx1-ubyte"), std::ios::binary};
    labels << std::string{"\0\0\x08\x01\0\0\0\1\x09", 9};
  }
  auto data = load_dataset(directory);
  std::filesystem::remove_all(directory);
  BOOST_CHECK_EQUAL(data.train.size(), 1);
  BOOST_CHECK_EQUAL(int{data.test.labels.item<std::uint8_t>()}, 9);
  BOOST_CHECK_EQUAL(int{data.train.images.values<std::uint8_t>()[783]}, 0x7f);
}

boost::test_tools::assertion_result data_set_is_installed(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result{std::filesystem::exists(default_directory)};
  result.message() << "Debian's package dataset-fashion-mnist is not installed";
  return result;
}

BOOST_AUTO_TEST_CASE(the_published_files_hold_the_whole_set, *boost::unit_test::precondition(data_set_is_installed)) {
  auto data = load_dataset();
  BOOST_CHECK_EQUAL(data.train.size(), 60'000);
  BOOST_CHECK_EQUAL(data.test.size(), 10'000);
  auto pixels = data.train.images.values<std::uint8_t>();
  auto sum = std::accumulate(pixels.begin(), pixels.end(), std::uint64_t{0});
  BOOST_CHECK_CLOSE(static_cast<double>(sum) / 255 / static_cast<double>(pixels.size()), pixel_mean, 0.1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fashion_training)

BOOST_AUTO_TEST_CASE(the_plain_loop_learns_and_repeats_itself_bit_for_bit) {
  auto data = dataset{bars(400, 1), bars(100, 2)};
  auto chosen = recipe{.epochs = 3, .batch_size = 32};
  auto reported = std::vector<std::int64_t>{};
  auto result =
      train_in_plain_loop(data, chosen, [&](const epoch_report& report) { reported.push_back(report.epoch); });
  BOOST_CHECK_GE(result.test_accuracy, 0.95);
  BOOST_CHECK_LT(result.epochs.back().mean_loss, result.epochs.front().mean_loss);
  BOOST_CHECK_EQUAL(result.steps, 3 * 13);
  BOOST_CHECK_GT(result.images_per_second, 0);
  BOOST_CHECK((reported == std::vector<std::int64_t>{1, 2, 3}));
  auto again = train_in_plain_loop(data, chosen);
  for (std::size_t i = 0; i < result.parameters.size(); ++i) {
    BOOST_CHECK(again.parameters[i].bitwise_equal(result.parameters[i]));
  }
}

BOOST_AUTO_TEST_CASE(the_learning_rate_falls_linearly_to_zero) {
  auto chosen = recipe{.learning_rate = 0.5};
  BOOST_CHECK_EQUAL(chosen.learning_rate_at(0, 10), 0.5);
  BOOST_CHECK_EQUAL(chosen.learning_rate_at(5, 10), 0.25);
  BOOST_CHECK_EQUAL(chosen.learning_rate_at(10, 10), 0.0);
  BOOST_CHECK_EQUAL(chosen.learning_rate_at(11, 10), 0.0);
}

BOOST_AUTO_TEST_CASE(a_recipe_out_of_range_is_refused_by_name) {
  auto refused = [](const recipe& chosen, std::string_view message) {
    BOOST_CHECK_EXCEPTION(check_recipe(chosen), troupe::invalid_argument_error, says(message));
  };
  BOOST_CHECK_NO_THROW(check_recipe({}));
  refused({.epochs = 0}, "epochs is 0");
  refused({.batch_size = -1}, "batch_size is -1");
  refused({.learning_rate = std::numeric_limits<double>::quiet_NaN()}, "learning_rate is nan");
  refused({.learning_rate = 0}, "learning_rate is 0");
  refused({.beta1 = 1}, "beta1 is 1");
  refused({.beta2 = -0.1}, "beta2 is -0.1");
  refused({.epsilon = 0}, "epsilon is 0");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
