#include <troupe/device/base/error.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/cuda/internal/cuda_device_state.hpp>
#include <troupe/device/cuda/internal/nccl_group.hpp>
#include <troupe/device/cuda/internal/nccl_library.hpp>

#include <fmt/format.h>

#include <bit>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

namespace troupe::cuda {

namespace {

constexpr auto abort_patience = std::chrono::seconds{10};
constexpr auto poll_interval = std::chrono::microseconds{100};

/// Throws unless the call succeeded or goes on: unavailable_error for another rank's failure, else internal_error. The
/// message has NCCL's reasons. `handle` may be null.
void check_nccl(ncclResult_t result, std::string_view call, ncclComm_t handle = nullptr,
                const source_location& place = source_location::current()) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const auto code = result == ncclRemoteError ? status_code::unavailable : status_code::internal;
  const auto* details = nccl::get_last_error(handle);
  throw_status(
      {code, fmt::format("{} failed: {}{}{}, at {}:{}", call, nccl::get_error_string(result),
                         details && *details ? ": " : "", details ? details : "", file_name_of(place), place.line())});
}

/// Nullopt for what NCCL cannot add.
std::optional<ncclDataType_t> nccl_type_of(dtype type) {
  switch (type) {
    case dtype::float32:
      return ncclFloat32;
    case dtype::float64:
      return ncclFloat64;
    case dtype::float16:
      return ncclFloat16;
    case dtype::bfloat16:
      return ncclBfloat16;
    case dtype::int8:
      return ncclInt8;
    case dtype::int32:
      return ncclInt32;
    case dtype::int64:
      return ncclInt64;
    case dtype::uint8:
      return ncclUint8;
    case dtype::int16:
    case dtype::boolean:
      return std::nullopt;
  }
  throw_unknown_dtype(type);
}

ncclDataType_t reducible_type_of(const collective& call) {
  if (const auto type = nccl_type_of(call.type)) return *type;
  throw unimplemented_error{fmt::format("{}: NCCL has no {}", to_string(call), to_string(call.type))};
}

ncclRedOp_t nccl_operation_of(reduce_op op) {
  switch (op) {
    case reduce_op::sum:
      return ncclSum;
    case reduce_op::mean:
      return ncclAvg;
    case reduce_op::min:
      return ncclMin;
    case reduce_op::max:
      return ncclMax;
    case reduce_op::product:
      return ncclProd;
  }
  throw internal_error{fmt::format("{} is no operation of NCCL", to_string(op))};
}

class nccl_group final : public device_group {
 public:
  nccl_group(device_state& gpu, const ncclUniqueId& id, int rank, int size) : gpu_(gpu), size_(size) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    gpu_.make_current();
    const auto result = nccl::comm_init_rank_config(&handle_, size, id, rank, &config);
    try {
      check_nccl(result, "ncclCommInitRankConfig", handle_);
    } catch (...) {
      abort();
      throw;
    }
  }

  // Waits for an abort, but not forever.
  ~nccl_group() override {
    abort();
    if (abort_done_.valid()) abort_done_.wait_for(abort_patience);
  }

  bool is_settled() override {
    const std::scoped_lock lock{mutex_};
    if (!handle_) throw aborted_error{"the NCCL communicator was aborted"};
    auto state = ncclSuccess;
    check_nccl(nccl::comm_get_async_error(handle_, &state), "ncclCommGetAsyncError", handle_);
    check_nccl(state, "an NCCL operation", handle_);
    return state == ncclSuccess;
  }

  void launch(const collective& call, const std::byte* input, std::byte* output) override {
    gpu_.order(gpu_.collectives(), gpu_.work());
    enqueue(to_string(call.kind), [&](ncclComm_t handle) { return queue(call, input, output, handle); });
  }

  void abort() noexcept override;
  void finish(std::chrono::steady_clock::time_point deadline) noexcept override;

 private:
  /// Calls f with the communicator; f calls NCCL once and returns its result.
  void enqueue(std::string_view call, const std::function<ncclResult_t(ncclComm_t)>& f) {
    const std::scoped_lock lock{mutex_};
    if (!handle_) throw aborted_error{fmt::format("{}: the communicator was aborted", call)};
    check_nccl(f(handle_), call, handle_);
  }
  ncclResult_t queue(const collective& call, const std::byte* input, std::byte* output, ncclComm_t handle) const;

  device_state& gpu_;
  const int size_;
  std::mutex mutex_;
  ncclComm_t handle_ = nullptr;  // null once aborted or finished
  std::future<void> abort_done_;
};

// Data that is only moved moves as bytes, whatever the dtype.
ncclResult_t nccl_group::queue(const collective& call, const std::byte* input, std::byte* output,
                               ncclComm_t handle) const {
  const auto count = static_cast<std::size_t>(call.count);
  const auto bytes = count * size_bytes(call.type);
  const auto stream = gpu_.collectives().handle();
  switch (call.kind) {
    case collective_kind::all_reduce:
      return nccl::all_reduce(input, output, count, reducible_type_of(call), nccl_operation_of(call.op), handle,
                              stream);
    case collective_kind::reduce_scatter:
      return nccl::reduce_scatter(input, output, count / static_cast<std::size_t>(size_), reducible_type_of(call),
                                  nccl_operation_of(call.op), handle, stream);
    case collective_kind::all_gather:
      return nccl::all_gather(input, output, bytes, ncclUint8, handle, stream);
    case collective_kind::broadcast:
      return nccl::broadcast(input, output, bytes, ncclUint8, call.root, handle, stream);
    case collective_kind::barrier:
      break;
  }
  return ncclSuccess;
}

void nccl_group::abort() noexcept {
  const std::scoped_lock lock{mutex_};
  auto* handle = std::exchange(handle_, nullptr);
  if (!handle) return;
  // Its result does not matter: there is nothing more to do about this communicator.
  try {
    std::packaged_task<void()> task{[handle] { static_cast<void>(nccl::comm_abort(handle)); }};
    abort_done_ = task.get_future();
    std::thread{std::move(task)}.detach();  // it owns all that it uses, and if it hangs, nobody hangs with it
  } catch (const std::exception&) {
    static_cast<void>(nccl::comm_abort(handle));  // no thread to be had
  }
}

void nccl_group::finish(std::chrono::steady_clock::time_point deadline) noexcept {
  try {
    enqueue("ncclCommFinalize", [](ncclComm_t handle) { return nccl::comm_finalize(handle); });
    while (!is_settled()) {
      if (std::chrono::steady_clock::now() >= deadline) return abort();
      std::this_thread::sleep_for(poll_interval);
    }
    const std::scoped_lock lock{mutex_};
    if (auto* handle = std::exchange(handle_, nullptr)) static_cast<void>(nccl::comm_destroy(handle));
  } catch (const std::exception&) {
    abort();  // a failure of the last moment has nobody left to tell
  }
}

}  // namespace

bool is_nccl_built() noexcept { return true; }

device_group_id new_nccl_group() {
  ncclUniqueId id{};
  check_nccl(nccl::get_unique_id(&id), "ncclGetUniqueId");
  return std::bit_cast<device_group_id>(id);
}

std::unique_ptr<device_group> join_nccl_group(const std::string& device, const device_group_id& id, int rank,
                                              int size) {
  return std::make_unique<nccl_group>(state_of(device), std::bit_cast<ncclUniqueId>(id), rank, size);
}

}  // namespace troupe::cuda
