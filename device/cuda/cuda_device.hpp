// What only GPUs of CUDA have; what all accelerators have is in accelerators.hpp, with names and errors.
//
// "GPU:0", "GPU:1", ... are logical devices: configure_logical_devices(2) makes two of each GPU, so that "GPU:0" and
// "GPU:1" are the first one. Each has memory and a stream of its own and works on its own, so several replicas can be
// tested on one GPU.
#pragma once

#include <string>

struct CUstream_st;  // a cudaStream_t points to it; this file is for applications without CUDA's headers too

namespace troupe::cuda {

/// Whether troupe was built with CUDA.
bool is_built() noexcept;
/// Whether it was built with NCCL.
bool is_nccl_built() noexcept;

/// GPUs that this process can use; 0 without CUDA or a driver.
int physical_device_count() noexcept;

/// How many there are with those that configure_logical_devices has made.
int logical_device_count();

/// Makes `per_gpu` logical devices of each GPU. Throws invalid_argument_error for less than 1, and
/// failed_precondition_error if a GPU has been named already with another number.
void configure_logical_devices(int per_gpu);

/// The GPU that a logical device is a part of, in CUDA's numbering.
int physical_index_of(const std::string& device);

/// The stream on which the device computes, for calls of CUDA on the addresses of tensors (tensor::data,
/// tensor::mutable_data); a kernel of your own is better a custom_kernel (custom_kernel.hpp). Work on any other stream
/// has to be ordered with this one, and done before the last handle on the memory goes. Throws unimplemented_error for
/// an emulated GPU.
CUstream_st* stream_of(const std::string& device);

}  // namespace troupe::cuda
