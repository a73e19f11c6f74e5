#include <troupe/device/base/device_name.hpp>
#include <troupe/runtime/strategy_extended.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

destinations::destinations(const std::string& device) : destinations(std::vector{device}) {}

destinations::destinations(std::vector<std::string> devices) : devices_(std::move(devices)) {
  if (devices_.empty()) throw invalid_argument_error{"there is no destination; name a device, or pass a variable"};
  for (auto& each : devices_) {
    const auto name = device_name::parse(each);
    if (!name.has_device())
      throw invalid_argument_error{fmt::format("\"{}\" names no device; expected a name like \"CPU:0\"", each)};
    each = name.to_string();
  }
}

void strategy_extended::check(std::string_view what) const {
  strategy_.state()->check_cross_replica(what, "get there with merge_call");
}

void strategy_extended::check_updatable(const distributed_variable& variable) const {
  if (variable_created_in_scope(variable)) return;
  throw invalid_argument_error{fmt::format("variable \"{}\" belongs to another strategy than the {} that updates it",
                                           variable.name(), settings().name)};
}

std::vector<std::string> strategy_extended::non_slot_devices(std::span<const distributed_variable> variables) const {
  if (!strategy_.state()->is_default()) return settings().parameter_devices;
  if (variables.empty()) throw invalid_argument_error{"non_slot_devices needs at least one variable to go by"};
  const auto smallest = std::min_element(variables.begin(), variables.end(),
                                         [](const auto& a, const auto& b) { return a.name() < b.name(); });
  return smallest->devices();
}

colocation strategy_extended::colocate_vars_with(const distributed_variable& variable) const {
  if (!variable_created_in_scope(variable))
    throw invalid_argument_error{
        fmt::format("variable \"{}\" was not made by this {}; colocate with one of its own variables", variable.name(),
                    settings().name)};
  return colocate_vars_with(variable.devices());
}

colocation strategy_extended::colocate_vars_with(const std::vector<std::string>& devices) const {
  const auto& here = execution_context::current();
  if (here.strategy != strategy_.state())
    throw failed_precondition_error{
        fmt::format("colocate_vars_with of a {} was called outside of its scope()", settings().name)};
  const auto names = destinations{devices}.devices();
  // Each replica must know its copy.
  if (names.size() > 1 && names != worker_devices())
    throw invalid_argument_error{
        fmt::format("variables can't be colocated with {}: expected one device, or all of the replicas' devices ({})",
                    fmt::join(names, ", "), fmt::join(worker_devices(), ", "))};
  return colocation{strategy_.state().get(), names};
}

tensor strategy_extended::read_var(const distributed_variable& variable) const {
  return variable.state()->read_across();
}

distributed_variable strategy_extended::value_container(const variable_component& component) const {
  return distributed_variable{component.variable()};
}

bool strategy_extended::variable_created_in_scope(const distributed_variable& variable) const {
  return variable.state()->owner() == strategy_.state();
}

const std::vector<std::string>& strategy_extended::parameter_devices() const {
  if (strategy_.state()->is_default())
    throw failed_precondition_error{
        "the default strategy has no parameter devices; make a strategy and use its extended()"};
  return settings().parameter_devices;
}

namespace detail {

void check_iterations(int iterations) {
  if (iterations < 0) throw invalid_argument_error{fmt::format("{} iterations; expected none or more", iterations)};
}

void throw_no_reduction() {
  throw invalid_argument_error{"variable_aggregation::none is no reduction; expected sum, mean or only_first_replica"};
}

}  // namespace detail

}  // namespace troupe
