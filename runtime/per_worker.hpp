// Values of which each worker has its own: built on the worker by a function, used there by closures, never moved.
//
// A handle stands for "the copy of the worker that runs this closure"; as an argument of `schedule` it becomes that
// copy. When a worker comes back as a new process its copies are built again before any closure uses them (C-4). The
// copies are dropped when the last handle is gone.
//
// Semantics: examples/reference/semantics.md 1.1 (PerWorkerValues, per-worker variables), 2.3.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/runtime/closures/closure_arguments.hpp>

#include <memory>
#include <utility>

namespace troupe {

/// The resource on the workers; released with the last handle. The coordinator is asked, if it still lives.
class per_worker_resource {
 public:
  per_worker_resource(resource_id id, coordinator_ptr coordinator) : id_(id), coordinator_(std::move(coordinator)) {}
  ~per_worker_resource();
  per_worker_resource(const per_worker_resource&) = delete;
  resource_id id() const { return id_; }

 private:
  resource_id id_;
  coordinator_ptr coordinator_;
};

/// One T per worker. Only `cluster_coordinator` makes them.
template <class T>
class per_worker_values {
 public:
  using value_type = T;
  explicit per_worker_values(std::shared_ptr<per_worker_resource> resource) : resource_(std::move(resource)) {}
  const std::shared_ptr<per_worker_resource>& resource() const { return resource_; }

 private:
  std::shared_ptr<per_worker_resource> resource_;
};

/// A variable of which each worker has an unsynchronised copy. As an argument of a closure it is that worker's cell.
template <class T>
class worker_cell {
 public:
  worker_cell() = default;
  explicit worker_cell(T initial) : content_(std::make_shared<T>(std::move(initial))) {}
  T read() const { return *content_; }
  void assign(T x) const { *content_ = std::move(x); }
  void assign_add(const T& x) const { *content_ = *content_ + x; }
  void assign_sub(const T& x) const { *content_ = *content_ - x; }

 private:
  std::shared_ptr<T> content_;
};

namespace detail {

template <class T>
struct argument<per_worker_values<T>> {
  using stored = deferred<T>;
  static stored store(const per_worker_values<T>& x, std::vector<closure_input>& inputs) {
    inputs.push_back({.resource = x.resource()->id(), .owner = x.resource()});
    return {static_cast<std::uint32_t>(inputs.size() - 1)};
  }
};

}  // namespace detail

}  // namespace troupe
