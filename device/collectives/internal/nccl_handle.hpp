// A non-blocking NCCL communicator that any thread can abort. Private to nccl_communicator.cpp.
//
// NCCL's calls for one communicator must not overlap, and an abort may take long or, when a GPU is lost, hang. So the
// calls are short (the communicator is non-blocking: they return ncclInProgress, and is_settled() asks for the end) and
// happen under a mutex; and an abort takes the communicator away from all others and ends it on a thread of its own.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/device/cuda/internal/cuda_check.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <string_view>

#include <nccl.h>

namespace troupe {

/// Throws unless the call succeeded or goes on: unavailable_error for another rank's failure, else internal_error. The
/// message has NCCL's reasons. `handle` may be null.
void check_nccl(ncclResult_t result, std::string_view call, ncclComm_t handle = nullptr,
                const cuda::source_location& place = cuda::source_location::current());

class nccl_handle {
 public:
  /// Begins to join the group, on the thread's current GPU; is_settled() says when it has.
  nccl_handle(int rank, int size, const ncclUniqueId& id);
  nccl_handle(const nccl_handle&) = delete;
  nccl_handle& operator=(const nccl_handle&) = delete;
  /// Aborts if finish() has not ended it. Waits for an abort, but not forever.
  ~nccl_handle();

  /// Calls f with the communicator; f calls NCCL once and returns its result. Throws aborted_error after an abort.
  void enqueue(std::string_view call, const std::function<ncclResult_t(ncclComm_t)>& f);

  /// Whether NCCL is done with what was asked for: joining, or queueing a collective. Throws what went wrong since.
  bool is_settled();

  /// Ends whatever is going on. Returns at once. Any thread; again does nothing.
  void abort() noexcept;

  /// Leaves in order, so that others can finish what they still read from here; aborts at the deadline.
  void finish(std::chrono::steady_clock::time_point deadline) noexcept;

 private:
  std::mutex mutex_;
  ncclComm_t handle_ = nullptr;  // null once aborted or finished
  std::future<void> abort_done_;
};

}  // namespace troupe
