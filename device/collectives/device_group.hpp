// What a kind of accelerator offers for collectives: groups of its devices, as NCCL has them. NCCL's own for GPUs
// (device/cuda), emulated ones with the same rules (device/emulated). device_communicator.hpp makes of them what
// collectives are in troupe, where nobody hangs.
//
// The rules:
//   - A group is joined by all its ranks, with an id that one of them has made; that takes time.
//   - Every rank launches the same calls in the same order. A launch is a piece of work in its device's stream of
//     collectives, behind what the device has been given to compute so far: it waits there for those of the other
//     ranks, and all later launches of that device behind it. So groups that share devices must launch in one order on
//     all of them (launch_order.hpp).
//   - What goes wrong shows later, and by no means on every rank. Nothing has a deadline. abort() ends what is going
//   on.
#pragma once

#include <troupe/device/collectives/collective.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace troupe {

/// Bytes that only the kind of accelerator understands which has made them; as many as NCCL's ids have.
using device_group_id = std::array<std::byte, 128>;

/// Where the ranks of a group are.
enum class group_reach : std::uint8_t { one_process, several_processes };

/// One rank's part in a group: accelerator::join_group begins it, is_settled() says when all have joined. One thread at
/// a time, but for abort().
class device_group {
 public:
  virtual ~device_group() = default;
  device_group(const device_group&) = delete;
  device_group& operator=(const device_group&) = delete;

  /// Whether joining, or launching, is over. Throws what went wrong since, aborted_error after an abort.
  virtual bool is_settled() = 0;
  /// Queues this rank's part of the call, which is no barrier. Throws as is_settled(), and
  /// unimplemented_error for a reduction of int16.
  virtual void launch(const collective& call, const std::byte* input, std::byte* output) = 0;
  /// Ends whatever is going on. Returns at once. Any thread; again does nothing.
  virtual void abort() noexcept = 0;
  /// Leaves in order, so that others can finish what they still read from here; aborts at the deadline.
  virtual void finish(std::chrono::steady_clock::time_point deadline) noexcept = 0;

 protected:
  device_group() = default;
};

}  // namespace troupe
