#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/collectives/internal/deadline.hpp>
#include <troupe/device/collectives/internal/through_host_communicator.hpp>

#include <exception>
#include <utility>

namespace troupe {

namespace {

class through_host_communicator final : public communicator {
 public:
  through_host_communicator(std::unique_ptr<communicator> host, accelerator& device)
      : communicator(host->rank(), host->size(), device.name()), accelerator_(device), host_(std::move(host)) {}

  void abort(status why) noexcept override { host_->abort(std::move(why)); }
  std::optional<status> broken() const override { return host_->broken(); }

 private:
  void execute(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline) override {
    try {
      const auto reads_input = call.kind != collective_kind::broadcast || call.root == rank();
      auto memory = allocate_pinned(static_cast<std::size_t>(call.count) * size_bytes(call.type));
      if (reads_input) {
        const device_waits_until limit{deadline};
        accelerator_.copy_to_host(memory.mutable_data(), input, memory.size_bytes());
      } else {
        std::fill_n(memory.mutable_data(), memory.size_bytes(), std::byte{0});  // booleans must not be indeterminate
      }
      auto x = tensor::from_buffer(call.type, {call.count}, std::move(memory));
      const auto result = perform_on_host(call, std::move(x), deadline);
      const device_waits_until limit{deadline};
      accelerator_.copy_from_host(output, result.data(), result.size_bytes());
    } catch (...) {
      host_->abort(status_of(std::current_exception()));  // a failed copy must not keep the other ranks waiting
      throw;
    }
  }

  tensor perform_on_host(const collective& call, tensor x, clock::time_point deadline) {
    const auto limit = left_until(deadline);
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

  accelerator& accelerator_;
  const std::unique_ptr<communicator> host_;
};

}  // namespace

std::unique_ptr<communicator> make_through_host_communicator(std::unique_ptr<communicator> host,
                                                             const std::string& device) {
  try {
    auto& accelerator = accelerator_of(device);
    return std::make_unique<through_host_communicator>(std::move(host), accelerator);
  } catch (const error& e) {
    host->abort(e.get_status());
    throw;
  }
}

}  // namespace troupe
