// One kernel for everything that happens element by element: body(0), body(1), ..., body(count - 1), in any order.
// Private to the CUDA kernels. A body is a struct of pointers and numbers with a __device__ operator().
#pragma once

#include <troupe/device/cuda/internal/cuda_device_state.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace troupe::cuda {

constexpr int threads_per_block = 256;
/// More would not fill a GPU better; with more elements, each thread takes several.
constexpr std::int64_t blocks_max = std::int64_t{1} << 20;

template <class Body>
__global__ void for_each_index_kernel(std::int64_t count, Body body) {
  const auto step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) body(i);
}

/// Queues the bodies on the device of `placed`; `operation` is for errors.
template <class Body>
void for_each_index(std::string_view operation, const tensor& placed, std::int64_t count, Body body) {
  if (count == 0) return;
  auto& state = state_of(placed.device());
  state.make_current();
  const auto blocks = std::min((count + threads_per_block - 1) / threads_per_block, blocks_max);
  for_each_index_kernel<<<static_cast<unsigned>(blocks), threads_per_block, 0, state.work().handle()>>>(count, body);
  check(cudaGetLastError(), operation);
}

template <class T>
T* mutable_elements(tensor& x) {
  return reinterpret_cast<T*>(x.mutable_data());
}

template <class T>
const T* elements(const tensor& x) {
  return reinterpret_cast<const T*>(x.data());
}

}  // namespace troupe::cuda
