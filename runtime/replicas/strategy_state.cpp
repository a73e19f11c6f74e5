#include <troupe/actors/variables/client.hpp>
#include <troupe/device/collectives/gather.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/distributed_variable.hpp>
#include <troupe/runtime/replicas/colocation.hpp>
#include <troupe/runtime/replicas/replica_group.hpp>
#include <troupe/runtime/replicas/started_tensors.hpp>
#include <troupe/runtime/replicas/strategy_state.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

strategy_state::strategy_state(strategy_settings settings) : settings_(std::move(settings)) {
  if (!is_default()) log_info(fmt::format("{}: {}", settings_.name, settings_.plan.describe()));
}

// Who lets go last may be a replica that goes on after its run's deadline.
strategy_state::~strategy_state() {
  if (settings_.replicas) replica_group::end(std::move(settings_.replicas));
}

const std::shared_ptr<strategy_state>& strategy_state::default_strategy() {
  static const auto& instance = *new auto{std::make_shared<strategy_state>(
      strategy_settings{.name = "default strategy",
                        .worker_devices = {"CPU:0"},
                        .parameter_devices = {"CPU:0"},
                        .plan = plan_communication({.devices = {{.name = "CPU:0", .gpu = {}}}})})};
  return instance;
}

// --- contexts -------------------------------------------------------------------------------------------------------

execution_context strategy_state::enter_scope() {
  const auto& current = execution_context::current();
  if (execution_context::entered()) {
    if (current.strategy.get() != this)
      throw failed_precondition_error{fmt::format(
          "Mixing different strategies: the scope of a {} was entered inside the {} of a {}; leave that first",
          settings_.name, to_string(current.kind), current.strategy->settings_.name)};
    if (current.kind != context_kind::cross_replica)
      throw failed_precondition_error{
          fmt::format("scope() was entered in a {}; enter it before run(), or use merge_call to get into "
                      "cross-replica context",
                      to_string(current.kind))};
  }
  return {context_kind::cross_replica, shared_from_this(), 0, nullptr};
}

void strategy_state::check_cross_replica(std::string_view what, std::string_view instead) const {
  if (!execution_context::entered()) return;
  const auto& current = execution_context::current();
  if (current.strategy.get() != this)
    throw failed_precondition_error{
        fmt::format("Mixing different strategies: {} of a {} was called inside the {} of a {}", what, settings_.name,
                    to_string(current.kind), current.strategy->settings_.name)};
  if (current.kind != context_kind::cross_replica)
    throw failed_precondition_error{fmt::format("{} needs cross-replica context, but was called in a {}; {}", what,
                                                to_string(current.kind), instead)};
}

// --- replicas -------------------------------------------------------------------------------------------------------

std::vector<erased> strategy_state::run(std::function<erased(int)> body) {
  check_cross_replica("run()", "call the function directly, or run() from a function that merge_call is given");
  if (is_default()) {
    const context_scope here{{context_kind::replica, shared_from_this(), 0, nullptr}};
    return {body(0)};
  }
  // What the caller may use, its replicas may, too.
  const auto client = using_client::current();
  // A replica keeps the strategy while its function runs, and not a moment longer: the caller is the owner.
  return settings_.replicas->run(
      [strategy = weak_from_this(), client, body = std::move(body)](lock_step& step, int replica) {
        auto owner = strategy.lock();
        if (!owner) throw cancelled_error{"the strategy was destroyed before its replica came to this function"};
        const using_client variables{client};
        const context_scope here{{context_kind::replica, std::move(owner), replica, &step, step.deadline()}};
        return body(replica);
      });
}

erased strategy_state::merge(merge_arrival_ptr brought) {
  const auto& current = execution_context::current();
  if (is_default()) return brought->merge({brought->arguments}).front();
  auto* const here = replica_environment::current();
  if (here == nullptr || current.step == nullptr)
    throw failed_precondition_error{"merge_call was called outside of the function that run() was given"};
  return here->merge(*current.step, std::move(brought));
}

// --- tensors of replicas --------------------------------------------------------------------------------------------

namespace {

void check_gatherable(const tensor& x) {
  if (x.rank() == 0) throw invalid_argument_error{"scalars of shape () can't be gathered; reshape them to (1,)"};
}

void check_gather_axis(const indexed_slices& x, int axis) {
  const auto rank = x.dense_shape.rank();
  if (axis == 0 || (rank > 0 && axis == -rank)) return;
  if (axis >= rank || axis < -rank)
    throw out_of_range_error{fmt::format("sparse values of dense shape {} have no axis {} to be gathered along",
                                         x.dense_shape.to_string(), axis)};
  throw unimplemented_error{fmt::format(
      "sparse values are gathered along axis 0 only, not {}, since they hold whole rows; densify() them first", axis)};
}

}  // namespace

