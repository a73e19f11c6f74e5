#include <troupe/device/base/device_name.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/strategy.hpp>
#include <troupe/runtime/strategy_extended.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troupe {

namespace {

distributed_variable make_variable(const std::shared_ptr<strategy_state>& state, std::string name, tensor initial,
                                   const variable_options& options, std::vector<std::string> devices) {
  initial = state->first(std::move(initial));
  auto made = std::make_shared<variable_state>(state, std::move(name), initial, options, std::move(devices));
  state->remember(made);
  return distributed_variable{std::move(made)};
}

/// What each replica asks for; they must agree.
struct wanted_variable {
  std::string name;
  tensor initial;
  variable_options options;
  /// Where the replica's own scope wants the copies.
  std::vector<std::string> devices;
};

void check_wanted_alike(const per_replica<wanted_variable>& wanted) {
  const auto& first = wanted[0];
  for (auto i = std::size_t{1}; i < wanted.size(); ++i) {
    const auto& other = wanted[i];
    if (other.name != first.name)
      throw invalid_argument_error{fmt::format(
          "mismatching name: replica {} makes the variable \"{}\" where replica 0 makes \"{}\"; all replicas must make "
          "the same variables in the same order",
          i, other.name, first.name)};
    if (other.initial.get_dtype() != first.initial.get_dtype() ||
        other.initial.get_shape() != first.initial.get_shape())
      throw invalid_argument_error{
          fmt::format("replica {} makes the variable \"{}\" as {} of shape {}, but replica 0 as {} of shape {}", i,
                      other.name, to_string(other.initial.get_dtype()), other.initial.get_shape().to_string(),
                      to_string(first.initial.get_dtype()), first.initial.get_shape().to_string())};
    if (other.options != first.options)
      throw invalid_argument_error{fmt::format(
          "replica {} makes the variable \"{}\" with another synchronization, aggregation or trainable than replica 0",
          i, other.name)};
    if (other.devices != first.devices)
      throw invalid_argument_error{fmt::format("replica {} makes the variable \"{}\" on {}, but replica 0 on {}", i,
                                               other.name, fmt::join(other.devices, ", "),
                                               fmt::join(first.devices, ", "))};
  }
}

distributed_variable make_for_replicas(strategy& here, const per_replica<wanted_variable>& wanted) {
  check_wanted_alike(wanted);
  return make_variable(here.state(), wanted[0].name, wanted[0].initial, wanted[0].options, wanted[0].devices);
}

}  // namespace

distributed_variable strategy::variable(std::string name, const tensor& initial, variable_options options) const {
  const auto& here = execution_context::current();
  auto devices = state_->variable_devices(options.synchronization == variable_synchronization::on_read);
  if (here.kind == context_kind::replica && here.strategy == state_ && !state_->is_default())
    return replica_context::current().merge_call(
        &make_for_replicas, wanted_variable{std::move(name), initial, options, std::move(devices)});
  if (!state_->is_default())
    state_->check_cross_replica("making a variable", "make it inside of the function that run() is given");
  return make_variable(state_, std::move(name), initial, options, std::move(devices));
}

std::vector<distributed_variable> strategy::variables() const {
  std::vector<distributed_variable> result;
  for (auto& each : state_->variables()) result.emplace_back(std::move(each));
  return result;
}

strategy_extended strategy::extended() const { return strategy_extended{*this}; }

strategy strategy::without(const std::string& device) const {
  const auto& settings = state_->settings();
  const auto left_out = device_name::parse(device).to_string();
  if (!settings.over_devices)
    throw unimplemented_error{fmt::format(
        "a {} can't go on without {}: all its processes have as many devices; rebuild() their process_group "
        "and make a new strategy in each",
        settings.name, left_out)};
  auto devices = settings.worker_devices;
  if (std::erase(devices, left_out) == 0)
    throw invalid_argument_error{fmt::format("{} is none of this {}'s devices, which are {}", left_out, settings.name,
                                             fmt::join(settings.worker_devices, ", "))};
  if (devices.empty())
    throw failed_precondition_error{
        fmt::format("{} is the only device of this {}; make a strategy over another one", left_out, settings.name)};
  const auto& keeping = settings.parameter_devices;
  if (keeping.size() == 1 && keeping.front() == left_out)
    throw failed_precondition_error{fmt::format(
        "{} is where this {} keeps its variables; make one with another parameter device", left_out, settings.name)};
  return strategy{settings.over_devices(devices)};
}

input_context strategy::input() const {
  const auto& settings = state_->settings();
  return {.input_pipeline_id = settings.input_pipeline_id,
          .num_input_pipelines = settings.num_input_pipelines,
          .num_replicas_in_sync = settings.num_replicas_in_sync};
}

strategy get_strategy() { return strategy{execution_context::current().strategy}; }

bool has_strategy() { return execution_context::entered(); }

bool in_cross_replica_context() { return execution_context::current().kind == context_kind::cross_replica; }

namespace detail {

void check_reduce_op(reduce_op op) {
  if (op != reduce_op::sum && op != reduce_op::mean)
    throw invalid_argument_error{fmt::format(
        "reduce() takes sum or mean, not {}; the others are there in replica_context::all_reduce", to_string(op))};
}

void throw_ambiguous_sum() {
  throw invalid_argument_error{
      "the sum of a value that all replicas have alike could be the value, or the value times the number of replicas; "
      "pass a per_replica value, or use the mean"};
}

void throw_integer_mean() {
  throw invalid_argument_error{
      "the mean of integers is no integer; pass floating point numbers, or tensors, whose mean becomes float32"};
}

void throw_sparse_axes() {
  throw invalid_argument_error{"sparse values can't be reduced along axes; densify() them first"};
}

bool is_zero(const tensor& x) {
  if (x.element_count() == 0) return true;
  const auto numbers = cast(x, dtype::float64);
  return reduce_max(numbers).item<double>() == 0 && reduce_min(numbers).item<double>() == 0;
}

}  // namespace detail

}  // namespace troupe
