#include <troupe/actors/variables/variable_client.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/worker_strategy.hpp>

#include <fmt/format.h>

#include <map>

namespace troupe {

namespace {

/// Of one worker, by their devices.
using strategies = std::map<std::vector<std::string>, strategy>;

constexpr char strategies_key = 0;

tensor aggregated(const strategy& here, variable_aggregation aggregation, const per_replica<tensor>& values) {
  if (aggregation == variable_aggregation::only_first_replica) return values[0];
  return here.reduce(aggregation == variable_aggregation::mean ? reduce_op::mean : reduce_op::sum, values);
}

}  // namespace

strategy worker_strategy(const std::vector<std::string>& devices) {
  auto* const closure = closure_environment::current();
  if (closure == nullptr)
    throw failed_precondition_error{
        "worker_strategy() was called outside of a closure; it gives the replicas of the worker that runs the closure"};
  auto& kept = closure->worker_local(&strategies_key);
  if (!kept) kept = std::make_shared<strategies>();
  auto& all = *std::static_pointer_cast<strategies>(kept);
  const auto names = detail::checked_devices(devices);
  const auto found = all.find(names);
  return found != all.end() ? found->second : all.emplace(names, mirrored_strategy{names}).first->second;
}

strategy worker_strategy() { return worker_strategy(detail::devices_of_process()); }

std::vector<std::string> current_devices() {
  const auto& here = execution_context::current();
  if (here.kind != context_kind::replica || here.step == nullptr) return detail::devices_of_process();
  return {here.strategy->settings().worker_devices[static_cast<std::size_t>(here.replica)]};
}

template <aggregating_variable::operation Operation>
void aggregating_variable::write(const tensor& x) const {
  const auto& here = execution_context::current();
  if (here.kind != context_kind::replica || here.step == nullptr) return (variable_.*Operation)(x);
  if (aggregation_ == variable_aggregation::none)
    throw invalid_argument_error{
        fmt::format("variable \"{}\" was assigned by replicas, but has no aggregation; choose sum, mean or "
                    "only_first_replica",
                    variable_.name())};
  replica_context::current().merge_call(
      [](strategy& across, const aggregating_variable& self, const per_replica<tensor>& values) {
        (self.variable_.*Operation)(aggregated(across, self.aggregation_, values));
      },
      *this, x);
}

void aggregating_variable::assign(const tensor& x) const { write<&tensor_variable::assign>(x); }

void aggregating_variable::assign_add(const tensor& x) const { write<&tensor_variable::assign_add>(x); }

void aggregating_variable::assign_sub(const tensor& x) const { write<&tensor_variable::assign_sub>(x); }

aggregating_variable regrouping<aggregating_variable>::regroup(std::vector<aggregating_variable> values) {
  const auto& first = values.front();
  for (auto i = std::size_t{1}; i < values.size(); ++i)
    if (values[i].variable().shared_record() != first.variable().shared_record() ||
        values[i].aggregation() != first.aggregation())
      throw_structures_differ(i, fmt::format("another variable (\"{}\" instead of \"{}\")", values[i].variable().name(),
                                             first.variable().name()));
  return first;
}

}  // namespace troupe
