// What libraries that are aware of distribution use: optimizers, metrics, training loops. The names are TensorFlow's
// (tf.distribute.StrategyExtended).
//
// All of it belongs to cross-replica context (a merge function, or strategy.scope()), where not said otherwise: in a
// replica context, failed_precondition_error says so. Destinations of a reduction are a device's name, a variable, or
// the value itself (an all-reduce); the result is mirrored over them.
// Semantics: examples/reference/semantics.md 1.4 with the decisions of 5.1.
#pragma once

#include <troupe/actors/values/structure.hpp>
#include <troupe/runtime/dataset_sources.hpp>
#include <troupe/runtime/multi_step_context.hpp>
#include <troupe/runtime/replicas/colocation.hpp>
#include <troupe/runtime/strategy.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Where a reduction's or broadcast's result goes: so many copies on these devices.
class destinations {
 public:
  /// @throws invalid_argument_error for a name that is no device.
  destinations(const std::string& device);                                 // NOLINT(google-explicit-constructor)
  destinations(const char* device) : destinations(std::string{device}) {}  // NOLINT(google-explicit-constructor)
  destinations(const distributed_variable& variable)
      : devices_(variable.devices()) {}  // NOLINT(google-explicit-constructor)
  /// @throws invalid_argument_error for no device at all.
  explicit destinations(std::vector<std::string> devices);

  const std::vector<std::string>& devices() const { return devices_; }

 private:
  std::vector<std::string> devices_;
};

/// Whether update() gathers its functions' results into one mirrored value, or gives a list with one for each copy.
enum class grouping : std::uint8_t { grouped, ungrouped };

namespace detail {

void check_iterations(int iterations);
[[noreturn]] void throw_no_reduction();

/// Lists become one element with a new first axis, as arrays do that are made of a list.
template <class Nest>
auto stacked_lists(const Nest& structure) {
  return map_leaves<whole_lists>(structure, []<class Leaf>(const Leaf& leaf) {
    if constexpr (kind_of<Leaf> == structure_kind::vector) {
      return stack_structures(leaf);
    } else {
      return leaf;
    }
  });
}

template <class Leaf>
struct is_not_per_replica : std::bool_constant<!is_per_replica<Leaf>::value> {};

template <class T>
inline constexpr bool holds_per_replica = !all_leaves_are<T, is_not_per_replica, whole_structs>;

}  // namespace detail

class strategy_extended {
 public:
  explicit strategy_extended(strategy of) : strategy_(std::move(of)) {}

  // --- running ---

  /// strategy::run.
  template <class F, class... Args>
  auto call_for_each_replica(F function, Args... arguments) const {
    return strategy_.run(std::move(function), std::move(arguments)...);
  }

  /// Calls `function(multi_step_context&, inputs)` in cross-replica context `iterations` times, each time with the next
  /// of the iterator. @throws out_of_range_error when the iterator ends before; invalid_argument_error for a negative
  /// number of iterations.
  template <class F, class T>
  multi_step_context run_steps_on_iterator(F function, const dataset_iterator<T>& iterator, int iterations = 1,
                                           multi_step_context::values initial_loop_values = {}) const;

  // --- reducing and broadcasting ---

  /// The sum or mean over replicas, mirrored over the destinations: of what strategy::reduce takes, structures and
  /// sparse values too. Assigns nothing.
  /// @throws invalid_argument_error as strategy::reduce does, and for shapes that differ.
  template <class T>
  mirrored<T> reduce_to(reduce_op op, const per_replica<T>& value, const destinations& to,
                        const communication_options& options = {}) const;
  /// The destination is the value itself: an all-reduce.
  template <class T>
  mirrored<T> reduce_to(reduce_op op, const per_replica<T>& value, const per_replica<T>& to,
                        const communication_options& options = {}) const;
  /// A value that all replicas have alike; examples/reference/semantics.md 3.3.
  template <class T>
  mirrored<T> reduce_to(reduce_op op, const mirrored<T>& value, const destinations& to,
                        const communication_options& options = {}) const;
  /// Aggregations map to reductions; only_first_replica takes replica 0's value. @throws invalid_argument_error for
  /// none
  template <class T>
  mirrored<T> reduce_to(variable_aggregation aggregation, const per_replica<T>& value, const destinations& to,
                        const communication_options& options = {}) const;
  /// A reduction for each pair, in their order.
  template <class T>
  std::vector<mirrored<T>> batch_reduce_to(reduce_op op,
                                           const std::vector<std::pair<per_replica<T>, destinations>>& pairs,
                                           const communication_options& options = {}) const;
  /// The value on each of the destinations.
  template <class T>
  mirrored<T> broadcast_to(const T& value, const destinations& to) const;

  // --- updating variables ---

