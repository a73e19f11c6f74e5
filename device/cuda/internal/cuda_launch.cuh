// The launching of kernels. Private to them.
//
//   for_each_index     body(0), body(1), ..., body(count - 1), in any order
//   for_each_element   f(a[0], b[0], ...), f(a[1], b[1], ...), ..., in any order
//
// Problem: a thread that moves one element at a time keeps too little of a GPU's memory busy: two thirds of what a copy
// within an H200 reaches. So a thread takes neighbours that fill 16 bytes, with one load or store for each operand,
// where their addresses allow it.
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

/// For one thread for each of so many, as far as the limit goes.
inline unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((threads + threads_per_block - 1) / threads_per_block, 1, blocks_max));
}

__device__ inline std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t thread_count() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

/// The stream of the device where the tensor is, whose GPU becomes the current one.
inline cudaStream_t queue_of(const tensor& placed) {
  auto& state = state_of(placed.device());
  state.make_current();
  return state.work().handle();
}

template <class T>
T* mutable_elements(tensor& x) {
  return reinterpret_cast<T*>(x.mutable_data());
}

template <class T>
const T* elements(const tensor& x) {
  return reinterpret_cast<const T*>(x.data());
}

// --- by index --------------------------------------------------------------------------------------------------------

template <class Body>
__global__ void for_each_index_kernel(std::int64_t count, Body body) {
  for (auto i = thread_index(); i < count; i += thread_count()) body(i);
}

/// Queues the bodies on the device of `placed`; `operation` is for errors. A body is a struct of pointers and numbers
/// with a __device__ operator().
template <class Body>
void for_each_index(std::string_view operation, const tensor& placed, std::int64_t count, Body body) {
  if (count == 0) return;
  const auto queue = queue_of(placed);
  for_each_index_kernel<<<blocks_for(count), threads_per_block, 0, queue>>>(count, body);
  check(cudaGetLastError(), operation);
}

// --- by element ------------------------------------------------------------------------------------------------------

/// Neighbours that are moved at once.
template <class T, int Count>
struct alignas(sizeof(T) * Count) neighbours {
  T of[Count];
};

template <class T>
bool may_move_at_once(const T* at, int count) {
  return reinterpret_cast<std::uintptr_t>(at) % (sizeof(T) * static_cast<std::size_t>(count)) == 0;
}

// What f gets: the element itself for all that it writes.

template <class T>
struct input {
  using element = T;
  const T* from;

  bool fits(int count) const { return may_move_at_once(from, count); }
  template <int Count>
  __device__ neighbours<T, Count> load(std::int64_t first) const {
    return *reinterpret_cast<const neighbours<T, Count>*>(from + first);
  }
  template <int Count>
  __device__ void store(std::int64_t, const neighbours<T, Count>&) const {}
};

template <class T>
struct output {
  using element = T;
  T* to;

  bool fits(int count) const { return may_move_at_once(to, count); }
  template <int Count>
  __device__ neighbours<T, Count> load(std::int64_t) const {
    return {};
  }
  template <int Count>
  __device__ void store(std::int64_t first, const neighbours<T, Count>& values) const {
    *reinterpret_cast<neighbours<T, Count>*>(to + first) = values;
  }
};

/// Both.
template <class T>
struct updated {
  using element = T;
  T* at;

  bool fits(int count) const { return may_move_at_once(at, count); }
  template <int Count>
  __device__ neighbours<T, Count> load(std::int64_t first) const {
    return input<T>{at}.template load<Count>(first);
  }
  template <int Count>
  __device__ void store(std::int64_t first, const neighbours<T, Count>& values) const {
    output<T>{at}.template store<Count>(first, values);
  }
};

/// The same element each time.
template <class T>
struct scalar_input {
  using element = T;
  const T* from;

  bool fits(int) const { return true; }
  template <int Count>
  __device__ neighbours<T, Count> load(std::int64_t) const {
    neighbours<T, Count> same;
    for (auto& each : same.of) each = *from;
    return same;
  }
  template <int Count>
  __device__ void store(std::int64_t, const neighbours<T, Count>&) const {}
};

template <int Count, class Function, class... Operands>
__device__ void apply_to_neighbours(std::int64_t first, const Function& f, const Operands&... operands) {
  [&](auto... values) {
#pragma unroll
    for (auto i = 0; i < Count; ++i) f(values.of[i]...);
    (operands.template store<Count>(first, values), ...);
  }(operands.template load<Count>(first)...);
}

/// The first `groups` * Count elements by groups, the others one by one.
template <int Count, class Function, class... Operands>
__global__ void for_each_element_kernel(std::int64_t count, std::int64_t groups, Function f, Operands... operands) {
  for (auto i = thread_index(); i < groups; i += thread_count()) apply_to_neighbours<Count>(i * Count, f, operands...);
  for (auto i = groups * Count + thread_index(); i < count; i += thread_count())
    apply_to_neighbours<1>(i, f, operands...);
}

/// Queues f on the device of `placed`; `operation` is for errors. Operands may be the same elements.
template <class Function, class... Operands>
void for_each_element(std::string_view operation, const tensor& placed, std::int64_t count, Function f,
                      Operands... operands) {
  if (count == 0) return;
  constexpr auto at_once = static_cast<int>(16 / std::max({sizeof(typename Operands::element)...}));
  const auto groups = (operands.fits(at_once) && ...) ? count / at_once : 0;
  const auto queue = queue_of(placed);
  for_each_element_kernel<at_once>
      <<<blocks_for(groups > 0 ? groups : count), threads_per_block, 0, queue>>>(count, groups, f, operands...);
  check(cudaGetLastError(), operation);
}

}  // namespace troupe::cuda
