// Streams and events of CUDA that end with their scope. Private to the CUDA part.
//
// Both belong to the GPU that is the thread's current one when they are made.
#pragma once

#include <troupe/device/cuda/internal/cuda_check.hpp>

#include <chrono>
#include <thread>

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

  /// Blocks the calling thread until it is; false at the deadline. Throws as above.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline) const {
    // Most waits are short: so long it is worth not to sleep.
    constexpr std::chrono::microseconds spin_time{200};
    constexpr std::chrono::microseconds sleep_time{50};
    const auto begin = std::chrono::steady_clock::now();
    while (!is_reached()) {
      const auto now = std::chrono::steady_clock::now();
      if (now >= deadline) return false;
      if (now - begin < spin_time)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(sleep_time);
    }
    return true;
  }

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

  /// Blocks the calling thread until all work queued so far is done; false at the deadline.
  [[nodiscard]] bool synchronize(std::chrono::steady_clock::time_point deadline) {
    event end;
    end.record(handle_);
    return end.wait_until(deadline);
  }

  /// Work that is queued here from now on starts after that point of another stream.
  void wait_for(const event& reached) {
    check(cudaStreamWaitEvent(handle_, reached.handle(), 0), "cudaStreamWaitEvent");
  }

  cudaStream_t handle() const noexcept { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

}  // namespace troupe::cuda