  /// Calls `function(component, arguments...)` for each copy of the variable, in update context; mirrored arguments
  /// become that copy's, per-replica ones are refused when compiling. Gives a mirrored value of the results, or with
  /// grouping::ungrouped a vector with one for each copy.
  template <grouping Group = grouping::grouped, class F, class... Args>
  auto update(const distributed_variable& variable, F function, const Args&... arguments) const;
  /// The same for each of the devices that non_slot_devices gave; the function gets the arguments only.
  template <grouping Group = grouping::grouped, class F, class... Args>
  auto update_non_slot(const std::vector<std::string>& devices, F function, const Args&... arguments) const;

  /// Devices for variables that belong to no variable in particular: all parameter devices; of the default strategy
  /// those of the variable with the smallest name. @throws invalid_argument_error there for an empty list.
  std::vector<std::string> non_slot_devices(std::span<const distributed_variable> variables) const;
  /// New variables go where this one is, until the returned object is gone.
  /// Only variables that are synchronised on read keep a copy on each replica's device.
  /// @throws invalid_argument_error for a variable of another strategy, and for devices that are neither one nor those
  /// of all replicas; failed_precondition_error outside of the scope.
  [[nodiscard]] colocation colocate_vars_with(const distributed_variable& variable) const;
  [[nodiscard]] colocation colocate_vars_with(const std::vector<std::string>& devices) const;

  // --- variables and containers; any context ---

  /// The aggregate of a variable that is synchronised on read, or a copy of any other's value.
  tensor read_var(const distributed_variable& variable) const;
  /// The variable that a component belongs to; anything else is its own container.
  distributed_variable value_container(const variable_component& component) const;
  template <class T>
  T value_container(T value) const {
    return value;
  }
  bool variable_created_in_scope(const distributed_variable& variable) const;

  // --- input ---

  /// A dataset whose elements are the slices of the tensors along axis 0; the tensors of a list are stacked first. The
  /// seed calls it make_numpy_dataset.
  template <class Nest>
  auto make_host_dataset(const Nest& tensors) const {
    return from_tensor_slices(detail::stacked_lists(tensors));
  }

  // --- attributes ---

  /// One for each replica of this process.
  const std::vector<std::string>& worker_devices() const { return settings().worker_devices; }
  /// Where variables lie. @throws failed_precondition_error for the default strategy, which has none of its own.
  const std::vector<std::string>& parameter_devices() const;
  /// Who carries the replicas' tensors: "threads in shared memory, 4 replicas on CPU:0..3; between processes TCP,
  /// 2 ranks on 2 hosts". A new strategy writes this to the program's log, if the program has one: run() and
  /// run_group() make one, other programs a spdlog logger named "troupe".
  std::string communicator_description() const { return settings().plan.describe(); }
  /// Whether each process runs a program of its own for its replicas.
  bool between_graph() const { return settings().between_graph; }
  bool require_static_shapes() const { return false; }
  bool should_init() const { return settings().should_init; }
  bool should_checkpoint() const { return settings().should_checkpoint; }
  bool should_save_summary() const { return settings().should_save_summary; }

 private:
  const strategy_settings& settings() const { return strategy_.state()->settings(); }
  void check(std::string_view what) const;
  void check_updatable(const distributed_variable& variable) const;
  template <class T>
  mirrored<T> mirror(const T& value, const destinations& to) const;
  template <class T>
  T first_replicas(const T& mine) const;
  template <class V>
  mirrored<sliced_t<V>> reduce_and_mirror(reduce_op op, const V& value, const destinations& to,
                                          const communication_options& options) const;

  strategy strategy_;
};

// --- implementation -------------------------------------------------------------------------------------------------

template <class F, class T>
multi_step_context strategy_extended::run_steps_on_iterator(F function, const dataset_iterator<T>& iterator,
                                                            int iterations,
                                                            multi_step_context::values initial_loop_values) const {
  check("run_steps_on_iterator");
  detail::check_iterations(iterations);
  const auto here = strategy_.scope();
  multi_step_context steps{std::move(initial_loop_values)};
  for (auto i = 0; i < iterations; ++i) function(steps, iterator.next());
  return steps;
}

template <class T>
mirrored<T> strategy_extended::mirror(const T& value, const destinations& to) const {
  std::vector<T> copies;
  copies.reserve(to.devices().size());
  for (const auto& device : to.devices()) copies.push_back(detail::place_on(device, value));
  return mirrored<T>{std::move(copies)};
}

