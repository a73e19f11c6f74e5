// A strategy: how a function runs on many replicas at once, and how their values come together.
//
//   mirrored_strategy strategy{{"CPU:0", "CPU:1"}};                   // mirrored_strategy.hpp lists the others
//   auto ids = strategy.run([] { return replica_context::current().replica_id_in_sync_group(); });   // 0, 1
//   auto sum = strategy.reduce(reduce_op::sum, ids);                                                 // 1
//
// `strategy` is what all of them have in common: a handle whose copies are one strategy. Its operations belong to
// cross-replica context, or to no context; in a replica context they throw failed_precondition_error that says what to
// call instead. Runs of several threads take turns.
// Semantics: examples/reference/semantics.md 1.3, 3.3, 3.5.
#pragma once

#include <troupe/actors/functions/lossless.hpp>
#include <troupe/runtime/distributed_dataset.hpp>
#include <troupe/runtime/distributed_variable.hpp>
#include <troupe/runtime/replicas/distributed_values.hpp>
#include <troupe/runtime/replicas/regroup.hpp>
#include <troupe/runtime/replicas/strategy_state.hpp>
#include <troupe/runtime/replicas/tensor_leaves.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

class strategy_extended;

/// What the function of distribute_values_from_function is told.
struct value_context {
  int replica_id_in_sync_group = 0;
  int num_replicas_in_sync = 1;
};

class strategy {
 public:
  explicit strategy(std::shared_ptr<strategy_state> state) : state_(std::move(state)) {}

  /// Enters cross-replica context until the returned object is gone: variables made there are this strategy's.
  /// @throws failed_precondition_error inside another strategy's context, or in a replica context.
  [[nodiscard]] context_scope scope() const { return context_scope{state_->enter_scope()}; }

  /// Calls the function once for each replica of this process, all at the same time, each with its own part of
  /// distributed arguments, and regroups what they return (regroup.hpp): a T comes back as per_replica<T>, a struct
  /// too, and a container as the same container of per_replica values.
  /// @throws what the first replica that failed threw; deadline_exceeded_error after the strategy's step limit.
  template <class F, class... Args>
  auto run(F function, Args... arguments) const;

  /// The reduction over all replicas of a per_replica value, a mirrored one, a plain one
  /// (examples/reference/semantics.md 3.3), or a structure of them; of tensors, numbers, sparse values (which stay
  /// sparse, as all_reduce leaves them) and structures of these, such as a struct of metrics. With axes each replica's
  /// tensor is reduced along these, too; a mean is then that of all elements, so an uneven last batch counts rightly.
  /// Means divide: those of integer tensors are float32, added up in float64. The half types are added up in float32
  /// and rounded once; integer sums wrap around.
  /// @throws invalid_argument_error: sum of a value that is not per replica, mean of plain integers, ops other than sum
  /// and mean, replicas with different structures, sparse values with axes; out_of_range_error: axes that don't exist.
  template <class V>
  sliced_t<V> reduce(reduce_op op, const V& value, const std::optional<reduction_axes>& axes = std::nullopt) const;
  /// The same with "sum", "MEAN".
  template <class V>
  sliced_t<V> reduce(std::string_view op, const V& value,
                     const std::optional<reduction_axes>& axes = std::nullopt) const {
    return reduce(reduce_op_from_string(op), value, axes);
  }

  /// All replicas' tensors one after another along the axis, of each leaf of a structure; sparse values along axis 0.
  /// What is not distributed comes back unchanged.
  /// @throws invalid_argument_error for rank 0, or shapes that differ elsewhere; out_of_range_error for the axis;
  /// unimplemented_error for sparse values along another one.
  template <class V>
  sliced_t<V> gather(const V& value, int axis) const;

  /// One element for each replica of this process; a single one for what is not distributed. Structures become
  /// one structure for each replica.
  template <class V>
  std::vector<sliced_t<V>> local_results(const V& value) const;
  std::vector<variable_component> local_results(const distributed_variable& variable) const {
    return variable.components();
  }

  /// Calls the function once for each replica of this process.
  template <class F>
  auto distribute_values_from_function(F function) const;

  /// Each element of the dataset is a global batch, which is split over all replicas in sync; see
  /// distributed_dataset.hpp. @throws what input_options::check throws.
  template <class T>
  distributed_dataset<T> distribute_dataset(const dataset<T>& global_batches, const input_options& options = {}) const;
  /// Calls `function(input_context)` once for this process; it returns a dataset of batches for single replicas.
  template <class F>
  auto distribute_datasets_from_function(F function, const input_options& options = {}) const;

  int num_replicas_in_sync() const { return state_->settings().num_replicas_in_sync; }

