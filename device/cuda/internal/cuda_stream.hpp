// Streams and events of CUDA that end with their scope. Private to the CUDA part.
//
// Both belong to the GPU that is the thread's current one when they are made.
#pragma once

#include <troupe/device/cuda/internal/cuda_check.hpp>

namespace troupe::cuda {

/// A point in the work of a stream.
class event {
 public:
  event() { check(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { cudaEventDestroy(handle_); }  // work that waits for it goes on

  void record(cudaStream_t stream) { check(cudaEventRecord(handle_, stream), "cudaEventRecord"); }

  /// Whether the work before the recorded point is done. Throws what went wrong in it.
  bool is_reached() const {
    const auto result = cudaEventQuery(handle_);
    if (result == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // no error, but the next launch would report it as one
      return false;
    }
    check(result, "cudaEventQuery");
    return true;
  }

  /// Blocks the calling thread until it is. Throws as above.
  void wait() const { check(cudaEventSynchronize(handle_), "cudaEventSynchronize"); }

  cudaEvent_t handle() const noexcept { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

/// Work in order.
class stream {
 public:
  // Non-blocking: not ordered with the default stream, which other libraries in the process may use.
  stream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  ~stream() { cudaStreamDestroy(handle_); }

  /// Blocks the calling thread until all work queued so far is done.
  void synchronize() { check(cudaStreamSynchronize(handle_), "cudaStreamSynchronize"); }

  /// Work that is queued here from now on starts after that point of another stream.
  void wait_for(const event& reached) {
    check(cudaStreamWaitEvent(handle_, reached.handle(), 0), "cudaStreamWaitEvent");
  }

  cudaStream_t handle() const noexcept { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

}  // namespace troupe::cuda
