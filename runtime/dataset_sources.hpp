// Where the elements of a dataset come from: tensors in memory, functions, files of tensors.
#pragma once

#include <troupe/runtime/dataset.hpp>
#include <troupe/runtime/files/idx_file.hpp>
#include <troupe/runtime/files/npy_file.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace troupe {

/// Element i consists of row i of each tensor, which is a slice and no copy. `tensors` is a tensor or a structure of
/// tensors, such as std::tuple{images, labels}. Throws invalid_argument_error unless all have the same extent of axis
/// 0.
template <class T>
dataset<T> from_tensor_slices(T tensors) {
  const auto rows = row_count(tensors);
  const auto open = [tensors = std::make_shared<const T>(std::move(tensors)), rows] {
    return dataset_iterator<T>{[tensors, rows, next = std::int64_t{0}]() mutable -> std::optional<T> {
      if (next == rows) return {};
      return row_at(*tensors, next++);
    }};
  };
  return dataset<T>{open, rows};
}

/// What a function gives: iterate() calls `make_generator()`, and each next element is a call of what that returned, a
/// function without arguments that returns std::optional<T>, until it is empty. `make_generator` may be called by
/// several threads; each generator is used by one at a time.
template <class MakeGenerator>
auto from_generator(MakeGenerator make_generator) {
  using generator = std::decay_t<std::invoke_result_t<const MakeGenerator&>>;
  using result = std::invoke_result_t<generator&>;
  static_assert(
      requires {
        typename result::value_type;
        requires std::is_same_v<result, std::optional<typename result::value_type>>;
      },
      "a generator returns std::optional<T>: an element, or nothing at the end");
  using element = typename result::value_type;
  return dataset<element>{[make_generator] {
    return dataset_iterator<element>{
        [generate = std::make_shared<generator>(make_generator())] { return std::invoke(*generate); }};
  }};
}

/// The rows of the tensor in an IDX file. The file is read here; throws as read_idx_file and from_tensor_slices do.
/// Several files go together as from_tensor_slices(std::tuple{read_idx_file(a), read_idx_file(b)}).
inline dataset<tensor> from_idx_file(const std::filesystem::path& path) {
  return from_tensor_slices(read_idx_file(path));
}

/// The rows of the tensor in an NPY file, which stays on disk until they are used (see read_npy_file).
inline dataset<tensor> from_npy_file(const std::filesystem::path& path) {
  return from_tensor_slices(read_npy_file(path));
}

}  // namespace troupe
