#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/collectives/hierarchical_communicator.hpp>
#include <troupe/device/collectives/internal/alone_communicator.hpp>
#include <troupe/device/collectives/internal/through_host_communicator.hpp>
#include <troupe/device/collectives/nccl_communicator.hpp>

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <utility>

namespace troupe {

namespace {

using communicator_list = std::vector<std::unique_ptr<communicator>>;

constexpr std::chrono::nanoseconds usual_join_limit = std::chrono::seconds{30};

communicator_list join_nccl(communicator_list controls, const communication_plan& plan,
                            std::chrono::nanoseconds limit) {
  // All ranks join at the same time, each on a thread of its own.
  std::vector<std::future<std::unique_ptr<communicator>>> joining;
  for (auto rank = std::size_t{0}; rank < controls.size(); ++rank)
    joining.push_back(std::async(std::launch::async, make_nccl_communicator, std::move(controls[rank]),
                                 plan.devices[rank].name, limit));
  communicator_list joined;
  for (auto& each : joining) joined.push_back(each.get());
  return joined;
}

/// Of host memory, one for each of the plan's devices.
communicator_list connect_on_host(const communication_plan& plan, std::shared_ptr<communicator> processes,
                                  const local_connection& make_local) {
  const auto replicas = static_cast<int>(plan.devices.size());
  if (!processes) return make_local(replicas);
  return make_hierarchical_communicators(
      std::move(processes), std::vector<int>(static_cast<std::size_t>(plan.processes), replicas), make_local);
}

}  // namespace

communicator_list make_communicators(const communication_plan& plan, std::shared_ptr<communicator> processes,
                                     std::chrono::nanoseconds join_limit, const local_connection& make_local) {
  const auto connected = processes ? processes->size() : 1;
  if (connected != plan.processes)
    throw invalid_argument_error{
        fmt::format("the plan is for {} processes, but {} are connected", plan.processes, connected)};
  communicator_list group;
  if (plan.among_replicas == replica_transport::alone) {
    group.push_back(make_alone_communicator(plan.devices.front().name));
    return group;
  }
  group = connect_on_host(plan, std::move(processes), make_local);
  if (plan.among_replicas == replica_transport::nccl)
    return join_nccl(std::move(group), plan, join_limit.count() > 0 ? join_limit : usual_join_limit);
  for (auto rank = std::size_t{0}; rank < plan.devices.size(); ++rank)
    if (plan.copies_through_host(plan.devices[rank]))
      group[rank] = make_through_host_communicator(std::move(group[rank]), plan.devices[rank].name);
  return group;
}

communicator_list make_local_communicators(std::span<const std::string> devices, const communication_options& options) {
  options.check();
  const auto plan = plan_communication(
      {.devices = locate_devices(devices), .implementation = options.implementation, .nccl_built = is_nccl_built()});
  return make_communicators(plan, nullptr, options.timeout);
}

}  // namespace troupe