  /// A variable of this strategy, with a copy on each of its parameter devices. Inside run() all replicas must make the
  /// same variables in the same order; they get the same one, with replica 0's initial value.
  /// @throws already_exists_error for a name that is taken; invalid_argument_error when replicas differ.
  distributed_variable variable(std::string name, const tensor& initial, variable_options options = {}) const;
  template <tensor_element T>
  distributed_variable variable(std::string name, T initial, variable_options options = {}) const {
    return variable(std::move(name), tensor::scalar(initial), options);
  }
  /// All that exist, in the order of their creation.
  std::vector<distributed_variable> variables() const;

  strategy_extended extended() const;

  /// A strategy like this one over its other devices, for when one has failed or hangs. Variables belong to the
  /// strategy that made them: make them anew with what a copy on another device has (local_results), or from a
  /// checkpoint. This strategy stays as it is; let go of it.
  /// @throws invalid_argument_error for a device that is none of this strategy's; failed_precondition_error for its
  /// only one, and for that on which a central_storage_strategy keeps its variables; unimplemented_error for a
  /// multi_worker_mirrored_strategy, whose processes all have as many devices: rebuild() the process_group, then make a
  /// new one in each.
  strategy without(const std::string& device) const;

  const std::shared_ptr<strategy_state>& state() const { return state_; }
  bool operator==(const strategy&) const = default;

 protected:
  std::shared_ptr<strategy_state> state_;

 private:
  input_context input() const;
};

/// The strategy whose context this is, or the default strategy.
strategy get_strategy();
/// False while only the default strategy is there.
bool has_strategy();
/// True inside scope() and in merge functions.
bool in_cross_replica_context();

// --- implementation -------------------------------------------------------------------------------------------------

template <class F, class... Args>
auto strategy::run(F function, Args... arguments) const {
  detail::refuse_lost_fraction<detail::any_loses_fraction<typename detail::signature_of<F>::type, sliced_t<Args>...>>();
  using result = std::decay_t<std::invoke_result_t<F&, sliced_t<Args>...>>;
  const auto shared = std::make_shared<std::tuple<Args...>>(std::move(arguments)...);
  auto results = state_->run([function = std::move(function), shared](int replica) -> erased {
    const auto call = [&](const auto&... each) {
      auto mine = function;
      return mine(slice(each, static_cast<std::size_t>(replica))...);
    };
    if constexpr (std::is_void_v<result>) {
      std::apply(call, *shared);
      return nullptr;
    } else {
      return std::make_shared<result>(std::apply(call, *shared));
    }
  });
  if constexpr (!std::is_void_v<result>) {
    std::vector<result*> values;
    values.reserve(results.size());
    for (const auto& each : results) values.push_back(static_cast<result*>(each.get()));
    return regroup<result>(values);
  }
}

namespace detail {

template <class V>
struct is_per_replica : std::false_type {};
template <class T>
struct is_per_replica<per_replica<T>> : std::true_type {};

template <class V>
struct is_mirrored : std::false_type {};
template <class T>
struct is_mirrored<mirrored<T>> : std::true_type {};

/// Whether something in the structure is distributed.
template <class V>
inline constexpr bool is_distributed = !std::is_same_v<V, sliced_t<V>>;

/// What gather() can do nothing about. What is not distributed passes through unchanged, whatever it is.
template <class Leaf>
struct ungatherable_leaf : std::type_identity<void> {};
template <class T>
struct ungatherable_leaf<per_replica<T>> : std::type_identity<failing_leaf_t<T, is_gatherable_leaf>> {};
template <class Leaf>
struct is_all_gatherable : std::is_void<typename ungatherable_leaf<Leaf>::type> {};

/// `f(values)` for each leaf of what the replicas have, with all replicas' values of it in a vector of tensors or
/// indexed_slices; the results, of the same kind, take the leaves' places.
template <class T, class F>
T combine_replicas(const per_replica<T>& value, F f) {
  std::vector<const T*> replicas;
  replicas.reserve(value.size());
  for (auto i = std::size_t{0}; i < value.size(); ++i) replicas.push_back(&value[i]);
  const auto combine = [&]<class Leaf>(std::span<const Leaf* const> leaves) -> Leaf {
    using carrier = std::conditional_t<std::is_same_v<Leaf, indexed_slices>, indexed_slices, tensor>;
    std::vector<carrier> values;
    values.reserve(leaves.size());
    for (const auto* each : leaves) {
      if constexpr (std::is_same_v<Leaf, indexed_slices>) {
        values.push_back(*each);
      } else {
        values.push_back(to_tensor(*each));
      }
    }
    if constexpr (std::is_same_v<Leaf, indexed_slices>) {
      return f(std::type_identity<Leaf>{}, std::span<const carrier>{values});
    } else {
      return from_tensor<Leaf>(f(std::type_identity<Leaf>{}, std::span<const carrier>{values}));
    }
  };
  return merge_leaves(std::span<const T* const>{replicas}, combine, "replica");
}

void check_reduce_op(reduce_op op);
[[noreturn]] void throw_ambiguous_sum();
[[noreturn]] void throw_integer_mean();
/// Whether all elements are zero.
bool is_zero(const tensor& x);

[[noreturn]] void throw_sparse_axes();

/// A leaf that all replicas have alike: its mean is itself, the sum of zeros is zero, other sums are ambiguous.
template <class T>
T reduce_alike(reduce_op op, const T& value, int replicas, const std::optional<reduction_axes>& axes) {
  if constexpr (std::is_same_v<T, indexed_slices>) {
    if (axes) throw_sparse_axes();
    if (op == reduce_op::sum && replicas > 1 && !is_zero(value.values)) throw_ambiguous_sum();
    return value;
  } else {
    auto x = to_tensor(value);
    if (axes) x = op == reduce_op::mean ? reduce_mean(x, *axes) : reduce_sum(x, *axes);
    if (op == reduce_op::sum && replicas > 1 && !is_zero(x)) throw_ambiguous_sum();
    return from_tensor<T>(std::move(x));
  }
}

/// The same leaf of all replicas, which are T.
template <class T, class Carrier>
Carrier reduce_leaf(strategy_state& state, reduce_op op, std::span<const Carrier> values,
                    const std::optional<reduction_axes>& axes) {
  if constexpr (std::is_integral_v<T>)
    if (op == reduce_op::mean) throw_integer_mean();
  if constexpr (std::is_same_v<T, indexed_slices>) {
    if (axes) throw_sparse_axes();
    return state.reduce(op, values);
  } else {
    return axes ? state.reduce(op, values, *axes) : state.reduce(op, values);
  }
}

}  // namespace detail

