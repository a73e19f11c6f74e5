#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/base/device_name.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/cuda/internal/cuda_device_state.hpp>
#include <troupe/device/cuda/internal/real_device.hpp>

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

namespace troupe::cuda {

namespace {

struct discovery {
  int count = 0;
  cudaError_t result = cudaSuccess;
};

// Asked once: CUDA does not change its answer within a process.
const discovery& physical_devices() noexcept {
  static const auto found = [] {
    discovery answer;
    answer.result = cudaGetDeviceCount(&answer.count);
    if (answer.result != cudaSuccess) {
      answer.count = 0;
      static_cast<void>(cudaGetLastError());
    }
    return answer;
  }();
  return found;
}

int gpu_index_of(const std::string& device) {
  const auto name = device_name::parse(device);
  if (name.type == "GPU") return name.index;
  throw invalid_argument_error{fmt::format("\"{}\" is no GPU; expected a name like \"GPU:0\"", device)};
}

// The logical devices of the process. Never destroyed: tensors with static storage duration give memory back at exit.
class device_registry {
 public:
  static device_registry& instance() {
    static auto* registry = new device_registry;
    return *registry;
  }

  device_state& find(const std::string& device) {
    const auto index = gpu_index_of(device);
    std::lock_guard lock{mutex_};
    check_exists(device, index);
    const auto position = static_cast<std::size_t>(index);
    if (states_.size() <= position) states_.resize(position + 1);
    auto& state = states_[position];
    if (!state) state = std::make_unique<device_state>(index, index / per_gpu_);
    return *state;
  }

  int find_physical_index(const std::string& device) {
    const auto index = gpu_index_of(device);
    std::lock_guard lock{mutex_};
    check_exists(device, index);
    is_named_ = true;
    return index / per_gpu_;
  }

  std::vector<device_state*> states_on(int physical_index) {
    std::lock_guard lock{mutex_};
    std::vector<device_state*> found;
    for (const auto& state : states_) {
      if (state && state->physical_index() == physical_index) found.push_back(state.get());
    }
    return found;
  }

  int logical_count() {
    std::lock_guard lock{mutex_};
    return count();
  }

  void configure(int per_gpu) {
    if (per_gpu < 1) {
      throw invalid_argument_error{
          fmt::format("cannot make {} logical devices of each GPU; expected 1 or more", per_gpu)};
    }
    std::lock_guard lock{mutex_};
    if ((is_named_ || !states_.empty()) && per_gpu != per_gpu_) {
      throw failed_precondition_error{
          fmt::format("cannot make {} logical devices of each GPU: a GPU is in use already, with {}; call "
                      "configure_logical_devices before anything names a GPU",
                      per_gpu, per_gpu_)};
    }
    per_gpu_ = per_gpu;
  }

 private:
  int count() const noexcept { return physical_devices().count * per_gpu_; }

  void check_exists(const std::string& device, int index) const {
    const auto& found = physical_devices();
    if (found.count == 0) {
      throw unavailable_error{
          fmt::format("\"{}\" cannot be used: there is no CUDA device on this machine (cudaGetDeviceCount: {}); use "
                      "\"CPU:0\", emulate GPUs ({}=4), or run where there is a GPU with its driver",
                      device, found.result == cudaSuccess ? "0 devices" : cudaGetErrorString(found.result),
                      emulated_gpus_variable)};
    }
    if (index < count()) return;
    throw invalid_argument_error{fmt::format(
        "\"{}\" does not exist: this process has {} GPU{} and {} logical device{} on each; expected \"GPU:0\"{}",
        device, found.count, found.count == 1 ? "" : "s", per_gpu_, per_gpu_ == 1 ? "" : "s",
        count() == 1 ? "" : fmt::format(" to \"GPU:{}\"", count() - 1))};
  }

  std::mutex mutex_;
  int per_gpu_ = 1;
  bool is_named_ = false;
  std::vector<std::unique_ptr<device_state>> states_;  // null until first used
};

class recorded_point final : public work_point {
 public:
  explicit recorded_point(stream& of) { point_.record(of.handle()); }

  bool is_reached() override { return point_.is_reached(); }
  bool wait_until(std::chrono::steady_clock::time_point deadline) override { return point_.wait_until(deadline); }

 private:
  event point_;
};

void* allocate_on_current_gpu(std::size_t bytes) {
  void* memory = nullptr;
  const auto result = cudaMalloc(&memory, bytes);
  if (result == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  check(result, "cudaMalloc");
  return memory;
}

}  // namespace

device_state::device_state(int index, int physical_index)
    : name_(fmt::format("GPU:{}", index)),
      physical_index_((make_current(physical_index), physical_index)),
      memory_(name_, {.allocate =
                          [physical_index](std::size_t bytes) {
                            make_current(physical_index);
                            return allocate_on_current_gpu(bytes);
                          },
                      // Fails only when the driver is shutting down at exit, and then the memory is gone anyway.
                      .release = [](void* memory) { cudaFree(memory); },
                      .reclaim = [this] { upload_memory_.give_back(); }}),
      upload_memory_(name_, memory_, [this] { return record(); }) {}

void device_state::synchronize(stream& which) {
  make_current();
  if (which.synchronize(device_wait_deadline())) return;
  throw_device_is_late(name_, &which == &work_ ? "work is queued that has not ended" : "it is in a copy with the host");
}

std::unique_ptr<work_point> device_state::record(stream& which) {
  make_current();
  return std::make_unique<recorded_point>(which);
}

void device_state::release_kept_memory() {
  make_current();
  upload_memory_.give_back();
  memory_.release_kept();
}

void device_state::order(stream& later, stream& earlier) {
  make_current();
  event queued;
  queued.record(earlier.handle());
  later.wait_for(queued);
}

void device_state::wait_for(device_state& other) {
  other.make_current();  // an event belongs to the GPU that records it
  event queued;
  queued.record(other.work_.handle());
  work_.wait_for(queued);
}

device_state& state_of(const std::string& device) {
  // A thread mostly works with one device, whose state stays: no lock for each kernel.
  thread_local device_state* last = nullptr;
  if (last == nullptr || last->name() != device) last = &device_registry::instance().find(device);
  return *last;
}

std::vector<device_state*> states_on(int physical_index) {
  return device_registry::instance().states_on(physical_index);
}

bool is_built() noexcept { return true; }

int physical_device_count() noexcept { return physical_devices().count; }

int logical_device_count() { return device_registry::instance().logical_count(); }

void configure_logical_devices(int per_gpu) { device_registry::instance().configure(per_gpu); }

int physical_index_of(const std::string& device) { return device_registry::instance().find_physical_index(device); }

CUstream_st* stream_of(const std::string& device) {
  check_is_real(device);
  auto& state = state_of(device);
  state.make_current();
  return state.work().handle();
}

}  // namespace troupe::cuda
