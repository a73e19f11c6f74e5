// What a function that strategy.run() calls for each replica can ask: which replica am I, and what do the others have?
//
// A context is good for calls only inside the function that run() was given, on the replica it was made for; used
// anywhere else (inside a merge function, after the run, from another thread) its operations throw
// failed_precondition_error. Outside of any strategy there is the default strategy's: replica 0 of 1.
//
// All replicas must call the same merge_call, all_reduce and all_gather in the same order. One that does not is found:
// everybody who waits gets failed_precondition_error that names it. A replica that throws, or whose actor is lost, ends
// the waits of the others with aborted_error that names it.
// Semantics: examples/reference/semantics.md 1.3, 4, 5.2.
#pragma once

#include <troupe/actors/values/internal/type_name.hpp>
#include <troupe/actors/variables/variable_operations.hpp>
#include <troupe/device/collectives/indexed_slices.hpp>
#include <troupe/runtime/distributed_variable.hpp>
#include <troupe/runtime/replicas/regroup.hpp>
#include <troupe/runtime/replicas/tensor_leaves.hpp>
#include <troupe/runtime/strategy.hpp>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe {

/// What start_all_reduce() gives: a reduction that may go on while the replica computes. Left without get(), it ends
/// all the same.
template <class Nest>
class started_reduction {
 public:
  started_reduction(started_reduction&&) noexcept = default;
  started_reduction& operator=(started_reduction&&) noexcept = default;

  /// What all_reduce() returns, when it is there. Once, in the replica that has started it. @throws as all_reduce();
  /// failed_precondition_error the second time.
  Nest get();

 private:
  friend class replica_context;
  started_reduction(Nest structure, std::vector<indexed_slices> sparse, std::shared_ptr<started_tensors> tensors)
      : structure_(std::move(structure)), sparse_(std::move(sparse)), tensors_(std::move(tensors)) {}

  Nest structure_;
  std::vector<indexed_slices> sparse_;
  /// Null if there is nothing to wait for.
  std::shared_ptr<started_tensors> tensors_;
  bool is_given_ = false;
};

class replica_context {
 public:
  /// Of the running function, or the default strategy's. @throws failed_precondition_error in cross-replica context.
  static replica_context current();

  /// From 0; counts over all processes of the strategy.
  int replica_id_in_sync_group() const { return strategy_->settings().first_replica + replica_; }
  int num_replicas_in_sync() const { return strategy_->settings().num_replicas_in_sync; }
  troupe::strategy strategy() const;
  /// The devices of this replica: one.
  std::vector<std::string> devices() const;

  /// Waits until all replicas of this process have called it with the same function, calls
  /// `function(strategy, arguments...)` once in cross-replica context with the regrouped arguments, and returns this
  /// replica's part of its result. Functions are the same if they are the same function pointer, or of the same type.
  /// @throws failed_precondition_error, aborted_error as described above; deadline_exceeded_error.
  template <class F, class... Args>
  auto merge_call(F function, Args... arguments) const;

  /// The reduction over all replicas, on each of them: of a tensor, a number, a sparse value, or a structure of them.
  /// Tensors of a structure travel together. Sparse values are concatenated in the order of replicas; their mean
  /// divides by the number of replicas. @throws invalid_argument_error for different shapes, for the mean of integers.
  template <class Nest>
  Nest all_reduce(reduce_op op, const Nest& value, const communication_options& options = {}) const;

  /// The same, but returns as soon as all replicas have come to it, where their group works on devices: those go on
  /// with other work meanwhile, such as the rest of a backward pass, whose gradients follow. Anywhere else, and for
  /// sparse values, it is over when it returns. The limit counts until get(). All replicas do the same.
  template <class Nest>
  started_reduction<Nest> start_all_reduce(reduce_op op, const Nest& value,
                                           const communication_options& options = {}) const;

  /// All replicas' tensors one after another along the axis; their sizes on it may differ. Sparse values along axis 0.
  /// @throws invalid_argument_error for rank 0 or other differences; unimplemented_error for another axis of sparse
  /// values.
  template <class Nest>
  Nest all_gather(const Nest& value, int axis, const communication_options& options = {}) const;

  /// Calls `function(component, arguments...)` for this replica's copy of the variable, in update context. The caller
  /// makes sure that all replicas do the same with equal arguments; nothing is compared. A copy that replicas share is
  /// updated once, in a merge_call.
  template <class F, class... Args>
  auto update(const distributed_variable& variable, F function, Args... arguments) const;

 private:
  replica_context(std::shared_ptr<strategy_state> of, int replica, lock_step_id step)
      : strategy_(std::move(of)), replica_(replica), step_(step) {}

  /// @throws failed_precondition_error unless this is the current context.
  void check_current(std::string_view what) const;

  std::shared_ptr<strategy_state> strategy_;
  int replica_;
  lock_step_id step_;
};

