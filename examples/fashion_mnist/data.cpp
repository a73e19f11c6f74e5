#include "fashion_mnist/data.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/idx_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace troupe::fashion_mnist {
namespace {

tensor read_file(const std::filesystem::path& directory, const char* name) {
  auto plain = directory / name;
  auto gzipped = directory / fmt::format("{}.gz", name);
  auto ignored = std::error_code{};
  try {
    return read_idx_file(std::filesystem::exists(plain, ignored) ? plain : gzipped);
  } catch (const not_found_error& failure) {
    throw not_found_error(failure.get_status().wrap(
        fmt::format("the Fashion-MNIST data set is not complete in {}: install Debian's package dataset-fashion-mnist "
                    "or pass --data DIRECTORY with the four IDX files",
                    directory.string())));
  }
}

void convert_pixels(const std::uint8_t* pixels, float* target) {
  constexpr auto scale = 1.0f / 255.0f;
  for (std::int64_t i = 0; i < image_pixels; ++i) target[i] = static_cast<float>(pixels[i]) * scale - pixel_mean;
}

/// The batch of `count` images; `index_at(i)` is the place of the i-th in the set, within its bounds.
template <class Function>
batch make_batch(const labelled_images& set, std::int64_t count, Function index_at) {
  auto result = batch{tensor::uninitialised(dtype::float32, shape{count, image_pixels}),
                      tensor::uninitialised(dtype::uint8, shape{count})};
  const auto* pixels = set.images.values<std::uint8_t>().data();
  const auto* labels = set.labels.values<std::uint8_t>().data();
  auto* image_target = result.images.mutable_values<float>().data();
  auto* label_target = result.labels.mutable_values<std::uint8_t>().data();
  for (std::int64_t i = 0; i < count; ++i) {
    auto index = index_at(i);
    convert_pixels(pixels + index * image_pixels, image_target + i * image_pixels);
    label_target[i] = labels[index];
  }
  return result;
}

void check_options(const batches_options& options, std::int64_t image_count) {
  if (options.shard_count < 1 || options.shard_count > image_count) {
    throw invalid_argument_error(
        fmt::format("shard_count is {}; expected 1 to {}, the number of images", options.shard_count, image_count));
  }
  if (options.shard_index < 0 || options.shard_index >= options.shard_count) {
    throw invalid_argument_error(fmt::format("shard_index is {}; expected 0 to {}, one less than shard_count",
                                             options.shard_index, options.shard_count - 1));
  }
  if (options.batch_size < 1) {
    throw invalid_argument_error(fmt::format("batch_size is {}; expected at least 1", options.batch_size));
  }
  if (options.epochs && *options.epochs < 1) {
    throw invalid_argument_error(
        fmt::format("epochs is {}; expected at least 1, or none for batches without end", *options.epochs));
  }
}

}  // namespace

labelled_images checked_images(tensor images, tensor labels, std::string_view name) {
  const auto& image_shape = images.get_shape();
  if (images.get_dtype() != dtype::uint8 || image_shape.rank() != 3 || image_shape[0] < 1 ||
      image_shape[1] != image_rows || image_shape[2] != image_columns) {
    throw invalid_argument_error(fmt::format("the {} images are {} {}; expected uint8 (n, {}, {}) with n >= 1", name,
                                             to_string(images.get_dtype()), image_shape.to_string(), image_rows,
                                             image_columns));
  }
  if (labels.get_dtype() != dtype::uint8 || labels.get_shape() != shape{image_shape[0]}) {
    throw invalid_argument_error(fmt::format("the {} labels are {} {}; expected uint8 ({}), one for each image", name,
                                             to_string(labels.get_dtype()), labels.get_shape().to_string(),
                                             image_shape[0]));
  }
  auto classes = labels.values<std::uint8_t>();
  auto wrong = std::ranges::find_if(classes, [](auto label) { return label >= class_count; });
  if (wrong != classes.end()) {
    throw invalid_argument_error(fmt::format("{} label {} is {}; expected a class from 0 to {}", name,
                                             wrong - classes.begin(), *wrong, class_count - 1));
  }
  return {std::move(images), std::move(labels)};
}

dataset load_dataset(const std::filesystem::path& directory) {
  auto train = checked_images(read_file(directory, "train-images-idx3-ubyte"),
                              read_file(directory, "train-labels-idx1-ubyte"), "training");
  auto test = checked_images(read_file(directory, "t10k-images-idx3-ubyte"),
                             read_file(directory, "t10k-labels-idx1-ubyte"), "test");
  return {std::move(train), std::move(test)};
}

batch batch_at(const labelled_images& set, std::span<const std::uint32_t> indices) {
  for (auto index : indices) {
    if (index >= set.size()) {
      throw out_of_range_error(fmt::format("image {} of a set of {}; expected an index below that", index, set.size()));
    }
  }
  return make_batch(set, std::ssize(indices),
                    [&](std::int64_t i) -> std::int64_t { return indices[static_cast<std::size_t>(i)]; });
}

batch batch_of(const labelled_images& set, std::int64_t begin, std::int64_t end) {
  if (begin < 0 || end < begin || end > set.size()) {
    throw out_of_range_error(fmt::format("images [{}, {}) of a set of {}; expected 0 <= begin <= end <= {}", begin, end,
                                         set.size(), set.size()));
  }
  return make_batch(set, end - begin, [&](std::int64_t i) { return begin + i; });
}

std::vector<std::uint32_t> epoch_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  if (count < 0 || count > std::numeric_limits<std::uint32_t>::max()) {
    throw invalid_argument_error(fmt::format("cannot shuffle {} images; expected 0 to 2^32 - 1", count));
  }
  auto order = std::vector<std::uint32_t>(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0u);
  // Only the engine and its seeding are specified bit for bit by the standard: std::shuffle and the distributions
  // differ between libraries. The remainder favours small values by less than count / 2^64, which nobody can see.
  auto seeds = std::seed_seq{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                             static_cast<std::uint32_t>(epoch)};
  auto engine = std::mt19937_64{seeds};
  for (auto left = order.size(); left > 1; --left) std::swap(order[left - 1], order[engine() % left]);
  return order;
}

batches::batches(labelled_images set, batches_options options) : set_(std::move(set)), options_(options) {
  check_options(options_, set_.size());
}

std::optional<batch> batches::next() {
  if (position_ == order_.size()) {
    if (options_.epochs && epoch_ + 1 >= *options_.epochs) return std::nullopt;
    start_epoch();
  }
  auto count = std::min(order_.size() - position_, static_cast<std::size_t>(options_.batch_size));
  auto indices = std::span{order_}.subspan(position_, count);
  position_ += count;
  return batch_at(set_, indices);
}

std::int64_t batches::batches_per_epoch() const {
  auto images = 1 + (set_.size() - 1 - options_.shard_index) / options_.shard_count;
  return 1 + (images - 1) / options_.batch_size;
}

void batches::start_epoch() {
  ++epoch_;
  auto whole = epoch_order(set_.size(), options_.seed, epoch_);
  order_.clear();
  for (auto place = options_.shard_index; place < set_.size(); place += options_.shard_count) {
    order_.push_back(whole[static_cast<std::size_t>(place)]);
  }
  position_ = 0;
}

}  // namespace troupe::fashion_mnist
