// Values of which each replica has its own: what a distributed dataset yields, what `run` returns, what it takes.
//
//   per_replica<T>   a T for each replica, unsynchronised       from datasets, `run`, merge_call's arguments
//   mirrored<T>      a T for each replica, all of them equal    from reduce_to, broadcast_to, update
//
// Element i belongs to replica i of this process. Inside a replica's function an argument of these types has already
// become that replica's T. Copies share the elements; elements are never changed.
//
// A per_replica does not convert to T: which replica's value would it be? Reduce it first, or look at the local
// results. Semantics: examples/reference/semantics.md 1.2.
#pragma once

#include <troupe/device/base/error.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// The common part; only its subclasses are made.
template <class T>
class distributed_values {
 public:
  using value_type = T;

  /// How many replicas of this process have a value.
  std::size_t size() const noexcept { return elements_->size(); }
  /// @throws out_of_range_error
  const T& operator[](std::size_t replica) const {
    if (replica >= size())
      throw out_of_range_error{"there is no value of replica " + std::to_string(replica) + "; this process has " +
                               std::to_string(size()) + " replicas"};
    return (*elements_)[replica].content;
  }

 protected:
  /// At least one value. @throws invalid_argument_error otherwise
  explicit distributed_values(std::vector<T> values) {
    if (values.empty()) throw invalid_argument_error{"distributed values need a value for at least one replica"};
    auto elements = std::make_shared<std::vector<element_of_replica>>();
    elements->reserve(values.size());
    for (auto&& each : values) elements->push_back({T(std::move(each))});
    elements_ = std::move(elements);
  }

 private:
  struct element_of_replica {  // makes a vector<bool> a vector like any other
    T content;
  };
  std::shared_ptr<const std::vector<element_of_replica>> elements_;
};

template <class T>
class per_replica : public distributed_values<T> {
 public:
  explicit per_replica(std::vector<T> values) : distributed_values<T>(std::move(values)) {}
};

template <class T>
class mirrored : public distributed_values<T> {
 public:
  explicit mirrored(std::vector<T> values) : distributed_values<T>(std::move(values)) {}
  /// The value: all replicas have the same.
  const T& get() const { return (*this)[0]; }
  operator const T&() const { return get(); }  // NOLINT(google-explicit-constructor): a mirrored value is a value
};

}  // namespace troupe
