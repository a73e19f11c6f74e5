#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/device_name.hpp>
#include <troupe/device/collectives/internal/alone_communicator.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace troupe {

namespace {

class alone_communicator final : public communicator {
 public:
  explicit alone_communicator(const device_name& device)
      : communicator(0, 1, device.type == "CPU" ? "CPU:0" : device.device()) {}

  void abort(status why) noexcept override {
    const std::scoped_lock lock{mutex_};
    if (!broken_) broken_ = std::move(why);
  }

  std::optional<status> broken() const override {
    const std::scoped_lock lock{mutex_};
    return broken_;
  }

 private:
  void execute(const collective& call, const std::byte* input, std::byte* output, clock::time_point) override {
    if (auto why = broken()) throw_status(std::move(*why));
    const auto bytes = static_cast<std::size_t>(call.count) * size_bytes(call.type);
    if (input == output || bytes == 0) return;
    if (device() == "CPU:0") {
      std::copy_n(input, bytes, output);
    } else {
      auto& accelerator = accelerator_of(device());
      accelerator.copy_from(accelerator, output, input, bytes);
    }
  }

  mutable std::mutex mutex_;
  std::optional<status> broken_;
};

}  // namespace

std::unique_ptr<communicator> make_alone_communicator(const std::string& device) {
  return std::make_unique<alone_communicator>(device_name::parse(device));
}

}  // namespace troupe
