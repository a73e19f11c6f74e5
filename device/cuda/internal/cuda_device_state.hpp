// What the process keeps for each logical device: its GPU, its streams, its memory. Private to the CUDA part.
#pragma once

#include <troupe/device/accelerators/upload_memory.hpp>
#include <troupe/device/accelerators/work_point.hpp>
#include <troupe/device/cuda/internal/cuda_stream.hpp>
#include <troupe/device/tensor/internal/caching_allocator.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe::cuda {

/// A logical device. Lives from its first use to the end of the process.
class device_state {
 public:
  /// Makes the GPU the thread's current one, and its first use by this process.
  device_state(int index, int physical_index);

  const std::string& name() const noexcept { return name_; }
  int physical_index() const noexcept { return physical_index_; }
  stream& work() noexcept { return work_; }
  stream& uploads() noexcept { return uploads_; }
  stream& collectives() noexcept { return collectives_; }
  caching_allocator& memory() noexcept { return memory_; }
  troupe::upload_memory& upload_memory() noexcept { return upload_memory_; }
  /// Gives what is kept for reuse back to CUDA.
  void release_kept_memory();

  /// Calls into CUDA that follow on this thread are for this GPU.
  void make_current() const { make_current(physical_index_); }
  /// Blocks the calling thread until all work queued so far is done. Throws deadline_exceeded_error as device_waits.hpp
  /// says. Makes the GPU the current one.
  void synchronize() { synchronize(work_); }
  void synchronize(stream& which);
  /// The point behind all work that is queued now. Makes the GPU the current one.
  std::unique_ptr<work_point> record() { return record(work_); }
  std::unique_ptr<work_point> record(stream& which);
  /// Work that is queued here from now on starts after the work that `other` has queued so far. Makes the other's GPU
  /// the current one.
  void wait_for(device_state& other);
  /// What is queued on a stream of this device from now on starts after what another of them has. Makes the GPU the
  /// current one.
  void order(stream& later, stream& earlier);

 private:
  static void make_current(int physical_index) { check(cudaSetDevice(physical_index), "cudaSetDevice"); }

  const std::string name_;
  const int physical_index_;
  stream work_;
  stream uploads_;
  stream collectives_;
  caching_allocator memory_;
  troupe::upload_memory upload_memory_;
};

/// The state of a device by name, made on first use. Throws as accelerators.hpp says.
device_state& state_of(const std::string& device);

/// The logical devices in use that are parts of this GPU.
std::vector<device_state*> states_on(int physical_index);

}  // namespace troupe::cuda
