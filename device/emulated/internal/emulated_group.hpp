// Collectives of emulated devices, with NCCL's rules (device_group.hpp). Private to the emulation.
//
// A launch is a piece of work in the device's stream of collectives. There, in that stream's thread, it meets those of
// the other ranks as threads do (thread_communicator.hpp), so results are bitwise those of replicas on processors; it
// waits for them without a limit, and all later launches of the device behind it, until the group is aborted. Ranks in
// several processes, which have to be on one host, meet as processes do (shared_memory_communicator.hpp).
#pragma once

#include <troupe/device/collectives/device_group.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace troupe::emulation {

/// What a rank needs of its device.
struct group_device {
  /// Queues work under a name, in the device's stream of collectives.
  std::function<void(std::string operation, std::function<void()> work)> queue;
  /// What is queued there from now on begins behind all that the device has been given to compute.
  std::function<void()> wait_for_work;
  /// Where the device's thread finds these bytes.
  std::function<std::byte*(const std::byte* address, std::size_t bytes)> reach;
};

/// Of a new group.
device_group_id new_group(group_reach reach);

/// Begins to join that group, in the device's queue; first waits for the others if they are in several processes, as
/// device_waits.hpp says. Throws invalid_argument_error for an id that is none, a rank that has joined before, and
/// another size than the others'; of several processes what make_shared_memory_communicator throws.
std::unique_ptr<device_group> join_group(const device_group_id& id, int rank, int size, group_device device);

}  // namespace troupe::emulation
