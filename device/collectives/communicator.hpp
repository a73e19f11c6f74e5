// One rank's end of a group that computes together: all_reduce, all_gather, reduce_scatter, broadcast, barrier.
//
// All ranks call the same collectives in the same order, each from one thread at a time; a call blocks the thread until
// this rank's part is done. Implementations: threads of one process (thread_communicator.hpp), processes of one host
// (shared_memory_communicator.hpp), processes of several hosts (message_communicator.hpp), GPUs
// (device_communicator.hpp).
//
// D-1 Every collective ends in bounded time on every rank: with its result, or with an error. The errors:
//   invalid_argument      what this rank passed cannot be used (nothing was sent; the communicator stays usable)
//   failed_precondition   ranks called different collectives; the message shows this rank's call and the other one
//   deadline_exceeded     the limit passed; the message names the ranks that were not there, as far as this one knows
//   the status of abort   somebody aborted the group, because a rank is lost or failed
// After any but the first the communicator is broken: every later call throws the same error at once. Make a new one
// with the ranks that are left.
//
// Results are bitwise equal on all ranks.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/collective.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A collective that goes on while its rank does something else. Left before its end, it leaves the device in order:
/// work that is queued later waits for it.
class started_collective {
 public:
  virtual ~started_collective() = default;
  started_collective(const started_collective&) = delete;
  started_collective& operator=(const started_collective&) = delete;

  /// Returns when the tensors hold their results. Throws as the call would have. Once, in the thread that has called.
  virtual void wait() = 0;

 protected:
  started_collective() = default;
};

class communicator {
 public:
  using clock = std::chrono::steady_clock;

  virtual ~communicator() = default;
  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  /// Where the tensors must be, such as "CPU:0".
  const std::string& device() const noexcept { return device_; }

  /// By which limits are measured. Virtual in a simulation.
  virtual clock::time_point now() const { return clock::now(); }

  // Every limit is positive, and tensors are on this communicator's device, else invalid_argument_error. A limit beyond
  // the clock's end, such as nanoseconds::max(), is none.

  /// x becomes the reduction over all ranks' x, in place. Mean needs a floating dtype; booleans cannot be reduced.
  void all_reduce(tensor& x, reduce_op op, std::chrono::nanoseconds limit);
  /// The same for each of several tensors, of which all ranks pass as many, within the one limit.
  void all_reduce(std::span<tensor> all, reduce_op op, std::chrono::nanoseconds limit);
  /// The same, which may return as soon as all ranks have agreed on it and the work is queued: the tensors' contents
  /// are not to be touched before wait(), which counts against the limit, too. Ranks that start may meet ranks that
  /// call.
  std::unique_ptr<started_collective> start_all_reduce(std::span<tensor> all, reduce_op op,
                                                       std::chrono::nanoseconds limit);
  /// All ranks' tensors one after another along axis 0, in the order of ranks. Equal shapes, rank 1 or more.
  tensor all_gather(const tensor& x, std::chrono::nanoseconds limit);
  /// Rank r gets the r-th of `size` equal parts of the reduction along axis 0, whose extent `size` divides.
  tensor reduce_scatter(const tensor& x, reduce_op op, std::chrono::nanoseconds limit);
  /// x becomes the root's x, in place.
  void broadcast(tensor& x, int root, std::chrono::nanoseconds limit);
  /// Returns when all ranks have called it.
  void barrier(std::chrono::nanoseconds limit);

  /// Whether the work is queued on a device: then several tensors at once need one agreement and one wait.
  virtual bool queues_work() const { return false; }

  /// Any thread: ends the call in progress on this rank, and all later ones, with this status (not ok). The first abort
  /// counts. Ranks of the same process, and where possible all others, are ended too.
  virtual void abort(status why) noexcept = 0;
  /// What broke this communicator, if anything did. Any thread.
  virtual std::optional<status> broken() const = 0;

 protected:
  /// `device`: where the tensors are, as tensor::device() says it.
  communicator(int rank, int size, std::string device = "CPU:0")
      : rank_(rank), size_(size), device_(std::move(device)) {}

  /// Performs the call: reads `input` and writes `output` (for broadcast they are equal, and for all_reduce unless this
  /// queues work). Sizes follow from the call: all_gather writes size * count elements, reduce_scatter count / size.
  /// Throws as described above.
  virtual void execute(const collective& call, const std::byte* input, std::byte* output,
                       clock::time_point deadline) = 0;

  /// What `execute` is given.
  struct prepared_call {
    collective call;
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
  };
  /// Performs one after another.
  virtual void execute_all(std::span<const prepared_call> calls, clock::time_point deadline);
  /// Begins to perform them; null if that was all.
  virtual std::unique_ptr<started_collective> start_all(std::span<const prepared_call> calls,
                                                        clock::time_point deadline);

 private:
  void check_device(collective_kind kind, const tensor& x) const;
  class reductions;
  class started_reductions;

  prepared_call prepare_all_reduce(tensor& x, reduce_op op) const;
  void perform(const collective& call, const std::byte* input, std::byte* output, std::chrono::nanoseconds limit);

  int rank_;
  int size_;
  std::string device_;
};

}  // namespace troupe
