// Where the elements of a dataset come from: numbers, tensors in memory, functions, files of tensors.
#pragma once

#include <troupe/runtime/dataset.hpp>
#include <troupe/runtime/files/idx_file.hpp>
#include <troupe/runtime/files/npy_file.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace troupe {

/// Element i consists of row i of each tensor, which is a slice and no copy. `tensors` is a tensor or a structure of
/// tensors, such as std::tuple{images, labels}. Throws invalid_argument_error unless all have the same extent of axis
/// 0.
template <class T>
dataset<T> from_tensor_slices(T tensors) {
  const auto rows = row_count(tensors);
  auto recipe = [&] {
    if constexpr (encodable<T>) {
      return detail::dataset_recipe::from<function_constant<&from_tensor_slices<T>>>(tensors);
    } else {
      return detail::dataset_recipe{"from_tensor_slices() was given a structure that can't travel"};
    }
  }();
  const auto open = [tensors = std::make_shared<const T>(std::move(tensors)), rows] {
    return dataset_iterator<T>{[tensors, rows, next = std::int64_t{0}]() mutable -> std::optional<T> {
      if (next == rows) return {};
      return row_at(*tensors, next++);
    }};
  };
  return dataset<T>{open, rows, std::move(recipe)};
}

namespace detail {

dataset<std::int64_t> count_from_to(std::int64_t start, std::int64_t stop, std::int64_t step);

}  // namespace detail

/// start, start + step, ... up to, and without, stop; downwards with a negative step. Throws invalid_argument_error for
/// a step of 0.
inline dataset<std::int64_t> range(std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
  return detail::count_from_to(start, stop, step);
}
/// 0, 1, ..., stop - 1.
inline dataset<std::int64_t> range(std::int64_t stop) { return detail::count_from_to(0, stop, 1); }

/// What a function gives: iterate() calls `make_generator()`, and each next element is a call of what that returned, a
/// function without arguments that returns std::optional<T>, until it is empty. `make_generator` may be called by
/// several threads; each generator is used by one at a time.
template <class MakeGenerator>
auto from_generator(MakeGenerator make_generator);

namespace detail {

/// A generator, for recipes.
template <class MakeGenerator>
struct generate_again {
  auto operator()() const { return from_generator(MakeGenerator{}); }
};

}  // namespace detail

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
  auto recipe = [] {
    if constexpr (detail::remembered_function<MakeGenerator>) {
      return detail::dataset_recipe::from<detail::generate_again<MakeGenerator>>();
    } else {
      return detail::dataset_recipe{"its from_generator() has a function with captures, or a function pointer"};
    }
  };
  const auto open = [make_generator] {
    return dataset_iterator<element>{
        [generate = std::make_shared<generator>(make_generator())] { return std::invoke(*generate); }};
  };
  return dataset<element>{open, cardinality{}, recipe()};
}

/// The rows of the tensor in an IDX file. The file is read here; throws as read_idx_file and from_tensor_slices do.
/// Several files go together as from_tensor_slices(std::tuple{read_idx_file(a), read_idx_file(b)}).
/// A worker that makes the dataset again (create_per_worker_dataset) reads the file at the same absolute path.
dataset<tensor> from_idx_file(const std::string& path);

/// The rows of the tensor in an NPY file, which stays on disk until they are used (see read_npy_file).
/// Workers read it as they do an IDX file.
dataset<tensor> from_npy_file(const std::string& path);

}  // namespace troupe
