#include "bench_gpu_reference.hpp"

#include <troupe/device/base/error.hpp>

#include <string>
#include <vector>

#if defined(TROUPE_BENCH_NCCL)
#include <troupe/device/cuda/internal/nccl_library.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>
#endif

namespace troupe::tools {

#if defined(TROUPE_BENCH_NCCL)

namespace {

void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw internal_error{std::string{call} + ": " + cudaGetErrorString(result)};
}

void check(ncclResult_t result, const char* call) {
  if (result != ncclSuccess) throw internal_error{std::string{call} + ": " + nccl::get_error_string(result)};
}

}  // namespace

struct pinned_copy::implementation {
  std::size_t bytes;
  void* host = nullptr;
  void* device = nullptr;
};

pinned_copy::pinned_copy(std::size_t bytes) : implementation_(new implementation{.bytes = bytes}) {
  check(cudaSetDevice(0), "cudaSetDevice");
  check(cudaMallocHost(&implementation_->host, bytes), "cudaMallocHost");
  check(cudaMalloc(&implementation_->device, bytes), "cudaMalloc");
}

pinned_copy::~pinned_copy() {
  cudaFree(implementation_->device);
  cudaFreeHost(implementation_->host);
}

void pinned_copy::copy_to_gpu() {
  auto& self = *implementation_;
  check(cudaMemcpy(self.device, self.host, self.bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void pinned_copy::copy_to_host() {
  auto& self = *implementation_;
  check(cudaMemcpy(self.host, self.device, self.bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

struct bare_gpu::implementation {
  std::size_t bytes;
  void* source = nullptr;
  void* target = nullptr;
};

bare_gpu::bare_gpu(std::size_t bytes) : implementation_(new implementation{.bytes = bytes}) {
  check(cudaSetDevice(0), "cudaSetDevice");
  check(cudaMalloc(&implementation_->source, bytes), "cudaMalloc");
  check(cudaMalloc(&implementation_->target, bytes), "cudaMalloc");
}

bare_gpu::~bare_gpu() {
  cudaFree(implementation_->source);
  cudaFree(implementation_->target);
}

void bare_gpu::copy() {
  auto& self = *implementation_;
  check(cudaMemcpyAsync(self.target, self.source, self.bytes, cudaMemcpyDeviceToDevice), "cudaMemcpyAsync");
}

void bare_gpu::set_few_bytes() {
  constexpr auto bytes = 16;
  check(cudaMemsetAsync(implementation_->target, 0, bytes), "cudaMemsetAsync");
}

void bare_gpu::synchronize() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

struct bare_nccl::implementation {
  struct rank_state {
    ncclComm_t communicator = nullptr;
    cudaStream_t stream = nullptr;
    float* data = nullptr;
  };
  std::int64_t floats;
  std::vector<rank_state> ranks;
};

bare_nccl::bare_nccl(int ranks, std::int64_t floats)
    : implementation_(new implementation{.floats = floats, .ranks = {}}) {
  auto& self = *implementation_;
  std::vector<ncclComm_t> communicators(static_cast<std::size_t>(ranks));
  check(nccl::comm_init_all(communicators.data(), ranks, nullptr), "ncclCommInitAll");
  for (auto rank = 0; rank < ranks; ++rank) {
    auto& state = self.ranks.emplace_back();
    state.communicator = communicators[static_cast<std::size_t>(rank)];
    check(cudaSetDevice(rank), "cudaSetDevice");
    check(cudaStreamCreate(&state.stream), "cudaStreamCreate");
    check(cudaMalloc(reinterpret_cast<void**>(&state.data), static_cast<std::size_t>(floats) * sizeof(float)),
          "cudaMalloc");
  }
}

bare_nccl::~bare_nccl() {
  for (auto& each : implementation_->ranks) {
    nccl::comm_destroy(each.communicator);
    cudaStreamDestroy(each.stream);
    cudaFree(each.data);
  }
}

void bare_nccl::all_reduce(int rank, int rounds) {
  auto& self = implementation_->ranks[static_cast<std::size_t>(rank)];
  check(cudaSetDevice(rank), "cudaSetDevice");
  for (auto i = 0; i < rounds; ++i)
    check(nccl::all_reduce(self.data, self.data, static_cast<std::size_t>(implementation_->floats), ncclFloat, ncclSum,
                           self.communicator, self.stream),
          "ncclAllReduce");
  check(cudaStreamSynchronize(self.stream), "cudaStreamSynchronize");
}

#else

struct pinned_copy::implementation {};
struct bare_gpu::implementation {};
struct bare_nccl::implementation {};

pinned_copy::pinned_copy(std::size_t) { throw unavailable_error{"this program was built without CUDA and NCCL"}; }
pinned_copy::~pinned_copy() = default;
void pinned_copy::copy_to_gpu() {}
void pinned_copy::copy_to_host() {}

bare_gpu::bare_gpu(std::size_t) { throw unavailable_error{"this program was built without CUDA and NCCL"}; }
bare_gpu::~bare_gpu() = default;
void bare_gpu::copy() {}
void bare_gpu::set_few_bytes() {}
void bare_gpu::synchronize() {}

bare_nccl::bare_nccl(int, std::int64_t) { throw unavailable_error{"this program was built without CUDA and NCCL"}; }
bare_nccl::~bare_nccl() = default;
void bare_nccl::all_reduce(int, int) {}

#endif

}  // namespace troupe::tools
