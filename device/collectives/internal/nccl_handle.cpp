#include <troupe/device/collectives/internal/nccl_handle.hpp>
#include <troupe/device/collectives/internal/nccl_library.hpp>

#include <fmt/format.h>

#include <exception>
#include <thread>
#include <utility>

namespace troupe {

namespace {

constexpr auto abort_patience = std::chrono::seconds{10};
constexpr auto poll_interval = std::chrono::microseconds{100};

}  // namespace

void check_nccl(ncclResult_t result, std::string_view call, ncclComm_t handle, const cuda::source_location& place) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const auto code = result == ncclRemoteError ? status_code::unavailable : status_code::internal;
  const auto* details = nccl::get_last_error(handle);
  throw_status({code, fmt::format("{} failed: {}{}{}, at {}:{}", call, nccl::get_error_string(result),
                                  details && *details ? ": " : "", details ? details : "", cuda::file_name_of(place),
                                  place.line())});
}

nccl_handle::nccl_handle(int rank, int size, const ncclUniqueId& id) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const auto result = nccl::comm_init_rank_config(&handle_, size, id, rank, &config);
  try {
    check_nccl(result, "ncclCommInitRankConfig", handle_);
  } catch (...) {
    abort();
    throw;
  }
}

nccl_handle::~nccl_handle() {
  abort();
  if (abort_done_.valid()) abort_done_.wait_for(abort_patience);
}

void nccl_handle::enqueue(std::string_view call, const std::function<ncclResult_t(ncclComm_t)>& f) {
  std::lock_guard lock{mutex_};
  if (!handle_) throw aborted_error{fmt::format("{}: the communicator was aborted", call)};
  check_nccl(f(handle_), call, handle_);
}

bool nccl_handle::is_settled() {
  std::lock_guard lock{mutex_};
  if (!handle_) throw aborted_error{"the NCCL communicator was aborted"};
  auto state = ncclSuccess;
  check_nccl(nccl::comm_get_async_error(handle_, &state), "ncclCommGetAsyncError", handle_);
  check_nccl(state, "an NCCL operation", handle_);
  return state == ncclSuccess;
}

void nccl_handle::abort() noexcept {
  std::lock_guard lock{mutex_};
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

void nccl_handle::finish(std::chrono::steady_clock::time_point deadline) noexcept {
  try {
    enqueue("ncclCommFinalize", [](ncclComm_t handle) { return nccl::comm_finalize(handle); });
    while (!is_settled()) {
      if (std::chrono::steady_clock::now() >= deadline) return abort();
      std::this_thread::sleep_for(poll_interval);
    }
    std::lock_guard lock{mutex_};
    if (auto* handle = std::exchange(handle_, nullptr)) static_cast<void>(nccl::comm_destroy(handle));
  } catch (const std::exception&) {
    abort();  // a failure of the last moment has nobody left to tell
  }
}

}  // namespace troupe
