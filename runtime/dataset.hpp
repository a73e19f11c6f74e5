// Input pipelines: a recipe for a sequence of elements, made of a source and transformations.
//
//   auto images = from_tensor_slices(std::tuple{read_idx_file(a), read_idx_file(b)})
//                     .shuffle(60'000, seed).repeat(5).batch(128).prefetch(2);
//
// A dataset reads nothing: iterate() opens an iterator at the first element, and each element is made when the
// iterator is asked for it. Copies share the recipe. Elements have any type that can be moved; batch() and its
// relatives take structures of tensors and numbers (structure.hpp) apart and put them together.
//
// The same recipe gives the same elements in the same order on every machine, unless a function in it does not, or a
// shuffle has no seed. Where
// an element fails to be made, its error comes out of the iterator in its place, and the next call goes on behind it;
// a batch whose element fails is lost as far as it was put together.
//
// Datasets may be used by several threads at once; functions in a recipe may then run at the same time, as they may
// when there is a prefetch() behind them. Sources: dataset_sources.hpp. Semantics:
// examples/reference/semantics.md 1.1, 1.3.
#pragma once

#include <troupe/actors/fibers/random_device.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/datasets/cardinality.hpp>
#include <troupe/runtime/datasets/dataset_iterator.hpp>
#include <troupe/runtime/datasets/dataset_recipe.hpp>
#include <troupe/runtime/datasets/dataset_shuffle.hpp>
#include <troupe/runtime/datasets/prefetcher.hpp>
#include <troupe/runtime/datasets/structure_rows.hpp>
#include <troupe/runtime/input_context.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace troupe {

/// Every transformation throws invalid_argument_error for an argument outside its range, at once.
template <class T>
class dataset {
 public:
  using value_type = T;

  /// `open` starts again from the first element at each call. `elements` says how many there are, where it is known.
  explicit dataset(std::function<dataset_iterator<T>()> open, cardinality elements = {},
                   detail::dataset_recipe recipe = {})
      : open_(std::move(open)), elements_(elements), recipe_(std::move(recipe)) {}

  /// A new iterator at the first element.
  dataset_iterator<T> iterate() const { return open_(); }
  /// How many elements an iterator gives, errors included.
  cardinality get_cardinality() const { return elements_; }
  /// How another process of the program makes the same dataset, or why it can't.
  const detail::dataset_recipe& recipe() const { return recipe_; }

  // -- which elements, and in which order -----------------------------------------------------------------------------

  /// The first `count` elements; count >= 0.
  dataset take(std::int64_t count) const;
  /// Without the first `count` elements; count >= 0.
  dataset skip(std::int64_t count) const;
  /// Elements index, index + num_shards, ...: one of num_shards parts. 0 <= index < num_shards.
  dataset shard(std::int64_t num_shards, std::int64_t index) const;
  /// All elements `count` times; without a count, for ever. A pass without any element ends it.
  dataset repeat(std::optional<std::int64_t> count = {}) const;
  /// In a random order: each element is drawn from the next `buffer_size` ones, which is >= 1. The seed decides the
  /// order; without one it is another on each worker and in each run of the program, so a program that must give the
  /// same results again, and pipelines that processes have to read alike (distribute_dataset), need a seed.
  /// With reshuffle_each_iteration every iterate() on this dataset or one that is made from it, and every pass of a
  /// repeat, has its own order, decided by how many there were before; else all have the first one's.
  dataset shuffle(std::int64_t buffer_size, std::optional<std::uint64_t> seed = {},
                  bool reshuffle_each_iteration = true) const;

  // -- what the elements are ------------------------------------------------------------------------------------------

  /// f(element) for each element. Exceptions of f that are std::exceptions arrive at next() as troupe::error with
  /// "map: element N" in front; their own status is among the causes.
  template <class Function>
  auto map(Function f) const -> dataset<std::decay_t<std::invoke_result_t<Function&, T>>>;
  /// Stacks `batch_size` elements (see stack_structures()), which is >= 1. The last batch is smaller if elements are
  /// left over, or missing with drop_remainder. Elements that do not fit together arrive as invalid_argument_error at
  /// next().
  auto batch(std::int64_t batch_size, bool drop_remainder = false) const -> dataset<stacked_t<T>>;
  /// The rows of each batch, one by one. Batches without rows give none.
  dataset unbatch() const;
  /// The same rows in batches of another size.
  dataset rebatch(std::int64_t batch_size, bool drop_remainder = false) const;

