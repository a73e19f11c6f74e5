#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/device_name.hpp>
#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/replicas/replica_group.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

std::shared_ptr<strategy_state> make_state(std::string name, caf::actor_system* system,
                                           const std::vector<std::string>& devices,
                                           std::vector<std::string> parameter_devices,
                                           const replica_strategy_options& options,
                                           decltype(strategy_settings::over_devices) over_devices) {
  options.communication.check();
  if (options.step_limit <= duration::zero())
    throw invalid_argument_error{"the step limit of a strategy is not positive; nothing could run"};
  strategy_settings settings;
  settings.name = std::move(name);
  settings.plan = plan_communication({.devices = locate_devices(devices),
                                      .implementation = options.communication.implementation,
                                      .nccl_built = cuda::is_nccl_built(),
                                      .replicas_are_simulated = replica_group::is_simulated(system)});
  settings.worker_devices = devices;
  settings.parameter_devices = std::move(parameter_devices);
  settings.num_replicas_in_sync = static_cast<int>(devices.size());
  settings.communication = options.communication;
  settings.step_limit = options.step_limit;
  settings.over_devices = std::move(over_devices);
  settings.replicas = std::make_unique<replica_group>(
      system, replica_group::options{.devices = devices,
                                     .step_limit = options.step_limit,
                                     .make_communicators = [plan = settings.plan](const local_connection& connect) {
                                       return make_communicators(plan, nullptr, connect);
                                     }});
  return std::make_shared<strategy_state>(std::move(settings));
}

std::shared_ptr<strategy_state> make_mirrored(const std::string& name, caf::actor_system* system,
                                              const std::vector<std::string>& named,
                                              const replica_strategy_options& options) {
  const auto devices = detail::checked_devices(named);
  auto over_devices = [=](const std::vector<std::string>& others) {
    return make_mirrored(name, system, others, options);
  };
  return make_state(name, system, devices, devices, options, std::move(over_devices));
}

std::shared_ptr<strategy_state> make_central(caf::actor_system* system, const std::vector<std::string>& named,
                                             const std::string& parameter_device,
                                             const replica_strategy_options& options) {
  auto over_devices = [=](const std::vector<std::string>& others) {
    return make_central(system, others, parameter_device, options);
  };
  return make_state("central_storage_strategy", system, detail::checked_devices(named),
                    detail::checked_devices({parameter_device}), options, std::move(over_devices));
}

}  // namespace

namespace detail {

std::vector<std::string> devices_of_process() {
  auto gpus = gpu_names();
  return gpus.empty() ? std::vector<std::string>{"CPU:0"} : gpus;
}

std::vector<std::string> checked_devices(const std::vector<std::string>& devices) {
  if (devices.empty()) throw invalid_argument_error{"a strategy needs at least one device, such as \"CPU:0\""};
  std::vector<std::string> names;
  for (const auto& each : devices) {
    const auto name = device_name::parse(each);
    if (!name.has_device())
      throw invalid_argument_error{fmt::format("\"{}\" names no device; expected a name like \"CPU:0\"", each)};
    names.push_back(name.to_string());
    // Says what is wrong with a GPU that is not there.
    if (name.type == "GPU") static_cast<void>(describe_device(names.back()));
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      throw invalid_argument_error{
          fmt::format("the device {} is named twice; each replica needs one of its own", names.back())};
  }
  return names;
}

}  // namespace detail

one_device_strategy::one_device_strategy(const std::string& device, const replica_strategy_options& options)
    : strategy(make_mirrored("one_device_strategy", nullptr, {device}, options)) {}

one_device_strategy::one_device_strategy(caf::actor_system& system, const std::string& device,
                                         const replica_strategy_options& options)
    : strategy(make_mirrored("one_device_strategy", &system, {device}, options)) {}

mirrored_strategy::mirrored_strategy(const replica_strategy_options& options)
    : mirrored_strategy(detail::devices_of_process(), options) {}

mirrored_strategy::mirrored_strategy(const std::vector<std::string>& devices, const replica_strategy_options& options)
    : strategy(make_mirrored("mirrored_strategy", nullptr, devices, options)) {}

mirrored_strategy::mirrored_strategy(caf::actor_system& system, const std::vector<std::string>& devices,
                                     const replica_strategy_options& options)
    : strategy(make_mirrored("mirrored_strategy", &system, devices, options)) {}

central_storage_strategy::central_storage_strategy(const std::vector<std::string>& devices,
                                                   const std::string& parameter_device,
                                                   const replica_strategy_options& options)
    : strategy(make_central(nullptr, devices, parameter_device, options)) {}

central_storage_strategy::central_storage_strategy(caf::actor_system& system, const std::vector<std::string>& devices,
                                                   const std::string& parameter_device,
                                                   const replica_strategy_options& options)
    : strategy(make_central(&system, devices, parameter_device, options)) {}

}  // namespace troupe
