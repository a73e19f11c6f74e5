// A place in a dataset, from which elements are taken one by one.
//
// Copies are handles on one position: all closures of a worker that were given an iterator advance it together. An
// iterator that has ended stays ended, whatever its source would say, and lets go of everything that it read from.
// Iterators belong to the process that opened them; they are never sent. One thread at a time.
#pragma once

#include <troupe/device/base/error.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace troupe {

template <class T>
class dataset_iterator {
 public:
  using value_type = T;

  /// At the end.
  dataset_iterator() = default;
  /// `source` gives the next element at each call, and nothing at the end.
  explicit dataset_iterator(std::function<std::optional<T>()> source)
      : source_(std::make_shared<std::function<std::optional<T>()>>(std::move(source))) {}

  /// The next element, or nothing at the end. Throws what the dataset's functions throw; the call after that goes on
  /// behind the element that failed.
  std::optional<T> next_or_end() const {
    if (!source_ || !*source_) return {};
    auto element = (*source_)();
    if (!element) *source_ = nullptr;
    return element;
  }
  /// The same, but the end is an out_of_range_error.
  T next() const {
    if (auto element = next_or_end()) return std::move(*element);
    throw out_of_range_error{"the dataset has no more elements"};
  }

 private:
  std::shared_ptr<std::function<std::optional<T>()>> source_;
};

}  // namespace troupe
