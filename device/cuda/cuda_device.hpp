// The GPUs of this process: how many, what they are, how they are named.
//
// A GPU is named "GPU:0", "GPU:1", ... These are logical devices: configure_logical_devices(2) makes two of each GPU,
// so that "GPU:0" and "GPU:1" are the first one. Each has memory and a stream of its own and works on its own, so
// several replicas can be tested on one GPU.
//
// All work on a logical device is queued on its one stream, in the order of the calls, and the calls return before the
// work is done. Whatever reaches the host (tensor::copy_to, item(), ...) waits for it. So nobody needs to synchronise,
// except with streams of their own. A failure inside the work is reported by a later call that waits.
//
// Errors of every function here and of every tensor operation that names a GPU:
//   unavailable        troupe was built without CUDA, or there is no usable GPU or driver
//   invalid_argument   the name is malformed, is no GPU, or there are not so many
//   resource_exhausted its memory is used up
//   internal           a call into CUDA failed; the message names the call, the GPU and CUDA's reason
//
// Any thread may call these. A call that works on a GPU leaves it as the calling thread's current CUDA device.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

struct CUstream_st;  // a cudaStream_t points to it; this file is for applications without CUDA's headers too

namespace troupe::cuda {

/// Whether troupe was built with CUDA.
bool is_built() noexcept;

/// GPUs that this process can use; 0 without CUDA or a driver.
int physical_device_count() noexcept;

/// "GPU:0", "GPU:1", ...; empty if there is none.
std::vector<std::string> device_names();

/// Makes `per_gpu` logical devices of each GPU. Throws invalid_argument_error for less than 1, and
/// failed_precondition_error if a GPU is in use already with another number.
void configure_logical_devices(int per_gpu);

/// The GPU that a logical device is a part of, in CUDA's numbering.
int physical_index_of(const std::string& device);

struct device_description {
  std::string name;   // "GPU:1"
  std::string model;  // "NVIDIA H200"
  int physical_index = 0;
  int compute_capability_major = 0;
  int compute_capability_minor = 0;
  std::size_t memory_bytes = 0;       // of the whole GPU
  std::size_t free_memory_bytes = 0;  // of the whole GPU, now
};
device_description describe(const std::string& device);

/// Blocks the calling thread until all work that is queued on the device is done.
void synchronize(const std::string& device);

/// The device's stream, for kernels of your own on the addresses of tensors (tensor::data, tensor::mutable_data). Work
/// on any other stream has to be ordered with this one, and done before the last handle on the memory goes.
CUstream_st* stream_of(const std::string& device);

}  // namespace troupe::cuda
