// Several replicas on one worker of a parameter server cluster: a closure runs a function on its worker's devices in
// step, on variables that the servers hold.
//
//   coordinator.schedule([](troupe::tensor_variable weights) {
//     const auto here = troupe::worker_strategy({"CPU:0", "CPU:1"});
//     const troupe::aggregating_variable shared{weights, troupe::variable_aggregation::sum};
//     here.run([&] { shared.assign_add(gradient()); });       // one operation on the server, with both gradients
//   }, weights);
//
// Workers are not in step with each other: num_replicas_in_sync counts the replicas of this worker.
// Semantics: examples/reference/semantics.md 1.2 (AggregatingVariable), 1.6.
#pragma once

#include <troupe/runtime/strategy.hpp>
#include <troupe/runtime/variable.hpp>

#include <string>
#include <vector>

namespace troupe {

/// The strategy over these devices of the worker that runs the calling closure. It is made at the first call and kept
/// as long as the worker. Inside its functions handles of the servers' variables work as they do in closures.
/// @throws failed_precondition_error outside of closures; invalid_argument_error, unavailable_error for the devices.
strategy worker_strategy(const std::vector<std::string>& devices);
/// Over all devices of that worker: its GPUs, or one CPU device if there is none.
strategy worker_strategy();

/// For code that computes on devices itself, by tensors or by kernels of its own (cuda::stream_of): inside of a
/// replica's function its device; elsewhere those of this process, which are a worker's for its closures.
std::vector<std::string> current_devices();

/// A variable on servers, as replicas of one worker see it: each reads its value, and what they assign together is
/// aggregated first and becomes one operation. Outside of replica functions it is the variable itself.
class aggregating_variable {
 public:
  aggregating_variable(tensor_variable variable, variable_aggregation aggregation)
      : variable_(std::move(variable)), aggregation_(aggregation) {}

  tensor read() const { return variable_.read(); }
  // Throw invalid_argument_error in replica context without an aggregation; as tensor_variable and merge_call do.
  void assign(const tensor& x) const;
  void assign_add(const tensor& x) const;
  void assign_sub(const tensor& x) const;

  const tensor_variable& variable() const { return variable_; }
  variable_aggregation aggregation() const { return aggregation_; }

 private:
  using operation = void (tensor_variable::*)(const tensor&) const;
  template <operation Operation>
  void write(const tensor& x) const;

  tensor_variable variable_;
  variable_aggregation aggregation_;
};

/// All replicas have the same one.
template <>
struct regrouping<aggregating_variable> {
  using type = aggregating_variable;
  /// @throws invalid_argument_error when they are different variables.
  static type regroup(std::vector<aggregating_variable> values);
};

}  // namespace troupe
