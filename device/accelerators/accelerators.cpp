#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/accelerators/emulation_setting.hpp>
#include <troupe/device/base/device_name.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/cuda/internal/cuda_accelerator.hpp>
#include <troupe/device/cuda/internal/cuda_memory.hpp>
#include <troupe/device/emulated/emulated_accelerator.hpp>

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace troupe {

namespace {

/// GPUs that take the place of real ones; a count of 0: none do.
struct emulated_gpus {
  int count = 0;
  emulation_options options;
};

/// Never destroyed: tensors with static storage duration give memory back at exit.
class accelerator_registry {
 public:
  static accelerator_registry& instance() {
    static auto* const registry = new accelerator_registry;
    return *registry;
  }

  void emulate(int count, const emulation_options& options) {
    if (count < 1 || count > emulated_gpus_max)
      throw invalid_argument_error{fmt::format("cannot emulate {} GPUs; expected 1 to {}", count, emulated_gpus_max)};
    if (options.delay_max.count() < 0)
      throw invalid_argument_error{fmt::format(
          "cannot emulate GPUs whose work begins up to {} us later; expected 0 or more", options.delay_max.count())};
    const std::scoped_lock lock{mutex_};
    if (emulated_)
      throw failed_precondition_error{
          fmt::format("cannot emulate {} GPUs: this process has used its GPUs before, {}; call emulate_gpus before "
                      "anything asks for GPUs",
                      count, emulated_->count == 0 ? "and they were not" : "which were emulated")};
    emulated_ = {.count = count, .options = options};
  }

  /// As decided by the first use.
  const emulated_gpus& emulated() {
    const std::scoped_lock lock{mutex_};
    return decided();
  }

  accelerator& find(const std::string& device) {
    const auto name = device_name::parse(device);
    if (name.type != "GPU")
      throw invalid_argument_error{fmt::format("\"{}\" is no GPU; expected a name like \"GPU:0\"", device)};
    const std::scoped_lock lock{mutex_};
    if (const auto found = devices_.find(name.index); found != devices_.end()) return *found->second;
    auto made = decided().count > 0 ? make_emulated(device, name.index) : cuda::make_accelerator(device);
    return *devices_.emplace(name.index, std::move(made)).first->second;
  }

 private:
  const emulated_gpus& decided() {
    if (!emulated_) emulated_ = emulated_gpus{.count = emulated_gpus_of_environment(), .options = {}};
    return *emulated_;
  }

  std::unique_ptr<accelerator> make_emulated(const std::string& device, int index) {
    if (index >= emulated_->count)
      throw invalid_argument_error{
          fmt::format("\"{}\" does not exist: this process has {} emulated GPU{}; expected \"GPU:0\"{}", device,
                      emulated_->count, emulated_->count == 1 ? "" : "s",
                      emulated_->count == 1 ? "" : fmt::format(" to \"GPU:{}\"", emulated_->count - 1))};
    return make_emulated_accelerator(index, emulated_->options);
  }

  std::mutex mutex_;
  std::optional<emulated_gpus> emulated_;
  /// By index, from their first use on.
  std::map<int, std::unique_ptr<accelerator>> devices_;
};

}  // namespace

void emulate_gpus(int count, const emulation_options& options) {
  accelerator_registry::instance().emulate(count, options);
}

std::vector<std::string> gpu_names() {
  const auto emulated = accelerator_registry::instance().emulated().count;
  const auto count = emulated > 0 ? emulated : cuda::logical_device_count();
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (auto index = 0; index < count; ++index) names.push_back(fmt::format("GPU:{}", index));
  return names;
}

accelerator& accelerator_of(const std::string& device) {
  // A thread mostly works with one device: no lock for each kernel.
  thread_local accelerator* last = nullptr;
  if (last == nullptr || last->name() != device) last = &accelerator_registry::instance().find(device);
  return *last;
}

device_description describe_device(const std::string& device) { return accelerator_of(device).describe(); }

void synchronize_device(const std::string& device) { accelerator_of(device).synchronize(); }

buffer allocate_pinned(std::size_t bytes) {
  return accelerator_registry::instance().emulated().count > 0 ? buffer::allocate(bytes) : cuda::allocate_pinned(bytes);
}

}  // namespace troupe
