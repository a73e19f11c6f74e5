#include <troupe/device/base/error.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/cuda/internal/cuda_device_state.hpp>
#include <troupe/device/cuda/internal/cuda_memory.hpp>
#include <troupe/device/cuda/internal/cuda_staged_copy.hpp>

#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace troupe::cuda {

namespace {

/// CUDA refuses larger strides.
constexpr std::size_t stride_bytes_max = (std::size_t{1} << 31) - 1;

void* allocate_host(std::size_t bytes) {
  void* memory = nullptr;
  const auto result = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
  if (result == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  check(result, "cudaHostAlloc");
  return memory;
}

// Blocks are reused at once: every copy to or from the host has ended when its caller goes on. What is kept can't be
// swapped out, so it has a limit.
caching_allocator& pinned_memory() {
  static auto& allocator = *[] {
    auto* const made = new caching_allocator{
        "pinned host memory", {.allocate = allocate_host, .release = [](void* memory) { cudaFreeHost(memory); }}};
    made->keep_at_most(kept_pinned_bytes_max);
    return made;
  }();
  return allocator;
}

buffer take_buffer(caching_allocator& allocator, std::size_t bytes, std::string device) {
  if (bytes == 0) return buffer::take_over(nullptr, nullptr, 0, std::move(device));
  auto* block = allocator.take(bytes).memory;
  std::shared_ptr<void> owner{block, [&allocator, bytes](void* given) { allocator.give(given, bytes); }};
  return buffer::take_over(std::move(owner), static_cast<std::byte*>(block), bytes, std::move(device));
}

// Lets one GPU read the other's memory directly, where the machine can; otherwise CUDA goes through the host.
void enable_peer_access(int reader, int owner) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> asked;
  std::lock_guard lock{mutex};
  if (!asked.emplace(reader, owner).second) return;
  auto possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, reader, owner), "cudaDeviceCanAccessPeer");
  if (!possible) return;
  check(cudaSetDevice(reader), "cudaSetDevice");
  const auto result = cudaDeviceEnablePeerAccess(owner, 0);
  if (result == cudaErrorPeerAccessAlreadyEnabled) {
    static_cast<void>(cudaGetLastError());  // by another library of this process
  } else {
    check(result, "cudaDeviceEnablePeerAccess");
  }
}

// The stream of the target does the copy, after what the source has queued; and the source goes on only after it,
// because it may reuse the memory.
void copy_between_gpus(std::byte* target, device_state& to, const std::byte* source, device_state& from,
                       std::size_t bytes) {
  const auto same_device = &to == &from;
  if (to.physical_index() != from.physical_index()) enable_peer_access(to.physical_index(), from.physical_index());
  if (!same_device) to.wait_for(from);
  to.make_current();
  check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, to.work().handle()), "cudaMemcpyAsync");
  if (!same_device) from.wait_for(to);
}

void copy_with_host(std::byte* target, const std::byte* source, std::size_t bytes, cudaMemcpyKind direction,
                    device_state& gpu, stream& on) {
  // CUDA waits inside its call for what is queued before, without a limit: so that is waited for here.
  gpu.synchronize(on);
  if (copy_staged(target, source, bytes, direction, gpu, on)) return;
  check(cudaMemcpyAsync(target, source, bytes, direction, on.handle()), "cudaMemcpyAsync");
  gpu.synchronize(on);
}

/// What `take` gives of this GPU's memory.
template <class Take>
buffer take_on(device_state& gpu, Take take) {
  try {
    return take();
  } catch (const resource_exhausted_error&) {
    // The other logical devices of this GPU may keep what is needed here.
    for (auto* sharer : states_on(gpu.physical_index())) sharer->release_kept_memory();
    return take();
  }
}

}  // namespace

buffer allocate(const std::string& device, std::size_t bytes) {
  auto& state = state_of(device);
  return take_on(state, [&] { return take_buffer(state.memory(), bytes, state.name()); });
}

buffer allocate_pinned(std::size_t bytes) {
  if (physical_device_count() == 0) return buffer::allocate(bytes);
  return take_buffer(pinned_memory(), bytes, "CPU:0");
}

buffer upload(const std::string& device, const std::byte* source, std::size_t bytes) {
  auto& state = state_of(device);
  auto result = take_on(state, [&] { return state.upload_memory().take(bytes); });
  if (bytes == 0) return result;
  try {
    copy_with_host(result.mutable_data(), source, bytes, cudaMemcpyHostToDevice, state, state.uploads());
  } catch (const deadline_exceeded_error&) {
    static_cast<void>(new buffer{std::move(result)});  // the copy may still come: it's nobody's memory any more
    throw;
  }
  return result;
}

void copy_from_host(std::byte* target, const std::string& device, const std::byte* source, std::size_t bytes) {
  if (bytes == 0) return;
  auto& gpu = state_of(device);
  copy_with_host(target, source, bytes, cudaMemcpyHostToDevice, gpu, gpu.work());
}

void copy_to_host(std::byte* target, const std::byte* source, const std::string& device, std::size_t bytes) {
  if (bytes == 0) return;
  auto& gpu = state_of(device);
  copy_with_host(target, source, bytes, cudaMemcpyDeviceToHost, gpu, gpu.work());
}

void copy_between(std::byte* target, const std::string& target_device, const std::byte* source,
                  const std::string& source_device, std::size_t bytes) {
  if (bytes > 0) copy_between_gpus(target, state_of(target_device), source, state_of(source_device), bytes);
}

void copy_runs(std::byte* target, std::size_t target_stride, const std::byte* source, std::size_t run_bytes,
               std::size_t run_count, const std::string& device) {
  if (run_bytes == 0 || run_count == 0) return;
  auto& state = state_of(device);
  state.make_current();
  const auto queue = state.work().handle();
  if (run_count == 1 || target_stride > stride_bytes_max) {
    for (auto run = std::size_t{0}; run < run_count; ++run)
      check(cudaMemcpyAsync(target + run * target_stride, source + run * run_bytes, run_bytes, cudaMemcpyDeviceToDevice,
                            queue),
            "cudaMemcpyAsync");
    return;
  }
  check(cudaMemcpy2DAsync(target, target_stride, source, run_bytes, run_bytes, run_count, cudaMemcpyDeviceToDevice,
                          queue),
        "cudaMemcpy2DAsync");
}

void set_zero(std::byte* target, const std::string& device, std::size_t bytes) {
  if (bytes == 0) return;
  auto& state = state_of(device);
  state.make_current();
  check(cudaMemsetAsync(target, 0, bytes, state.work().handle()), "cudaMemsetAsync");
}

memory_statistics statistics_of_pinned_memory() { return pinned_memory().statistics(); }

void release_kept_pinned_memory() { pinned_memory().release_kept(); }

}  // namespace troupe::cuda
