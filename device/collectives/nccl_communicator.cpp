#include <troupe/device/base/device_name.hpp>
#include <troupe/device/collectives/internal/nccl_handle.hpp>
#include <troupe/device/collectives/internal/nccl_library.hpp>
#include <troupe/device/collectives/nccl_communicator.hpp>
#include <troupe/device/cuda/internal/cuda_device_state.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace troupe {

namespace {

// Collectives of small tensors take tens of microseconds: so long it is worth not to sleep.
constexpr auto spin_time = std::chrono::microseconds{200};
constexpr auto sleep_time = std::chrono::microseconds{50};
constexpr auto patience_after_loss = std::chrono::milliseconds{200};
constexpr auto finish_patience = std::chrono::seconds{2};

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

bool is_reduction(const collective& call) {
  return call.kind == collective_kind::all_reduce || call.kind == collective_kind::reduce_scatter;
}

/// Rank 0's id, on every rank.
ncclUniqueId share_id(communicator& control, std::chrono::nanoseconds limit) {
  ncclUniqueId id{};
  if (control.rank() == 0) check_nccl(nccl::get_unique_id(&id), "ncclGetUniqueId");
  auto bytes = tensor::uninitialised(dtype::uint8, {sizeof(id)});
  std::memcpy(bytes.mutable_data(), &id, sizeof(id));
  control.broadcast(bytes, 0, limit);
  std::memcpy(&id, bytes.data(), sizeof(id));
  return id;
}

/// A call as a row of numbers.
tensor announce(const collective& call) {
  return tensor::of<std::int64_t>({1, 5}, {static_cast<std::int64_t>(call.kind), static_cast<std::int64_t>(call.op),
                                           static_cast<std::int64_t>(call.type), call.count, call.root});
}

collective announced(const tensor& row) {
  const auto field = row.values<std::int64_t>();
  return {.kind = static_cast<collective_kind>(field[0]),
          .op = static_cast<reduce_op>(field[1]),
          .type = static_cast<dtype>(field[2]),
          .count = field[3],
          .root = static_cast<int>(field[4])};
}

class nccl_communicator final : public communicator {
 public:
  nccl_communicator(std::unique_ptr<communicator> control, std::string device)
      : communicator(control->rank(), control->size(), std::move(device)), control_(std::move(control)) {}

  ~nccl_communicator() override {
    if (nccl_ && !broken()) nccl_->finish(clock::now() + finish_patience);
  }

  /// Before anything else. After an error, the other ranks do not wait for this one.
  void join(std::chrono::nanoseconds limit) {
    try {
      const auto begin = clock::now();
      gpu_ = &cuda::state_of(device());
      const auto id = share_id(*control_, limit);  // refuses a limit that is not positive and finite
      gpu_->make_current();
      nccl_.emplace(rank(), size(), id);
      wait_until([this] { return nccl_->is_settled(); }, "joining the NCCL group", begin + limit);
    } catch (...) {
      abort(status_of(std::current_exception()));
      throw;
    }
  }

  void abort(status why) noexcept override {
    {
      std::lock_guard lock{mutex_};
      if (!broken_) broken_ = why;
    }
    control_->abort(std::move(why));
    if (nccl_) nccl_->abort();
  }

  std::optional<status> broken() const override {
    {
      std::lock_guard lock{mutex_};
      if (broken_) return broken_;
    }
    return control_->broken();
  }

 private:
  void execute(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline) override {
    if (const auto why = broken()) throw_status(*why);
    check_supported(call);
    try {
      agree(call, deadline);
      if (call.kind == collective_kind::barrier || call.count == 0) return;
      const auto name = to_string(call);
      gpu_->make_current();
      nccl_->enqueue(name, [&](ncclComm_t handle) { return queue(call, input, output, handle); });
      wait_until([this] { return nccl_->is_settled(); }, name, deadline);
      cuda::event end;
      end.record(gpu_->work().handle());
      wait_until([&] { return nccl_->is_settled() && end.is_reached(); }, name, deadline);
    } catch (...) {
      abort(status_of(std::current_exception()));
      throw_status(*broken());  // what came first
    }
  }

  void check_supported(const collective& call) const {
    if (!is_reduction(call) || nccl_type_of(call.type)) return;
    throw unimplemented_error{
        fmt::format("{} on {}: NCCL has no {}; cast to int32 first", to_string(call), device(), to_string(call.type))};
  }

  // Returns when all ranks have announced the same call.
  void agree(const collective& call, clock::time_point deadline) {
    const auto announcement = announce(call);
    const auto left = std::max(deadline - clock::now(), clock::duration{1});
    const auto all = [&] {
      try {
        return control_->all_gather(announcement, left);
      } catch (const error& e) {
        throw_status(e.get_status().wrap(fmt::format("{} on {}", to_string(call), device())));
      }
    }();
    for (auto other = 0; other < size(); ++other) {
      if (all.slice(other, other + 1).bitwise_equal(announcement)) continue;
      throw failed_precondition_error{fmt::format(
          "rank {} calls {}, but rank {} calls {}; all ranks must call the same collectives in the same order", rank(),
          to_string(call), other, to_string(announced(all.row(other))))};
    }
  }

  // Data that is only moved moves as bytes, whatever the dtype.
  ncclResult_t queue(const collective& call, const std::byte* input, std::byte* output, ncclComm_t handle) {
    const auto count = static_cast<std::size_t>(call.count);
    const auto bytes = count * size_bytes(call.type);
    const auto stream = gpu_->work().handle();
    switch (call.kind) {
      case collective_kind::all_reduce:
        return nccl::all_reduce(input, output, count, *nccl_type_of(call.type), nccl_operation_of(call.op), handle,
                                stream);
      case collective_kind::reduce_scatter:
        return nccl::reduce_scatter(input, output, count / static_cast<std::size_t>(size()), *nccl_type_of(call.type),
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

  // `what` is for errors. All ranks have begun it, so when the control breaks meanwhile, perhaps because a rank has
  // left after it was done, this one will be done too, unless that rank is lost: it gets a little time.
  template <class Predicate>
  void wait_until(Predicate is_done, std::string_view what, clock::time_point deadline) {
    const auto begin = clock::now();
    std::optional<status> loss;
    while (!is_done()) {
      const auto now = clock::now();
      if (!loss && (loss = broken())) deadline = std::min(deadline, now + patience_after_loss);
      if (now >= deadline) throw_status(loss ? *loss : status_at_deadline(what));
      if (now - begin < spin_time) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(sleep_time);
      }
    }
  }

  status status_at_deadline(std::string_view what) const {
    return {
        status_code::deadline_exceeded,
        fmt::format("{}: rank {} of {} waited on {} until the deadline. All ranks had begun; a GPU or the link to one "
                    "does not answer",
                    what, rank(), size(), device())};
  }

  const std::unique_ptr<communicator> control_;
  cuda::device_state* gpu_ = nullptr;  // set by join
  std::optional<nccl_handle> nccl_;    // made by join
  mutable std::mutex mutex_;
  std::optional<status> broken_;
};

}  // namespace

bool is_nccl_built() noexcept { return true; }

std::unique_ptr<communicator> make_nccl_communicator(std::unique_ptr<communicator> control, const std::string& device,
                                                     std::chrono::nanoseconds limit) {
  auto joined = std::make_unique<nccl_communicator>(std::move(control), device_name::parse(device).device());
  joined->join(limit);
  return joined;
}

}  // namespace troupe