  // -- when they are made ---------------------------------------------------------------------------------------------

  /// Up to `buffer_size` elements are made ahead by a thread of the iterator's own; 0: none. The thread ends with the
  /// iterator, or at its end; dropping the iterator waits for the element in the making. A next() blocks its thread.
  dataset prefetch(std::int64_t buffer_size) const;

 private:
  /// The dataset whose iterators are made from this one's by `make_source`.
  template <class U, class MakeSource>
  dataset<U> transformed(cardinality elements, detail::dataset_recipe recipe, MakeSource make_source) const {
    return dataset<U>{[open = open_, make_source] { return dataset_iterator<U>{make_source(open())}; }, elements,
                      std::move(recipe)};
  }
  /// The recipe of what the transformation makes of this dataset.
  template <auto Transformation, class... Arguments>
  detail::dataset_recipe recipe_of(Arguments... arguments) const {
    return recipe_.template then<function_constant<Transformation>, dataset>(arguments...);
  }

  std::function<dataset_iterator<T>()> open_;
  cardinality elements_;
  detail::dataset_recipe recipe_;
};

namespace detail {

/// The error that is being handled, as one of element `index` of a map.
[[noreturn]] void rethrow_from_map(std::int64_t index);

/// A map, for recipes.
template <class Function>
struct map_again {
  template <class T>
  auto operator()(const dataset<T>& upstream) const {
    return upstream.map(Function{});
  }
};

}  // namespace detail

template <class T>
dataset<T> dataset<T>::take(std::int64_t count) const {
  detail::check_at_least("take", "count", count, 0);
  return transformed<T>(detail::cardinality_of_take(elements_, count), recipe_of<&dataset::take>(count),
                        [count](const dataset_iterator<T>& upstream) {
                          return [upstream, left = count]() mutable -> std::optional<T> {
                            if (left == 0) return {};
                            --left;
                            return upstream.next_or_end();
                          };
                        });
}

template <class T>
dataset<T> dataset<T>::skip(std::int64_t count) const {
  detail::check_at_least("skip", "count", count, 0);
  return transformed<T>(detail::cardinality_of_skip(elements_, count), recipe_of<&dataset::skip>(count),
                        [count](const dataset_iterator<T>& upstream) {
                          return [upstream, left = count]() mutable -> std::optional<T> {
                            while (left > 0) {
                              --left;
                              if (!upstream.next_or_end()) return {};
                            }
                            return upstream.next_or_end();
                          };
                        });
}

template <class T>
dataset<T> dataset<T>::shard(std::int64_t num_shards, std::int64_t index) const {
  detail::check_shard(num_shards, index);
  const auto elements = detail::cardinality_of_shard(elements_, num_shards, index);
  return transformed<T>(elements, recipe_of<&dataset::shard>(num_shards, index),
                        [num_shards, index](const dataset_iterator<T>& upstream) {
                          return [upstream, num_shards, skipped = index]() mutable -> std::optional<T> {
                            while (skipped > 0) {
                              --skipped;
                              if (!upstream.next_or_end()) return {};
                            }
                            skipped = num_shards - 1;
                            return upstream.next_or_end();
                          };
                        });
}

template <class T>
dataset<T> dataset<T>::repeat(std::optional<std::int64_t> count) const {
  if (count) detail::check_at_least("repeat", "count", *count, 0);
  const auto open_pass = [open = open_, count] {
    return [open, left = count, pass = dataset_iterator<T>{}, empty = false]() mutable -> std::optional<T> {
      while (true) {
        if (auto element = pass.next_or_end()) {
          empty = false;
          return element;
        }
        if (empty || left == 0) return {};
        if (left) --*left;
        pass = open();
        empty = true;
      }
    };
  };
  return dataset{[open_pass] { return dataset_iterator<T>{open_pass()}; },
                 detail::cardinality_of_repeat(elements_, count), recipe_of<&dataset::repeat>(count)};
}

