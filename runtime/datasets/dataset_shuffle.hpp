// The random order of a dataset, within a window of elements.
//
// A buffer is kept full; each draw takes a random element of it. A buffer as large as the dataset gives every order
// with (nearly) equal chance; a smaller one bounds the memory, and how far an element can come early. Only the engine
// and its seeding are specified bit for bit by the standard, not its distributions, so the order is made from those
// alone and is the same for one seed on every machine.
#pragma once

#include <troupe/runtime/datasets/dataset_iterator.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

namespace troupe::detail {

/// Random numbers for pass `pass` over a dataset. Copies draw from one sequence.
class random_indices {
 public:
  random_indices(std::uint64_t seed, std::uint64_t pass);
  /// 0 to limit - 1; small values are preferred by less than limit / 2^64, which nobody can see.
  std::size_t below(std::size_t limit);

 private:
  struct engine;
  std::shared_ptr<engine> engine_;
};

template <class T>
class shuffle_buffer {
 public:
  shuffle_buffer(dataset_iterator<T> upstream, std::size_t capacity, random_indices order)
      : upstream_(std::move(upstream)), capacity_(capacity), order_(std::move(order)) {}

  std::optional<T> operator()() {
    while (buffer_.size() < capacity_) {
      auto element = upstream_.next_or_end();
      if (!element) break;
      buffer_.push_back(std::move(*element));
    }
    if (buffer_.empty()) return {};
    std::swap(buffer_[order_.below(buffer_.size())], buffer_.back());
    auto chosen = std::move(buffer_.back());
    buffer_.pop_back();
    return chosen;
  }

 private:
  dataset_iterator<T> upstream_;
  std::size_t capacity_;
  random_indices order_;
  std::deque<T> buffer_;  // no vector: one of bool has no elements to swap
};

}  // namespace troupe::detail
