// A device of this process that is not its processors: memory that host code can't reach, what it computes there, and
// streams of that work, of uploads and of collectives.
//
// Whoever has operands on a device asks accelerator_of (accelerators.hpp) and calls the one that has them; nobody else
// knows which kinds there are. A kind is one folder that implements this class: device/cuda, device/emulated.
//
// A-1 All work on a device is done in the order of the calls, which return before it is done. What touches the host's
//     memory (copy_from_host, copy_to_host) and synchronize() wait for it. Only upload() goes beside it, into memory
//     that no queued work uses; and collectives (device_group.hpp), for which wait_for_collectives() lets later work
//     wait.
// A-2 Memory that is given back while queued work uses it may be handed out again at once: whoever gets it queues
//     behind that work.
// A-3 An error in the work itself is thrown by a later call that waits.
// A-4 Whoever waits for a device stops at the limit that device_waits.hpp says, with deadline_exceeded_error that names
//     it; its work may go on, but touches no memory of the host any more.
//
// Errors of all functions: as accelerators.hpp says. Operands are checked by the callers in device/kernels: dtypes,
// shapes, all on this device. Any thread may call these.
#pragma once

#include <troupe/device/accelerators/work_point.hpp>
#include <troupe/device/collectives/device_group.hpp>
#include <troupe/device/kernels/custom_kernel.hpp>
#include <troupe/device/kernels/matmul.hpp>
#include <troupe/device/kernels/reduction.hpp>
#include <troupe/device/tensor/buffer.hpp>
#include <troupe/device/tensor/internal/caching_allocator.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace troupe {

enum class binary_operation : std::uint8_t { add, subtract, multiply, divide, minimum, maximum };
/// What becomes of a row of a target.
enum class row_operation : std::uint8_t { update, add, subtract };

/// A device, for people and for decisions.
struct device_description {
  /// "GPU:1".
  std::string name;
  /// "NVIDIA H200", "emulated GPU".
  std::string model;
  /// The GPU that the device is, or is a part of, as its makers count.
  int physical_index = 0;
  int compute_capability_major = 0;
  int compute_capability_minor = 0;
  /// Of the whole GPU; the second: now.
  std::size_t memory_bytes = 0;
  std::size_t free_memory_bytes = 0;
  bool is_emulated = false;
};

class accelerator {
 public:
  virtual ~accelerator() = default;
  accelerator(const accelerator&) = delete;
  accelerator& operator=(const accelerator&) = delete;

  /// "GPU:1", as tensor::device() says it.
  const std::string& name() const noexcept { return name_; }
  /// As in device_description.
  int physical_index() const noexcept { return physical_index_; }
  virtual bool is_emulated() const noexcept = 0;
  virtual device_description describe() = 0;

  /// Blocks the calling thread until all work that is queued is done, and the collectives that it waits for.
  virtual void synchronize() = 0;
  /// The point behind all work that is queued now.
  virtual std::unique_ptr<work_point> record() = 0;

  // -- memory ---------------------------------------------------------------------------------------------------------

  /// Indeterminate contents, kept for reuse once the last handle is gone.
  virtual buffer allocate(std::size_t bytes) = 0;
  virtual memory_statistics statistics() = 0;
  /// The most that this process may use and keep here, in bytes; what is in use stays.
  virtual void set_memory_limit(std::size_t bytes) = 0;
  /// Gives what is kept for reuse back.
  virtual void release_kept_memory() = 0;

  /// A new buffer with these bytes of the host's. Done on return, while queued work goes on.
  virtual buffer upload(const std::byte* source, std::size_t bytes) = 0;
  /// Done on return, and all work that was queued before.
  virtual void copy_from_host(std::byte* target, const std::byte* source, std::size_t bytes) = 0;
  virtual void copy_to_host(std::byte* target, const std::byte* source, std::size_t bytes) = 0;
  /// Queues a copy to here, which begins after all work on both devices. `source_device` is of the same kind, or this.
  virtual void copy_from(accelerator& source_device, std::byte* target, const std::byte* source, std::size_t bytes) = 0;
  /// Queues a copy of runs of bytes, which lie without gaps at the source and a stride apart at the target.
  virtual void copy_runs(std::byte* target, std::size_t target_stride, const std::byte* source, std::size_t run_bytes,
                         std::size_t run_count) = 0;
  virtual void set_zero(std::byte* target, std::size_t bytes) = 0;

  // -- computation: each has the meaning of its namesake in device/kernels --------------------------------------------

  /// Divides no integers.
  virtual void combine_in_place(binary_operation operation, tensor& target, const tensor& x) = 0;
  virtual void scale_in_place(tensor& target, double factor) = 0;
  virtual void axpy_in_place(tensor& target, double factor, const tensor& x) = 0;
  /// The target is not shared.
  virtual void fill(tensor& target, double value) = 0;
  virtual tensor cast(const tensor& x, dtype type) = 0;
  virtual tensor reduce_sum(const tensor& x, const reduction_axes& axes) = 0;
  virtual tensor reduce_mean(const tensor& x, const reduction_axes& axes) = 0;
  /// Indices are rows of the tensor; in scatter_rows they may come several times, in their order.
  virtual tensor gather_rows(const tensor& source, std::span<const std::int64_t> indices) = 0;
  virtual void scatter_rows(row_operation operation, tensor& target, std::span<const std::int64_t> indices,
                            const tensor& rows) = 0;
  /// No extent of the operands is 0.
  virtual tensor matmul(const tensor& a, const tensor& b, transposition transposed) = 0;

  virtual void sgd_update(tensor& variable, const tensor& gradient, double learning_rate) = 0;
  virtual void momentum_update(tensor& variable, tensor& velocity, const tensor& gradient, double learning_rate,
                               double momentum, bool nesterov) = 0;
  virtual void adagrad_update(tensor& variable, tensor& accumulator, const tensor& gradient, double learning_rate,
                              double epsilon) = 0;
  virtual void adam_update(tensor& variable, tensor& m, tensor& v, const tensor& gradient, double learning_rate,
                           double beta1, double beta2, double epsilon, std::int64_t step) = 0;

  /// Has the function for this kind of device; the targets are not shared.
  virtual void launch(const custom_kernel& kernel, std::span<tensor> targets, std::span<const tensor> inputs) = 0;

  // -- collectives: device_group.hpp has the rules --------------------------------------------------------------------

  /// The id of a new group, for all that shall join it.
  virtual device_group_id new_group(group_reach reach) = 0;
  /// Begins to join that group of devices of this kind, each another GPU. Emulated ones of several processes, which
  /// have to be on one host, wait here for each other, as device_waits.hpp says.
  virtual std::unique_ptr<device_group> join_group(const device_group_id& id, int rank, int size) = 0;
  /// The point behind all collectives that are launched now.
  virtual std::unique_ptr<work_point> record_collectives() = 0;
  /// Work that is queued from now on begins behind them.
  virtual void wait_for_collectives() = 0;

 protected:
  accelerator(std::string name, int physical_index) : name_(std::move(name)), physical_index_(physical_index) {}

 private:
  const std::string name_;
  const int physical_index_;
};

}  // namespace troupe
