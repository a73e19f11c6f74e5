#include <troupe/device/base/device_name.hpp>
#include <troupe/device/collectives/internal/through_host_communicator.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/cuda/internal/cuda_memory.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace troupe {

namespace {

class through_host_communicator final : public communicator {
 public:
  through_host_communicator(std::unique_ptr<communicator> host, std::string device)
      : communicator(host->rank(), host->size(), std::move(device)), host_(std::move(host)) {}

  void abort(status why) noexcept override { host_->abort(std::move(why)); }
  std::optional<status> broken() const override { return host_->broken(); }

 private:
  void execute(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline) override {
    try {
      const auto reads_input = call.kind != collective_kind::broadcast || call.root == rank();
      auto memory = cuda::allocate_pinned(static_cast<std::size_t>(call.count) * size_bytes(call.type));
      if (reads_input) {
        cuda::copy(memory.mutable_data(), "CPU:0", input, device(), memory.size_bytes());
      } else {
        std::fill_n(memory.mutable_data(), memory.size_bytes(), std::byte{0});  // booleans must not be indeterminate
      }
      auto x = tensor::from_buffer(call.type, {call.count}, std::move(memory));
      const auto result = perform_on_host(call, std::move(x), deadline);
      cuda::copy(output, device(), result.data(), "CPU:0", result.size_bytes());
    } catch (...) {
      host_->abort(status_of(std::current_exception()));  // a failed copy must not keep the other ranks waiting
      throw;
    }
  }

  tensor perform_on_host(const collective& call, tensor x, clock::time_point deadline) {
    const auto limit = std::max(deadline - clock::now(), clock::duration{1});
    switch (call.kind) {
      case collective_kind::all_reduce:
        host_->all_reduce(x, call.op, limit);
        break;
      case collective_kind::all_gather:
        return host_->all_gather(x, limit);
      case collective_kind::reduce_scatter:
        return host_->reduce_scatter(x, call.op, limit);
      case collective_kind::broadcast:
        host_->broadcast(x, call.root, limit);
        break;
      case collective_kind::barrier:
        host_->barrier(limit);
        break;
    }
    return x;
  }

  const std::unique_ptr<communicator> host_;
};

}  // namespace

std::unique_ptr<communicator> make_through_host_communicator(std::unique_ptr<communicator> host,
                                                             const std::string& device) {
  try {
    static_cast<void>(cuda::physical_index_of(device));
  } catch (const error& e) {
    host->abort(e.get_status());
    throw;
  }
  return std::make_unique<through_host_communicator>(std::move(host), device_name::parse(device).device());
}

}  // namespace troupe
