// Where the operands of one operation lie: the host's loops work on them, or the kernels of a GPU. Private to the
// operations on tensors.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

#include <initializer_list>
#include <span>
#include <string_view>

namespace troupe {

/// True if all operands are on one GPU, false if all are on the host. Throws failed_precondition_error that names two
/// operands' devices if they differ.
bool is_on_gpu(std::string_view operation, std::span<const tensor* const> operands);
inline bool is_on_gpu(std::string_view operation, std::initializer_list<const tensor*> operands) {
  return is_on_gpu(operation, std::span{operands.begin(), operands.size()});
}

}  // namespace troupe