template <class T>
dataset<T> dataset<T>::shuffle(std::int64_t buffer_size, std::optional<std::uint64_t> seed,
                               bool reshuffle_each_iteration) const {
  detail::check_at_least("shuffle", "buffer size", buffer_size, 1);
  return transformed<T>(
      elements_, recipe_of<&dataset::shuffle>(buffer_size, seed, reshuffle_each_iteration),
      [buffer_size, seed = seed ? *seed : random_number(), reshuffle_each_iteration,
       passes = std::make_shared<std::atomic<std::uint64_t>>(0)](const dataset_iterator<T>& upstream) {
        const auto pass = reshuffle_each_iteration ? passes->fetch_add(1) : 0;
        return detail::shuffle_buffer<T>{upstream, static_cast<std::size_t>(buffer_size), {seed, pass}};
      });
}

template <class T>
template <class Function>
auto dataset<T>::map(Function f) const -> dataset<std::decay_t<std::invoke_result_t<Function&, T>>> {
  using result = std::decay_t<std::invoke_result_t<Function&, T>>;
  auto recipe = [&] {
    if constexpr (detail::remembered_function<Function>) {
      return recipe_.template then<detail::map_again<Function>, dataset>();
    } else {
      return recipe_.stopped("its map() has a function with captures, or a function pointer");
    }
  }();
  return transformed<result>(elements_, std::move(recipe), [f](const dataset_iterator<T>& upstream) {
    return [upstream, f, count = std::int64_t{0}]() mutable -> std::optional<result> {
      auto element = upstream.next_or_end();
      if (!element) return {};
      const auto index = count++;
      try {
        return std::invoke(f, std::move(*element));
      } catch (const std::exception&) {
        detail::rethrow_from_map(index);
      }
    };
  });
}

template <class T>
auto dataset<T>::batch(std::int64_t batch_size, bool drop_remainder) const -> dataset<stacked_t<T>> {
  detail::check_at_least("batch", "batch size", batch_size, 1);
  const auto batches = detail::cardinality_of_batch(elements_, batch_size, drop_remainder);
  return transformed<stacked_t<T>>(
      batches, recipe_of<&dataset::batch>(batch_size, drop_remainder),
      [batch_size, drop_remainder](const dataset_iterator<T>& upstream) {
        return [upstream, drop_remainder,
                size = static_cast<std::size_t>(batch_size)]() mutable -> std::optional<stacked_t<T>> {
          std::deque<T> elements;  // no vector: one of bool has no elements to refer to
          while (elements.size() < size) {
            auto element = upstream.next_or_end();
            if (!element) break;
            elements.push_back(std::move(*element));
          }
          if (elements.empty() || (drop_remainder && elements.size() < size)) return {};
          return stack_structures(elements);
        };
      });
}

template <class T>
dataset<T> dataset<T>::unbatch() const {
  return transformed<T>(cardinality{}, recipe_of<&dataset::unbatch>(), [](const dataset_iterator<T>& upstream) {
    return [upstream, batch = std::optional<T>{}, next = std::int64_t{0},
            rows = std::int64_t{0}]() mutable -> std::optional<T> {
      while (next == rows) {
        next = rows = 0;
        batch = upstream.next_or_end();
        if (!batch) return {};
        rows = row_count(*batch);
      }
      return row_at(*batch, next++);
    };
  });
}

template <class T>
dataset<T> dataset<T>::rebatch(std::int64_t batch_size, bool drop_remainder) const {
  detail::check_at_least("rebatch", "batch size", batch_size, 1);
  return unbatch().batch(batch_size, drop_remainder);
}

template <class T>
dataset<T> dataset<T>::prefetch(std::int64_t buffer_size) const {
  detail::check_at_least("prefetch", "buffer size", buffer_size, 0);
  if (buffer_size == 0) return *this;
  return transformed<T>(
      elements_, recipe_of<&dataset::prefetch>(buffer_size), [buffer_size](const dataset_iterator<T>& upstream) {
        return [ahead = std::make_shared<detail::prefetcher<T>>(upstream, static_cast<std::size_t>(buffer_size))] {
          return ahead->next();
        };
      });
}

}  // namespace troupe
