// Kernels of your own: computations on tensors for which troupe has no function, on every kind of device.
//
//   const custom_kernel relu{
//       .name = "relu",
//       .on_host =
//           [](std::span<tensor> targets, std::span<const tensor>) {
//             for (auto& x : targets[0].mutable_values<float>()) x = std::max(x, 0.0f);
//           },
//       .on_cuda = queue_relu};  // launches a kernel of CUDA on the stream that it is given
//   launch(relu, {&activations});
//
// On "CPU:0", on_host computes at once. On an emulated GPU it computes later, as a piece of the device's work, in the
// device's thread; so a program that was written for GPUs runs unchanged without one, and its kernels fail, hang and
// are slow there as others are. On a real GPU, on_cuda queues the work. Whatever the device, the order of the calls is
// kept, as with all operations on tensors (accelerators.hpp).
#pragma once

#include <troupe/device/tensor/tensor.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

struct CUstream_st;  // a cudaStream_t points to it

namespace troupe {

/// Tensors are there for the call only: copies of them must not outlive it.
struct custom_kernel {
  /// For errors: "GPU:0 has failed in relu".
  std::string name;
  /// The elements are in the host's memory (values, mutable_values). What it throws is thrown by launch, or, on an
  /// emulated GPU, by the next call that waits for the device.
  std::function<void(std::span<tensor> targets, std::span<const tensor> inputs)> on_host;
  /// The elements are in the GPU's memory (data, mutable_data), which is CUDA's current device. Queues work on the
  /// stream and waits for nothing; an error of its launches (cudaGetLastError) is thrown by launch.
  std::function<void(std::span<tensor> targets, std::span<const tensor> inputs, CUstream_st* stream)> on_cuda = {};
};

/// Computes the targets in place, which are copied before if they are shared, from what they contain and from the
/// inputs. All are on one device. Throws invalid_argument_error without a target, for a null one and for one that is
/// given twice; failed_precondition_error for operands on several devices; unimplemented_error that names the function
/// which the kernel lacks for this device; and as accelerators.hpp says.
void launch(const custom_kernel& kernel, const std::vector<tensor*>& targets, const std::vector<tensor>& inputs = {});

}  // namespace troupe
