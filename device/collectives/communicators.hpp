// The communicators of the replicas of one process, as communication_plan.hpp decides.
#pragma once

#include <troupe/device/collectives/communication_plan.hpp>
#include <troupe/device/collectives/communicator.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// One end per device of the plan, in that order; each is used by one thread at a time. `processes` is this process's
/// end among the processes of the plan, null if there is only one; all of them have as many devices. `make_local`
/// connects the ranks of this process in host memory.
///
/// Throws for GPUs as accelerators.hpp says; invalid_argument_error unless `processes` has the
/// plan's size.
std::vector<std::unique_ptr<communicator>> make_communicators(
    const communication_plan& plan, std::shared_ptr<communicator> processes = nullptr,
    const local_connection& make_local = make_thread_communicators);

/// The same for the devices of this process alone. Throws what planning throws, and for bad options.
std::vector<std::unique_ptr<communicator>> make_local_communicators(std::span<const std::string> devices,
                                                                    const communication_options& options = {});

}  // namespace troupe