namespace {

/// Tensors come from whichever device to where the group works, and results go back there.
tensor brought_to(const communicator& group, const tensor& x) { return x.copy_to(group.device()); }

indexed_slices brought_to(const communicator& group, const indexed_slices& x) {
  return {brought_to(group, x.values), brought_to(group, x.indices), x.dense_shape};
}

/// To where `x` is.
indexed_slices brought_back(indexed_slices result, const indexed_slices& x) {
  result.values = result.values.copy_to(x.values.device());
  result.indices = result.indices.copy_to(x.indices.device());
  return result;
}

indexed_slices all_reduce_anywhere(communicator& group, const indexed_slices& x, reduce_op op,
                                   std::chrono::nanoseconds limit) {
  return brought_back(troupe::all_reduce(group, brought_to(group, x), op, limit), x);
}

indexed_slices all_gather_anywhere(communicator& group, const indexed_slices& x, std::chrono::nanoseconds limit) {
  return brought_back(troupe::all_gather(group, brought_to(group, x), limit), x);
}

}  // namespace

duration strategy_state::collective_limit(const communication_options& options) const {
  const auto limit = settings_.communication.merge(options).timeout;
  return limit > duration::zero() ? limit : settings_.step_limit;
}

std::shared_ptr<started_tensors> strategy_state::start_all_reduce(std::vector<tensor> values, reduce_op op,
                                                                  const communication_options& options) {
  if (is_default()) return nullptr;
  const auto& current = execution_context::current();
  return std::make_shared<started_tensors>(
      settings_.replicas->begin(*current.step, current.replica, collective_limit(options)), std::move(values), op,
      settings_.communication.merge(options));
}

std::vector<tensor> strategy_state::wait_for(started_tensors& reduction) { return reduction.wait(); }

tensor strategy_state::all_gather(const tensor& value, int axis, const communication_options& options) {
  check_gatherable(value);
  if (is_default()) return value;
  const auto& current = execution_context::current();
  tensor result;
  settings_.replicas->perform(*current.step, current.replica, collective_limit(options),
                              [&](communicator& group, std::chrono::nanoseconds limit) {
                                result = gather_uneven(group, brought_to(group, value), axis, limit);
                              });
  return result.copy_to(value.device());
}

indexed_slices strategy_state::all_reduce(const indexed_slices& value, reduce_op op,
                                          const communication_options& options) {
  if (is_default()) return value;
  const auto& current = execution_context::current();
  indexed_slices result;
  settings_.replicas->perform(*current.step, current.replica, collective_limit(options),
                              [&](communicator& group, std::chrono::nanoseconds limit) {
                                result = all_reduce_anywhere(group, value, op, limit);
                              });
  return result;
}

indexed_slices strategy_state::all_gather(const indexed_slices& value, int axis, const communication_options& options) {
  check_gather_axis(value, axis);
  if (is_default()) return value;
  const auto& current = execution_context::current();
  indexed_slices result;
  settings_.replicas->perform(
      *current.step, current.replica, collective_limit(options),
      [&](communicator& group, std::chrono::nanoseconds limit) { result = all_gather_anywhere(group, value, limit); });
  return result;
}

// --- tensors of all replicas ----------------------------------------------------------------------------------------

namespace {

void check_alike(std::span<const tensor> values) {
  for (auto i = std::size_t{1}; i < values.size(); ++i) {
    if (values[i].get_dtype() == values[0].get_dtype() && values[i].get_shape() == values[0].get_shape()) continue;
    throw invalid_argument_error{fmt::format(
        "replica {} has a {} of shape {}, but replica 0 a {} of shape {}; values that are reduced must be alike", i,
        to_string(values[i].get_dtype()), values[i].get_shape().to_string(), to_string(values[0].get_dtype()),
        values[0].get_shape().to_string())};
  }
}

void accumulate(tensor& target, const tensor& x, reduce_op op) {
  switch (op) {
    case reduce_op::sum:
    case reduce_op::mean:
      return add_in_place(target, x);
    case reduce_op::min:
      return minimum_in_place(target, x);
    case reduce_op::max:
      return maximum_in_place(target, x);
    case reduce_op::product:
      return multiply_in_place(target, x);
  }
}

/// What is added up: the half types as float32, to be rounded once at the end, and integers for a mean as float64,
/// since their own type might overflow.
tensor addend(const tensor& x, reduce_op op) {
  if (op == reduce_op::mean && !is_floating(x.get_dtype())) return cast(x, dtype::float64);
  return op == reduce_op::mean || op == reduce_op::sum ? cast(x, sum_dtype(x.get_dtype())) : x;
}

/// True division of a sum of addends of `type`: the mean of integers is float32.
tensor divided(tensor sum, double count, dtype type) {
  divide_in_place(sum, count);
  return cast(sum, is_floating(type) ? type : dtype::float32);
}

}  // namespace

/// A single value meets no other one, so it stays where it is.
std::string strategy_state::meeting_device(std::span<const tensor> values) const {
  return values.size() > 1 || settings_.processes ? settings_.plan.meeting_device : values.front().device();
}

tensor strategy_state::reduce_over_processes(tensor local, reduce_op op) {
  if (settings_.processes) settings_.processes->all_reduce(local, op, collective_limit({}));
  return local;
}

