// Fashion-MNIST: 60,000 + 10,000 grey images of 28 x 28 pixels in ten classes, and their way into batches.
//
// The whole set stays in memory as the bytes that it is published as (55 MB); only the images of a batch become
// floats. The order of an epoch is a function of (seed, epoch) alone, on every machine and with every standard
// library, so the workers of a job need not talk to divide it: each takes every `shard_count`-th place of the same
// order, and together they see each image exactly once an epoch.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe::fashion_mnist {

inline constexpr std::int64_t image_rows = 28;
inline constexpr std::int64_t image_columns = 28;
inline constexpr std::int64_t image_pixels = image_rows * image_columns;
inline constexpr std::int64_t class_count = 10;
/// The mean of the training set's pixels, on the scale from 0 to 1.
inline constexpr float pixel_mean = 0.2860f;

/// Where Debian's package `dataset-fashion-mnist` puts the four files.
inline constexpr const char* default_directory = "/usr/share/datasets/fashion-mnist";

/// Images as uint8 (n, 28, 28) and their classes 0 to 9 as uint8 (n), n >= 1. Copies share the pixels.
struct labelled_images {
  tensor images;
  tensor labels;

  std::int64_t size() const { return images.get_shape()[0]; }
};

/// `{images, labels}` after a check of dtypes, shapes and classes; `invalid_argument_error` otherwise, with `name` in
/// it.
labelled_images checked_images(tensor images, tensor labels, std::string_view name);

struct dataset {
  labelled_images train;
  labelled_images test;
};

/// Reads the four IDX files, gzipped (`train-images-idx3-ubyte.gz`) or plain (without `.gz`), in about half a second.
/// Throws `not_found_error` with the way to get the files if one is missing, and what `read_idx_file` and
/// `checked_images` throw if one is damaged.
dataset load_dataset(const std::filesystem::path& directory = default_directory);

/// What a step of training takes: images as float32 (n, 784), labels as uint8 (n).
///
/// A pixel is its byte / 255 - pixel_mean. Around zero, because that is what asynchronous training needs most: with
/// gradients that are three steps old, five epochs end 1.5 points of accuracy higher than with pixels in [0, 1].
struct batch {
  tensor images;
  tensor labels;

  std::int64_t size() const { return images.get_shape()[0]; }
};

/// The batch of the images at `indices`, in that order; `out_of_range_error` for an index outside the set.
batch batch_at(const labelled_images& set, std::span<const std::uint32_t> indices);

/// The batch of the images [begin, end), in the set's order; `out_of_range_error` unless 0 <= begin <= end <= size.
batch batch_of(const labelled_images& set, std::int64_t begin, std::int64_t end);

/// A permutation of 0 .. count - 1, the same for the same arguments everywhere. 0 <= count < 2^32.
std::vector<std::uint32_t> epoch_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

struct batches_options {
  std::uint64_t seed = 1;
  /// This source's part of each epoch: 0 <= shard_index < shard_count <= images.
  std::int64_t shard_index = 0;
  std::int64_t shard_count = 1;
  /// Images a batch, >= 1. The last batch of an epoch has what is left.
  std::int64_t batch_size = 128;
  /// How many epochs until the end, >= 1; none: without end.
  std::optional<std::int64_t> epochs = 1;
};

/// A shard's batches, epoch after epoch. One thread or fiber at a time; the set's pixels are shared, not copied.
class batches {
 public:
  /// Throws `invalid_argument_error` for options outside the ranges above.
  batches(labelled_images set, batches_options options);

  /// The next batch, or none after the last epoch.
  std::optional<batch> next();

  /// Batches an epoch of this shard.
  std::int64_t batches_per_epoch() const;

 private:
  void start_epoch();

  labelled_images set_;
  batches_options options_;
  /// The epoch in `order_`; -1 before the first.
  std::int64_t epoch_ = -1;
  /// This shard's part of the epoch, and the place of the next batch in it.
  std::vector<std::uint32_t> order_;
  std::size_t position_ = 0;
};

}  // namespace troupe::fashion_mnist
