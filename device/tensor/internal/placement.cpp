#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/internal/placement.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

bool is_on_gpu(std::string_view operation, std::span<const tensor* const> operands) {
  if (std::ranges::all_of(operands, [](const tensor* x) { return x->get_buffer().on_host(); })) return false;
  const auto& device = operands.front()->device();
  for (const auto* x : operands) {
    if (x->device() == device) continue;
    throw failed_precondition_error{fmt::format(
        "{}: the operands lie on {} and on {}; bring them to one device with copy_to(\"{}\") or copy_to(\"{}\") first",
        operation, device, x->device(), device, x->device())};
  }
  return true;
}

}  // namespace troupe
