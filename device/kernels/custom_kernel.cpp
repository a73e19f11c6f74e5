#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/custom_kernel.hpp>
#include <troupe/device/tensor/internal/placement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

void check_targets(const custom_kernel& kernel, const std::vector<tensor*>& targets) {
  const auto refuse = [&](std::string_view why) {
    throw invalid_argument_error{
        fmt::format("kernel {}: {}; expected one or more tensors, each once, to compute", kernel.name, why)};
  };
  if (targets.empty()) refuse("there is no target");
  for (auto each = targets.begin(); each != targets.end(); ++each) {
    if (*each == nullptr) refuse(fmt::format("target {} is null", each - targets.begin()));
    if (std::find(targets.begin(), each, *each) != each)
      refuse(fmt::format("target {} is given twice", each - targets.begin()));
  }
}

bool is_on_gpu(const custom_kernel& kernel, const std::vector<tensor*>& targets, const std::vector<tensor>& inputs) {
  std::vector<const tensor*> operands{targets.begin(), targets.end()};
  for (const auto& each : inputs) operands.push_back(&each);
  return is_on_gpu(fmt::format("kernel {}", kernel.name), operands);
}

[[noreturn]] void throw_lacks(const custom_kernel& kernel, std::string_view function, std::string_view device) {
  throw unimplemented_error{
      fmt::format("kernel {} can't run on {}: it has no {}; give it one", kernel.name, device, function)};
}

/// The targets, each the only handle on its memory if it can be, and given back at the end.
class taken_targets {
 public:
  explicit taken_targets(const std::vector<tensor*>& from) : from_(from) {
    for (auto* const each : from_) each->mutable_data();  // if it fails, nothing has been taken
    tensors_.reserve(from_.size());
    for (auto* const each : from_) tensors_.push_back(std::move(*each));
  }
  taken_targets(const taken_targets&) = delete;
  taken_targets& operator=(const taken_targets&) = delete;
  ~taken_targets() {
    for (auto i = std::size_t{0}; i < from_.size(); ++i) *from_[i] = std::move(tensors_[i]);
  }

  std::span<tensor> tensors() noexcept { return tensors_; }

 private:
  const std::vector<tensor*>& from_;
  std::vector<tensor> tensors_;
};

}  // namespace

void launch(const custom_kernel& kernel, const std::vector<tensor*>& targets, const std::vector<tensor>& inputs) {
  check_targets(kernel, targets);
  const auto device = targets.front()->device();
  if (!is_on_gpu(kernel, targets, inputs)) {
    if (!kernel.on_host) throw_lacks(kernel, "on_host", device);
    taken_targets taken{targets};
    return kernel.on_host(taken.tensors(), inputs);
  }
  auto& gpu = accelerator_of(device);
  if (gpu.is_emulated() && !kernel.on_host)
    throw_lacks(kernel, "on_host", fmt::format("{}, which is emulated", device));
  if (!gpu.is_emulated() && !kernel.on_cuda) throw_lacks(kernel, "on_cuda", device);
  taken_targets taken{targets};
  gpu.launch(kernel, taken.tensors(), inputs);
}

}  // namespace troupe
