#include <troupe/runtime/replicas/started_tensors.hpp>

#include <utility>

namespace troupe {

namespace {

std::vector<std::string> devices_of(const std::vector<tensor>& values) {
  std::vector<std::string> devices;
  devices.reserve(values.size());
  for (const auto& each : values) devices.push_back(each.device());
  return devices;
}

std::vector<tensor> brought_to(const std::string& device, std::vector<tensor> values) {
  for (auto& each : values) each = each.copy_to(device);
  return values;
}

}  // namespace

started_tensors::started_tensors(std::shared_ptr<replica_group::call> call, std::vector<tensor> values, reduce_op op,
                                 const communication_options& options)
    : call_(std::move(call)),
      devices_(devices_of(values)),
      reduction_(call_->group(), brought_to(call_->group().device(), std::move(values)), op, options, call_->limit()) {}

std::vector<tensor> started_tensors::wait() {
  auto values = reduction_.wait();
  for (auto i = std::size_t{0}; i < values.size(); ++i) values[i] = values[i].copy_to(devices_[i]);
  return values;
}

}  // namespace troupe
