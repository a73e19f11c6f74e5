#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/collectives/device_communicator.hpp>
#include <troupe/device/collectives/hierarchical_communicator.hpp>
#include <troupe/device/collectives/internal/alone_communicator.hpp>
#include <troupe/device/collectives/internal/through_host_communicator.hpp>
#include <troupe/device/cuda/cuda_device.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

namespace {

using communicator_list = std::vector<std::unique_ptr<communicator>>;

std::vector<std::string> names_of(const communication_plan& plan) {
  std::vector<std::string> names;
  for (const auto& each : plan.devices) names.push_back(each.name);
  return names;
}

/// Between the plan's devices, whatever they are.
communicator_list connect(const communication_plan& plan, std::shared_ptr<communicator> processes,
                          const local_connection& make_local) {
  const auto replicas = static_cast<int>(plan.devices.size());
  device_connection on_devices;
  if (plan.among_replicas == replica_transport::nccl)
    on_devices = [devices = names_of(plan)](communicator_list controls) {
      return make_device_communicators(std::move(controls), devices);
    };
  if (!processes) return on_devices ? on_devices(make_local(replicas)) : make_local(replicas);
  const std::vector<int> everywhere(static_cast<std::size_t>(plan.processes), replicas);
  if (plan.nccl_spans_processes)
    return on_devices(make_hierarchical_communicators(std::move(processes), everywhere, make_local));
  return make_hierarchical_communicators(std::move(processes), everywhere, make_local, on_devices);
}

}  // namespace

communicator_list make_communicators(const communication_plan& plan, std::shared_ptr<communicator> processes,
                                     const local_connection& make_local) {
  const auto connected = processes ? processes->size() : 1;
  if (connected != plan.processes)
    throw invalid_argument_error{
        fmt::format("the plan is for {} processes, but {} are connected", plan.processes, connected)};
  communicator_list group;
  if (plan.among_replicas == replica_transport::alone) {
    group.push_back(make_alone_communicator(plan.devices.front().name));
    return group;
  }
  group = connect(plan, std::move(processes), make_local);
  for (auto rank = std::size_t{0}; rank < plan.devices.size(); ++rank)
    if (plan.copies_through_host(plan.devices[rank]))
      group[rank] = make_through_host_communicator(std::move(group[rank]), plan.devices[rank].name);
  return group;
}

communicator_list make_local_communicators(std::span<const std::string> devices, const communication_options& options) {
  options.check();
  const auto plan = plan_communication({.devices = locate_devices(devices),
                                        .implementation = options.implementation,
                                        .nccl_built = cuda::is_nccl_built()});
  return make_communicators(plan);
}

}  // namespace troupe
