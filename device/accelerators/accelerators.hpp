// The accelerators of this process: how many, what they are, how they are named; real GPUs, or emulated ones.
//
// A GPU is named "GPU:0", "GPU:1", ... All work on one is done in the order of the calls, which return before it is
// done. What reaches the host (tensor::copy_to, item(), ...) waits for it; what comes from the host doesn't, and is
// there on return. So nobody needs to synchronise, except with streams of their own (cuda_device.hpp). A failure inside
// the work is reported by a later call that waits.
//
// Emulated GPUs let a program that was written for four GPUs run unchanged where there is none: with
// TROUPE_EMULATED_GPUS=4 in its environment, or emulate_gpus(4) before first use. They take the place of real ones, and
// behave as those do where it matters to a program: memory of their own, which host code can't touch and which runs
// out; work that is done later, in order, by threads of the device's own. What they compute is bitwise what the host
// computes.
//
// Errors of every function here and of every tensor operation that names a GPU:
//   unavailable         there is none: no usable GPU or driver, or troupe was built without CUDA, and none is emulated
//   invalid_argument    the name is malformed, is no GPU, or there are not so many; or TROUPE_EMULATED_GPUS is no
//                       number
//   resource_exhausted  its memory is used up
//   deadline_exceeded   its work did not end in time (device_waits.hpp)
//   internal            a call into CUDA failed; the message names the call, the GPU and CUDA's reason
//
// Any thread may call these. A call that works on a real GPU leaves it as the calling thread's current CUDA device.
#pragma once

#include <troupe/device/accelerators/accelerator.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

struct emulation_options {
  /// Of each device.
  std::size_t memory_bytes = std::size_t{1} << 30;
  /// For tests: each piece of work begins up to so much later than it could. A program that misses a synchronisation
  /// then reads old bytes.
  std::chrono::microseconds delay_max{0};
  /// What the delays follow.
  std::uint64_t seed = 0;
};

inline constexpr int emulated_gpus_max = 64;
inline constexpr auto emulated_gpus_variable = "TROUPE_EMULATED_GPUS";

/// Gives this process "GPU:0" to "GPU:<count - 1>", which are emulated, in place of real ones; counts more than
/// TROUPE_EMULATED_GPUS. Throws invalid_argument_error for less than 1 or more than emulated_gpus_max and for a
/// negative delay, and failed_precondition_error if something has asked for GPUs before.
void emulate_gpus(int count, const emulation_options& options = {});

/// "GPU:0", "GPU:1", ...; empty if there is none. Throws invalid_argument_error for what TROUPE_EMULATED_GPUS says.
std::vector<std::string> gpu_names();

/// By name, which may be any that device_name::parse understands. Lives to the end of the process.
accelerator& accelerator_of(const std::string& device);

/// What the device is.
device_description describe_device(const std::string& device);

/// Blocks the calling thread until all work that is queued on the device is done, but for reductions that go on beside
/// it (replica_context::start_all_reduce).
void synchronize_device(const std::string& device);

/// Host memory with indeterminate contents that GPUs reach without help of the processor: copies to and from it are the
/// fastest. It cannot be swapped out, so use it for what is copied often. Without a real GPU, ordinary host memory.
buffer allocate_pinned(std::size_t bytes);

}  // namespace troupe