namespace detail {

template <class F>
inline constexpr char merge_identity_of_type = 0;

/// Differs for different functions, and only for those.
template <class F>
const void* merge_identity(const F& function) {
  if constexpr (std::is_pointer_v<F>) {
    return reinterpret_cast<const void*>(function);
  } else {
    return &merge_identity_of_type<F>;
  }
}

}  // namespace detail

// --- implementation -------------------------------------------------------------------------------------------------

template <class F, class... Args>
auto replica_context::merge_call(F function, Args... arguments) const {
  using brought_type = std::tuple<Args...>;
  using merged = std::decay_t<std::invoke_result_t<F&, troupe::strategy&, regrouped_t<Args>...>>;
  check_current("merge_call");
  auto arrival = std::make_shared<merge_arrival>();
  arrival->function = detail::merge_identity(function);
  arrival->function_name = type_name<F>;
  arrival->arguments = std::make_shared<brought_type>(std::move(arguments)...);
  arrival->arguments_type = type_name<brought_type>;
  arrival->merge = [state = strategy_, client = using_client::current(),
                    deadline = execution_context::earliest_deadline(),
                    function = std::move(function)](const std::vector<erased>& all) mutable {
    const using_client variables{client};
    const context_scope across{{context_kind::cross_replica, state, 0, nullptr, deadline}};
    std::vector<brought_type*> brought;
    brought.reserve(all.size());
    for (const auto& each : all) brought.push_back(static_cast<brought_type*>(each.get()));
    auto grouped = regroup<brought_type>(brought);
    troupe::strategy here{state};
    std::vector<erased> parts(all.size());
    if constexpr (std::is_void_v<merged>) {
      std::apply([&](auto&... each) { function(here, each...); }, grouped);
    } else {
      const auto result = std::apply([&](auto&... each) { return merged(function(here, each...)); }, grouped);
      for (auto i = std::size_t{0}; i < parts.size(); ++i)
        parts[i] = std::make_shared<sliced_t<merged>>(slice(result, i));
    }
    return parts;
  };
  const auto part = strategy_->merge(std::move(arrival));
  if constexpr (!std::is_void_v<merged>) return sliced_t<merged>(*std::static_pointer_cast<sliced_t<merged>>(part));
}

template <class Nest>
Nest replica_context::all_reduce(reduce_op op, const Nest& value, const communication_options& options) const {
  if constexpr (!all_leaves_are<Nest, is_reducible_leaf>) {
    detail::refuse_to_reduce<failing_leaf_t<Nest, is_reducible_leaf>>();
  } else {
    return start_all_reduce(op, value, options).get();
  }
}

template <class Nest>
started_reduction<Nest> replica_context::start_all_reduce(reduce_op op, const Nest& value,
                                                          const communication_options& options) const {
  if constexpr (!all_leaves_are<Nest, is_reducible_leaf>) {
    detail::refuse_to_reduce<failing_leaf_t<Nest, is_reducible_leaf>>();
  } else {
    check_current("all_reduce");
    auto leaves = leaves_of(value);
    for (auto& each : leaves.sparse) each = strategy_->all_reduce(each, op, options);
    const auto begins = !leaves.tensors.empty() || leaves.sparse.empty();
    return {value, std::move(leaves.sparse),
            begins ? strategy_->start_all_reduce(std::move(leaves.tensors), op, options) : nullptr};
  }
}

template <class Nest>
Nest started_reduction<Nest>::get() {
  if (std::exchange(is_given_, true))
    throw failed_precondition_error{"this reduction's result was given before; keep what get() has returned"};
  auto tensors = tensors_ ? strategy_state::wait_for(*tensors_) : leaves_of(structure_).tensors;
  tensors_ = nullptr;
  return with_leaves(structure_, {std::move(tensors), std::move(sparse_)});
}

template <class Nest>
Nest replica_context::all_gather(const Nest& value, int axis, const communication_options& options) const {
  if constexpr (!all_leaves_are<Nest, is_gatherable_leaf>) {
    detail::refuse_to_gather<failing_leaf_t<Nest, is_gatherable_leaf>>();
  } else {
    check_current("all_gather");
    return map_leaves(value, [&](const auto& leaf) { return strategy_->all_gather(leaf, axis, options); });
  }
}

template <class F, class... Args>
auto replica_context::update(const distributed_variable& variable, F function, Args... arguments) const {
  check_current("update");
  auto update_copy = [=, state = strategy_](int replica) mutable {
    const context_scope updating{{context_kind::update, state, replica, nullptr}};
    return function(variable_component{variable.state(), variable.state()->copy_of(replica)}, arguments...);
  };
  const auto shared = variable.state()->copies() < static_cast<std::size_t>(strategy_->local_replicas());
  if (!shared) return update_copy(replica_);
  return merge_call([update_copy](troupe::strategy&) mutable { return update_copy(0); });
}

}  // namespace troupe
