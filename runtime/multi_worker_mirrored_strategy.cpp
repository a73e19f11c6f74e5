#include <troupe/device/collectives/hierarchical_communicator.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>
#include <troupe/runtime/multi_worker_mirrored_strategy.hpp>

#include <fmt/format.h>

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

replica_group::communicators connect(const std::shared_ptr<communicator>& processes, int replicas) {
  if (!processes) return make_thread_communicators(replicas);
  if (const auto broken = processes->broken())
    throw_status(
        broken->wrap("the processes of this strategy are not together any more; call rebuild() of their "
                     "process_group and make a new strategy"));
  return make_hierarchical_communicators(processes,
                                         std::vector<int>(static_cast<std::size_t>(processes->size()), replicas));
}

std::shared_ptr<strategy_state> make_state(process_group& group, const std::vector<std::string>& named,
                                           const replica_strategy_options& options) {
  options.communication.check();
  const auto devices = detail::checked_devices(named);
  const auto replicas = static_cast<int>(devices.size());
  strategy_settings settings;
  settings.name = "multi_worker_mirrored_strategy";
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
  settings.replicas = std::make_unique<replica_group>(
      &group.system(), replica_group::options{.devices = devices,
                                              .first_replica = settings.first_replica,
                                              .step_limit = options.step_limit,
                                              .make_communicators = [processes = settings.processes, replicas] {
                                                return connect(processes, replicas);
                                              }});
  return std::make_shared<strategy_state>(std::move(settings));
}

}  // namespace

multi_worker_mirrored_strategy::multi_worker_mirrored_strategy(process_group& group,
                                                               const std::vector<std::string>& devices,
                                                               const replica_strategy_options& options)
    : strategy(make_state(group, devices, options)) {}

}  // namespace troupe