template <class V>
sliced_t<V> strategy::reduce(reduce_op op, const V& value, const std::optional<reduction_axes>& axes) const {
  if constexpr (!all_leaves_are<sliced_t<V>, is_reducible_leaf>) {
    detail::refuse_to_reduce<failing_leaf_t<sliced_t<V>, is_reducible_leaf>>();
  } else {
    state_->check_cross_replica("reduce()", "use replica_context::all_reduce there");
    detail::check_reduce_op(op);
    const auto alike = [&](const auto& each) { return detail::reduce_alike(op, each, num_replicas_in_sync(), axes); };
    return map_leaves(value, [&]<class L>(const L& leaf) -> sliced_t<L> {
      if constexpr (detail::is_per_replica<L>::value) {
        return detail::combine_replicas(leaf, [&]<class T>(std::type_identity<T>, const auto& values) {
          return detail::reduce_leaf<T>(*state_, op, values, axes);
        });
      } else if constexpr (detail::is_mirrored<L>::value) {
        return map_leaves(leaf.get(), alike);
      } else {
        return alike(leaf);
      }
    });
  }
}

template <class V>
sliced_t<V> strategy::gather(const V& value, int axis) const {
  if constexpr (!all_leaves_are<V, detail::is_all_gatherable>) {
    using distributed = failing_leaf_t<V, detail::is_all_gatherable>;
    detail::refuse_to_gather<typename detail::ungatherable_leaf<distributed>::type>();
  } else {
    state_->check_cross_replica("gather()", "use replica_context::all_gather there");
    return map_leaves(value, [&]<class L>(const L& leaf) -> sliced_t<L> {
      if constexpr (detail::is_per_replica<L>::value) {
        return detail::combine_replicas(leaf, [&](auto, const auto& values) { return state_->gather(values, axis); });
      } else if constexpr (detail::is_mirrored<L>::value) {
        return leaf.get();
      } else {
        return leaf;
      }
    });
  }
}

template <class V>
std::vector<sliced_t<V>> strategy::local_results(const V& value) const {
  const auto count = detail::is_distributed<V> ? static_cast<std::size_t>(state_->local_replicas()) : 1;
  std::vector<sliced_t<V>> results;
  results.reserve(count);
  for (auto i = std::size_t{0}; i < count; ++i) results.push_back(slice(value, i));
  return results;
}

template <class F>
auto strategy::distribute_values_from_function(F function) const {
  state_->check_cross_replica("distribute_values_from_function()", "call it before run()");
  using result = std::decay_t<std::invoke_result_t<F&, const value_context&>>;
  std::vector<result> values;
  for (auto i = 0; i < state_->local_replicas(); ++i)
    values.push_back(function(value_context{state_->settings().first_replica + i, num_replicas_in_sync()}));
  return per_replica<result>{std::move(values)};
}

template <class T>
distributed_dataset<T> strategy::distribute_dataset(const dataset<T>& global_batches,
                                                    const input_options& options) const {
  state_->check_cross_replica("distribute_dataset()", "call it before run()");
  return troupe::distribute_dataset(global_batches, state_->settings().worker_devices, input(), options);
}

template <class F>
auto strategy::distribute_datasets_from_function(F function, const input_options& options) const {
  state_->check_cross_replica("distribute_datasets_from_function()", "call it before run()");
  return troupe::distribute_datasets_from_function(std::move(function), state_->settings().worker_devices, input(),
                                                   options);
}

}  // namespace troupe
