// One reduction for many small tensors.
//
// Problem: a model has hundreds of gradients, most of them small, and a collective costs some microseconds before it
// moves its first byte. So tensors travel together, in packs. They go in reverse order: backward passes yield the last
// layers' gradients first, so those need not wait for the others. Semantics: examples/reference/semantics.md 3.1.
#pragma once

#include <troupe/device/collectives/communication_options.hpp>
#include <troupe/device/collectives/communicator.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// Which tensors travel together: positions, in the order in which the packs are reduced. A pack is of one dtype. It
/// takes further tensors until its size exceeds bytes_per_pack, so packs are rather large than many.
/// 0 chooses: packs of about `automatic_bytes`, and tensors of that size or more alone, since those gain nothing from
/// company but would have to be copied.
std::vector<std::vector<std::size_t>> plan_packs(std::span<const tensor> tensors, std::int64_t bytes_per_pack,
                                                 std::int64_t automatic_bytes = std::int64_t{1} << 20);

/// What is best between ranks of this kind.
std::int64_t automatic_pack_bytes(const communicator& ranks);

/// Every tensor becomes its reduction over all ranks, as if each had been reduced by itself. All ranks pass tensors of
/// equal dtypes and sizes in the same order, with equal options. A tensor that is a pack by itself is reduced in place;
/// those that travelled together share the pack's memory afterwards, which the next write to one of them undoes.
///
/// `limit` is each pack's, unless options.timeout is set; between ranks on devices, where all packs are queued at once,
/// that of all. Throws what communicator::all_reduce throws; then some of the tensors may be reduced already. Throws
/// invalid_argument_error before anything is sent for a negative option, and where one of the tensors cannot be
/// reduced.
void all_reduce_packed(communicator& ranks, std::span<tensor> tensors, reduce_op op,
                       const communication_options& options, std::chrono::nanoseconds limit);

/// The same, going on by itself where ranks are on devices; elsewhere it is over when it is made. Ranks that start may
/// meet ranks that call.
class started_packed_reduction {
 public:
  started_packed_reduction(communicator& ranks, std::vector<tensor> tensors, reduce_op op,
                           const communication_options& options, std::chrono::nanoseconds limit);
  started_packed_reduction(const started_packed_reduction&) = delete;
  started_packed_reduction& operator=(const started_packed_reduction&) = delete;

  /// The reduced tensors. Once, in the thread that has started it, while the communicator is there.
  std::vector<tensor> wait();

 private:
  std::vector<tensor> tensors_;
  std::vector<std::vector<std::size_t>> packs_;
  std::vector<tensor> joined_;
  // Ends before the tensors do, which the device may still write.
  std::unique_ptr<started_collective> reduction_;
};

}  // namespace troupe