/// What replica 0 of all processes has.
template <class T>
T strategy_extended::first_replicas(const T& mine) const {
  if constexpr (!all_leaves_are<T, is_reducible_leaf>) {
    detail::refuse_to_reduce<failing_leaf_t<T, is_reducible_leaf>>();
  } else {
    return map_leaves(mine, [&]<class Leaf>(const Leaf& leaf) -> Leaf {
      if constexpr (std::is_same_v<Leaf, indexed_slices>) {
        return strategy_.state()->first(leaf);
      } else {
        return from_tensor<Leaf>(strategy_.state()->first(to_tensor(leaf)));
      }
    });
  }
}

template <class V>
mirrored<sliced_t<V>> strategy_extended::reduce_and_mirror(reduce_op op, const V& value, const destinations& to,
                                                           const communication_options& options) const {
  check("reduce_to");
  options.check();
  return mirror(strategy_.reduce(op, value), to);
}

template <class T>
mirrored<T> strategy_extended::reduce_to(reduce_op op, const per_replica<T>& value, const destinations& to,
                                         const communication_options& options) const {
  return reduce_and_mirror(op, value, to, options);
}

template <class T>
mirrored<T> strategy_extended::reduce_to(reduce_op op, const per_replica<T>& value, const per_replica<T>&,
                                         const communication_options& options) const {
  return reduce_and_mirror(op, value, destinations{worker_devices()}, options);
}

template <class T>
mirrored<T> strategy_extended::reduce_to(reduce_op op, const mirrored<T>& value, const destinations& to,
                                         const communication_options& options) const {
  return reduce_and_mirror(op, value, to, options);
}

template <class T>
mirrored<T> strategy_extended::reduce_to(variable_aggregation aggregation, const per_replica<T>& value,
                                         const destinations& to, const communication_options& options) const {
  check("reduce_to");
  if (aggregation == variable_aggregation::none) detail::throw_no_reduction();
  if (aggregation == variable_aggregation::only_first_replica) return mirror(first_replicas(value[0]), to);
  return reduce_to(aggregation == variable_aggregation::sum ? reduce_op::sum : reduce_op::mean, value, to, options);
}

template <class T>
std::vector<mirrored<T>> strategy_extended::batch_reduce_to(
    reduce_op op, const std::vector<std::pair<per_replica<T>, destinations>>& pairs,
    const communication_options& options) const {
  std::vector<mirrored<T>> results;
  results.reserve(pairs.size());
  for (const auto& [value, to] : pairs) results.push_back(reduce_to(op, value, to, options));
  return results;
}

template <class T>
mirrored<T> strategy_extended::broadcast_to(const T& value, const destinations& to) const {
  static_assert(std::is_same_v<T, sliced_t<T>>, "broadcast_to() takes one value, not one for each replica: reduce it");
  check("broadcast_to");
  return mirror(value, to);
}

namespace detail {

/// Calls `call(copy)` for each, in update context, and gathers what it returns.
template <grouping Group, class F>
auto update_copies(const std::shared_ptr<strategy_state>& state, std::size_t copies, F call) {
  using result = std::decay_t<std::invoke_result_t<F&, std::size_t>>;
  const auto update_one = [&](std::size_t copy) {
    const context_scope updating{{context_kind::update, state, static_cast<int>(copy), nullptr}};
    return call(copy);
  };
  if constexpr (std::is_void_v<result>) {
    for (auto i = std::size_t{0}; i < copies; ++i) update_one(i);
  } else {
    std::vector<result> results;
    results.reserve(copies);
    for (auto i = std::size_t{0}; i < copies; ++i) results.push_back(update_one(i));
    if constexpr (Group == grouping::ungrouped) {
      return results;
    } else {
      return mirrored<result>{std::move(results)};
    }
  }
}

}  // namespace detail

template <grouping Group, class F, class... Args>
auto strategy_extended::update(const distributed_variable& variable, F function, const Args&... arguments) const {
  static_assert(
      !(detail::holds_per_replica<Args> || ...),
      "update() takes mirrored arguments: per-replica ones would make the copies differ; reduce_to() them first");
  check("update");
  check_updatable(variable);
  return detail::update_copies<Group>(strategy_.state(), variable.state()->copies(), [&](std::size_t copy) {
    return function(variable_component{variable.state(), copy}, slice(arguments, copy)...);
  });
}

template <grouping Group, class F, class... Args>
auto strategy_extended::update_non_slot(const std::vector<std::string>& devices, F function,
                                        const Args&... arguments) const {
  static_assert(!(detail::holds_per_replica<Args> || ...),
                "update_non_slot() takes mirrored arguments: per-replica ones would make the copies differ");
  check("update_non_slot");
  const destinations where{devices};
  return detail::update_copies<Group>(strategy_.state(), where.devices().size(),
                                      [&]([[maybe_unused]] std::size_t copy) {  // by a function without arguments
                                        return function(slice(arguments, copy)...);
                                      });
}

}  // namespace troupe
