#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/dlpack.hpp>

#include <dlpack/dlpack.h>
#include <fmt/format.h>

#include <array>
#include <utility>

namespace troupe {

namespace {

constexpr std::uint8_t dlpack_bool = 6;  // kDLBool since DLPack 0.7

struct dtype_code {
  dtype type;
  std::uint8_t code;
  std::uint8_t bits;
};

constexpr std::array<dtype_code, 10> dtype_codes{{{dtype::float32, kDLFloat, 32},
                                                  {dtype::float64, kDLFloat, 64},
                                                  {dtype::float16, kDLFloat, 16},
                                                  {dtype::bfloat16, kDLBfloat, 16},
                                                  {dtype::int8, kDLInt, 8},
                                                  {dtype::int16, kDLInt, 16},
                                                  {dtype::int32, kDLInt, 32},
                                                  {dtype::int64, kDLInt, 64},
                                                  {dtype::uint8, kDLUInt, 8},
                                                  {dtype::boolean, dlpack_bool, 8}}};

DLDataType to_dlpack_type(dtype type) {
  for (const auto& known : dtype_codes) {
    if (known.type == type) return {known.code, known.bits, 1};
  }
  throw_unknown_dtype(type);
}

dtype from_dlpack_type(const DLDataType& type) {
  for (const auto& known : dtype_codes) {
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return known.type;
  }
  throw invalid_argument_error{fmt::format(
      "DLPack: the element type (code {}, {} bits, {} lanes) is not known here; expected one lane of float 16, 32 or "
      "64, bfloat 16, int 8 to 64, uint 8 or bool 8: convert before the export",
      type.code, type.bits, type.lanes)};
}

// The receiver may read on any stream, so what is queued on a GPU has to be done before.
DLDevice export_device(const tensor& x) {
  if (x.get_buffer().on_host()) return {kDLCPU, 0};
  auto& device = accelerator_of(x.device());
  if (device.is_emulated())
    throw unimplemented_error{
        fmt::format("DLPack: the tensor is on {}, which is emulated: no other library can read it there; use "
                    "copy_to(\"CPU:0\") first",
                    x.device())};
  device.synchronize();
  return {kDLCUDA, device.physical_index()};
}

// What an exported tensor owns; destroyed by its deleter.
struct exported {
  tensor source;
  std::array<std::int64_t, shape::rank_max> extents{};
  std::array<std::int64_t, shape::rank_max> strides{};
  DLManagedTensor managed{};
};

shape shape_of(const DLTensor& source) {
  if (source.ndim < 0 || source.ndim > shape::rank_max) {
    throw invalid_argument_error{
        fmt::format("DLPack: rank {} is not possible here; expected 0 to {}", source.ndim, shape::rank_max)};
  }
  if (source.ndim > 0 && !source.shape)
    throw invalid_argument_error{"DLPack: the shape is null; expected one extent per axis"};
  return shape{std::span<const std::int64_t>{source.shape, static_cast<std::size_t>(source.ndim)}};
}

void check_contiguous(const DLTensor& source, const shape& extents) {
  if (!source.strides || extents.element_count() == 0) return;
  auto expected = std::int64_t{1};
  for (auto axis = extents.rank() - 1; axis >= 0; --axis) {
    // The stride of an axis with one element is never used, and libraries fill in what they like.
    if (extents[axis] != 1 && source.strides[axis] != expected) {
      throw invalid_argument_error{
          fmt::format("DLPack: axis {} of shape {} has stride {}, but row-major order without gaps has {}; "
                      "make the tensor contiguous before the export",
                      axis, extents.to_string(), source.strides[axis], expected)};
    }
    expected *= extents[axis];
  }
}

// Owns a foreign tensor from the moment it is taken over.
class imported {
 public:
  imported() = default;
  imported(const imported&) = delete;
  imported& operator=(const imported&) = delete;
  ~imported() {
    if (managed_ && managed_->deleter) managed_->deleter(managed_);
  }
  void take_over(DLManagedTensor* managed) noexcept { managed_ = managed; }

 private:
  DLManagedTensor* managed_ = nullptr;
};

}  // namespace

DLManagedTensor* to_dlpack(const tensor& x) {
  auto* data = const_cast<std::byte*>(x.data());  // DLPack has no const; see the header
  auto owned = std::make_unique<exported>();
  owned->source = x;
  auto stride = std::int64_t{1};
  for (auto axis = x.rank() - 1; axis >= 0; --axis) {
    const auto position = static_cast<std::size_t>(axis);
    owned->extents[position] = x.get_shape()[axis];
    owned->strides[position] = stride;
    stride *= x.get_shape()[axis];
  }
  owned->managed.dl_tensor = {.data = data,
                              .device = export_device(x),
                              .ndim = x.rank(),
                              .dtype = to_dlpack_type(x.get_dtype()),
                              .shape = owned->extents.data(),
                              .strides = owned->strides.data(),
                              .byte_offset = 0};
  owned->managed.deleter = [](DLManagedTensor* self) { delete static_cast<exported*>(self->manager_ctx); };
  owned->managed.manager_ctx = owned.get();
  return &owned.release()->managed;
}

tensor from_dlpack(DLManagedTensor* managed) {
  if (!managed)
    throw invalid_argument_error{"DLPack: the tensor is null; pass the one that the other library exported"};
  const auto& source = managed->dl_tensor;
  if (source.device.device_type != kDLCPU) {
    throw invalid_argument_error{
        fmt::format("DLPack: the tensor is on device type {}; expected the CPU (type {}): copy it to "
                    "the host before the export",
                    static_cast<int>(source.device.device_type), static_cast<int>(kDLCPU))};
  }
  const auto type = from_dlpack_type(source.dtype);
  const auto extents = shape_of(source);
  check_contiguous(source, extents);
  const auto bytes = static_cast<std::size_t>(extents.element_count()) * size_bytes(type);
  const auto* data = source.data ? static_cast<const std::byte*>(source.data) + source.byte_offset : nullptr;
  const auto owner = std::make_shared<imported>();
  auto result = tensor::from_buffer(type, extents, buffer::adopt(owner, data, bytes));
  owner->take_over(managed);  // last, so that any error before leaves it to the caller
  return result;
}

}  // namespace troupe