tensor strategy_state::reduce(reduce_op op, std::span<const tensor> values) {
  check_alike(values);
  const auto where = meeting_device(values);
  const auto home = values.front().device();
  auto result = addend(values.front().copy_to(where), op);
  for (const auto& each : values.subspan(1)) accumulate(result, addend(each.copy_to(where), op), op);
  result = reduce_over_processes(std::move(result), op == reduce_op::mean ? reduce_op::sum : op);
  if (op != reduce_op::mean) return cast(result, values.front().get_dtype()).copy_to(home);
  return divided(std::move(result), settings_.num_replicas_in_sync, values.front().get_dtype()).copy_to(home);
}

tensor strategy_state::reduce(reduce_op op, std::span<const tensor> values, const reduction_axes& axes) {
  if (op != reduce_op::sum && op != reduce_op::mean)
    throw invalid_argument_error{
        fmt::format("reduce with axes takes sum or mean, not {}; reduce over replicas without axes", to_string(op))};
  const auto where = meeting_device(values);
  const auto home = values.front().device();
  auto total = tensor{};
  auto count = 0.0;
  for (const auto& each : values) {
    auto part = reduce_sum(addend(each, op), axes).copy_to(where);
    count += static_cast<double>(each.element_count()) /
             static_cast<double>(std::max<std::int64_t>(part.element_count(), 1));
    if (&each == &values.front())
      total = std::move(part);
    else
      add_in_place(total, part);
  }
  total = reduce_over_processes(std::move(total), reduce_op::sum);
  if (op == reduce_op::sum) return cast(total, values.front().get_dtype()).copy_to(home);
  const auto elements = reduce_over_processes(tensor::scalar(count), reduce_op::sum);
  return divided(std::move(total), elements.item<double>(), values.front().get_dtype()).copy_to(home);
}

tensor strategy_state::gather(std::span<const tensor> values, int axis) {
  for (const auto& each : values) check_gatherable(each);
  std::vector<tensor> parts;
  parts.reserve(values.size());
  for (const auto& each : values) parts.push_back(each.copy_to(settings_.plan.meeting_device));
  auto local = concatenate(parts, axis);
  return settings_.processes ? gather_uneven(*settings_.processes, local, axis, collective_limit({})) : local;
}

tensor strategy_state::first(tensor value) {
  if (!settings_.processes) return value;
  const auto home = value.device();
  value = brought_to(*settings_.processes, value);
  settings_.processes->broadcast(value, 0, collective_limit({}));
  return value.copy_to(home);
}

namespace {

/// Sparse values are reduced and gathered on the host, wherever they are.
constexpr auto host = "CPU:0";

std::vector<indexed_slices> on_host(std::span<const indexed_slices> values) {
  std::vector<indexed_slices> copies;
  copies.reserve(values.size());
  for (const auto& each : values)
    copies.push_back({each.values.copy_to(host), each.indices.copy_to(host), each.dense_shape});
  return copies;
}

}  // namespace

indexed_slices strategy_state::reduce(reduce_op op, std::span<const indexed_slices> values) {
  // The mean of the processes' means is the mean of all: each process has as many replicas.
  auto local = troupe::reduce(on_host(values), op);
  return settings_.processes ? troupe::all_reduce(*settings_.processes, local, op, collective_limit({})) : local;
}

indexed_slices strategy_state::gather(std::span<const indexed_slices> values, int axis) {
  for (const auto& each : values) check_gather_axis(each, axis);
  auto local = concatenate_rows(on_host(values));
  return settings_.processes ? troupe::all_gather(*settings_.processes, local, collective_limit({})) : local;
}

indexed_slices strategy_state::first(const indexed_slices& value) {
  auto mine = on_host({&value, 1}).front();
  if (!settings_.processes) return mine;
  // The others add no rows.
  if (settings_.processes->rank() != 0) mine = {mine.values.slice(0, 0), mine.indices.slice(0, 0), mine.dense_shape};
  return troupe::all_reduce(*settings_.processes, mine, reduce_op::sum, collective_limit({}));
}

// --- variables ------------------------------------------------------------------------------------------------------

std::vector<std::string> strategy_state::variable_devices(bool one_per_replica) const {
  if (one_per_replica) return settings_.worker_devices;
  const auto* const chosen = colocation::current(this);
  return chosen ? *chosen : settings_.parameter_devices;
}

void strategy_state::remember(const std::shared_ptr<variable_state>& variable) {
  const std::scoped_lock lock{mutex_};
  auto& place = by_name_[variable->name()];
  if (!place.expired())
    throw already_exists_error{
        fmt::format("this strategy already has a variable \"{}\"; choose another name", variable->name())};
  place = variable;
  variables_.push_back(variable);
  if (variables_.size() < tidy_at_) return;
  std::erase_if(variables_, [](const auto& each) { return each.expired(); });
  std::erase_if(by_name_, [](const auto& each) { return each.second.expired(); });
  tidy_at_ = std::max<std::size_t>(64, 2 * variables_.size());
}

std::vector<std::shared_ptr<variable_state>> strategy_state::variables() const {
  const std::scoped_lock lock{mutex_};
  std::vector<std::shared_ptr<variable_state>> result;
  for (const auto& each : variables_)
    if (auto existing = each.lock()) result.push_back(std::move(existing));
  return result;
}

}  // namespace troupe
