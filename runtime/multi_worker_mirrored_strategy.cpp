#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/runtime/multi_worker_mirrored_strategy.hpp>
#include <troupe/runtime/replicas/replica_group.hpp>

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace troupe {

namespace {

/// @throws invalid_argument_error unless all processes have as many replicas as this one.
void check_equal_replicas(communicator& processes, int replicas, duration limit) {
  const auto everybody = processes.all_gather(tensor::of({static_cast<std::int64_t>(replicas)}), limit);
  const auto counts = everybody.values<std::int64_t>();
  for (auto rank = std::size_t{0}; rank < counts.size(); ++rank)
    if (counts[rank] != replicas)
      throw invalid_argument_error{fmt::format(
          "process {} has {} replicas, but process {} has {}; all processes need the same number of devices",
          processes.rank(), replicas, rank, counts[rank])};
}

/// @throws why the processes can't be connected any more, if so.
void check_together(const communicator* processes) {
  const auto broken = processes != nullptr ? processes->broken() : std::nullopt;
  if (!broken) return;
  throw_status(
      broken->wrap("the processes of this strategy are not together any more; call rebuild() of their process_group "
                   "and make a new strategy"));
}

std::shared_ptr<strategy_state> make_state(process_group& group, const std::vector<std::string>& named,
                                           const replica_strategy_options& options) {
  options.communication.check();
  const auto devices = detail::checked_devices(named);
  const auto replicas = static_cast<int>(devices.size());
  strategy_settings settings;
  settings.name = "multi_worker_mirrored_strategy";
  settings.plan = plan_communication({.devices = locate_devices(devices),
                                      .processes = group.size(),
                                      .hosts = group.hosts(),
                                      .between_processes = group.connection(),
                                      .implementation = options.communication.implementation,
                                      .nccl_built = cuda::is_nccl_built(),
                                      .replicas_are_simulated = replica_group::is_simulated(&group.system())});
  settings.worker_devices = devices;
  settings.parameter_devices = devices;
  settings.first_replica = group.rank() * replicas;
  settings.num_replicas_in_sync = group.size() * replicas;
  settings.input_pipeline_id = group.rank();
  settings.num_input_pipelines = group.size();
  settings.communication = options.communication;
  settings.step_limit = options.step_limit;
  settings.between_graph = true;
  settings.should_checkpoint = group.rank() == 0;
  settings.should_save_summary = group.rank() == 0;
  settings.processes = group.communicator_of_processes();
  if (settings.processes) check_equal_replicas(*settings.processes, replicas, options.step_limit);
  auto connect = [plan = settings.plan, processes = settings.processes](const local_connection& local) {
    check_together(processes.get());
    return make_communicators(plan, processes, local);
  };
  settings.replicas = std::make_unique<replica_group>(&group.system(),
                                                      replica_group::options{.devices = devices,
                                                                             .first_replica = settings.first_replica,
                                                                             .step_limit = options.step_limit,
                                                                             .make_communicators = std::move(connect)});
  return std::make_shared<strategy_state>(std::move(settings));
}

}  // namespace

multi_worker_mirrored_strategy::multi_worker_mirrored_strategy(process_group& group,
                                                               const std::vector<std::string>& devices,
                                                               const replica_strategy_options& options)
    : strategy(make_state(group, devices, options)) {}

}  // namespace troupe
