// The communicators of the replicas of one process, chosen by their devices.
//
//   devices                      implementation
//   only CPUs                    threads that share memory (thread_communicator.hpp)
//   GPUs, each another one       NCCL (nccl_communicator.hpp)
//   anything else                threads; GPUs copy through the host (through_host_communicator.hpp)
#pragma once

#include <troupe/device/collectives/communication_options.hpp>
#include <troupe/device/collectives/communicator.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// One end per device, in that order; each is used by one thread at a time.
///
/// An explicit implementation is honoured: `nccl` for GPUs that are all different, `ring` for any devices, without
/// NCCL. The options' timeout limits how long GPUs may take to join (0: half a minute).
///
/// Throws invalid_argument_error for no devices, a device that is named twice, an implementation that these devices
/// cannot have, and bad options; and for GPUs as cuda_device.hpp says.
std::vector<std::unique_ptr<communicator>> make_local_communicators(std::span<const std::string> devices,
                                                                    const communication_options& options = {});

}  // namespace troupe
