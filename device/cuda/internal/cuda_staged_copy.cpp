#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/cuda/internal/cuda_memory.hpp>
#include <troupe/device/cuda/internal/cuda_staged_copy.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace troupe::cuda {

namespace {

constexpr std::size_t piece_bytes = std::size_t{2} << 20;
/// With less, it takes longer to start the threads than they save.
constexpr std::size_t staged_bytes_min = std::size_t{8} << 20;
constexpr unsigned threads_max = 4;
constexpr std::chrono::seconds patience_after_problem{2};

/// Leaves most processors to others, and a machine with few to CUDA's own way.
std::size_t thread_count() {
  static const auto count = std::clamp(std::thread::hardware_concurrency() / 4, 1u, threads_max);
  return count;
}

bool is_pinned(const std::byte* host) {
  cudaPointerAttributes known{};
  if (cudaPointerGetAttributes(&known, host) == cudaSuccess) return known.type != cudaMemoryTypeUnregistered;
  static_cast<void>(cudaGetLastError());
  return false;
}

/// Pinned memory of a piece, and when the bus is done with it.
struct piece {
  buffer memory = allocate_pinned(piece_bytes);
  event moved;
  std::size_t begin = 0;
  std::size_t bytes = 0;  // 0: it is on no way
};

/// What one thread works with, made while the GPU is current.
using pieces_of_thread = std::array<piece, 2>;

class staged_copy {
 public:
  staged_copy(std::byte* target, const std::byte* source, std::size_t bytes, cudaMemcpyKind direction,
              device_state& gpu, stream& on)
      : target_(target),
        source_(source),
        bytes_(bytes),
        direction_(direction),
        gpu_(gpu),
        stream_(on),
        pieces_(std::min(thread_count(), bytes / piece_bytes)) {}

  void run() {
    {
      std::vector<std::jthread> helpers;
      try {
        for (auto own = pieces_.begin() + 1; own != pieces_.end(); ++own)
          helpers.emplace_back([this, own] { work(*own); });
      } catch (const std::system_error&) {
        // No more threads for this process: those that there are do it all.
      }
      work(pieces_.front());
    }
    if (!problem_) return;
    // What is queued still uses the pinned memory. That of a GPU which hangs is never given back.
    if (!is_over()) static_cast<void>(new auto{std::move(pieces_)});
    std::rethrow_exception(problem_);
  }

 private:
  void work(pieces_of_thread& own) noexcept {
    try {
      gpu_.make_current();
      for (std::size_t turn = 0;; ++turn) {
        auto& next = own[turn % own.size()];
        finish(next);
        next.begin = next_.fetch_add(piece_bytes);
        if (next.begin >= bytes_) break;
        next.bytes = std::min(piece_bytes, bytes_ - next.begin);
        start(next);
      }
      for (auto& each : own) finish(each);
    } catch (...) {
      next_ = bytes_;
      const std::scoped_lock lock{mutex_};
      if (!problem_) problem_ = std::current_exception();
    }
  }

  void start(piece& which) {
    auto* const pinned = which.memory.mutable_data();
    const auto to_gpu = direction_ == cudaMemcpyHostToDevice;
    if (to_gpu) std::memcpy(pinned, source_ + which.begin, which.bytes);
    check(cudaMemcpyAsync(to_gpu ? target_ + which.begin : pinned, to_gpu ? pinned : source_ + which.begin, which.bytes,
                          direction_, stream_.handle()),
          "cudaMemcpyAsync");
    which.moved.record(stream_.handle());
  }

  bool is_over() const noexcept {
    try {
      return stream_.synchronize(std::chrono::steady_clock::now() + patience_after_problem);
    } catch (const error&) {
      return true;  // the GPU has failed, and does nothing any more
    }
  }

  void finish(piece& which) {
    if (which.bytes == 0) return;
    if (!which.moved.wait_until(deadline_)) throw_device_is_late(gpu_.name(), "it is in a copy with the host");
    if (direction_ == cudaMemcpyDeviceToHost) std::memcpy(target_ + which.begin, which.memory.data(), which.bytes);
    which.bytes = 0;
  }

  std::byte* const target_;
  const std::byte* const source_;
  const std::size_t bytes_;
  const cudaMemcpyKind direction_;
  device_state& gpu_;
  stream& stream_;
  const std::chrono::steady_clock::time_point deadline_ = device_wait_deadline();
  std::vector<pieces_of_thread> pieces_;  // by thread
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr problem_;
};

}  // namespace

bool copy_staged(std::byte* target, const std::byte* source, std::size_t bytes, cudaMemcpyKind direction,
                 device_state& gpu, stream& on) {
  if (bytes < staged_bytes_min || thread_count() == 1) return false;
  if (is_pinned(direction == cudaMemcpyHostToDevice ? source : target)) return false;
  std::optional<staged_copy> copy;
  try {
    copy.emplace(target, source, bytes, direction, gpu, on);
  } catch (const resource_exhausted_error&) {
    return false;
  }
  copy->run();
  return true;
}

}  // namespace troupe::cuda
