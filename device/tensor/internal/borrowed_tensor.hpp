// Tensors on memory that somebody else keeps. Private to device/.
#pragma once

#include <troupe/device/tensor/buffer.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace troupe {

/// The elements at an address, written in place. The caller sees to it that they outlive the tensor and its copies.
inline tensor borrowed_tensor(dtype type, const shape& extents, std::byte* elements, std::string device = "CPU:0") {
  const auto bytes = static_cast<std::size_t>(extents.element_count()) * size_bytes(type);
  return tensor::from_buffer(type, extents, buffer::take_over(nullptr, elements, bytes, std::move(device)));
}

}  // namespace troupe
