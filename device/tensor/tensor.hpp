// Dense row-major arrays: the values that variables hold, closures exchange and servers update.
//
// A tensor is a cheap handle: a range of a shared buffer, a shape and a dtype. Copying a tensor, cutting rows out of it
// and reshaping it share the bytes. Writing is copy-on-write: mutable_values() copies this tensor's own range first
// when anybody else holds the buffer, so a tensor behaves like a value and no holder ever sees another one's writes.
//
// Threads: tensors that share bytes may be used by different threads at once, writes included; a single tensor object
// is not for concurrent use unless everybody only reads. Spans are valid until the tensor is written, assigned or
// destroyed.
//
// This is no numerical framework: models use Eigen (eigen.hpp). Only what the semantics of variables and reductions
// need is here, in elementwise.hpp, reduction.hpp and optimizer_kernels.hpp.
#pragma once

#include <troupe/device/base/dtype.hpp>
#include <troupe/device/base/shape.hpp>
#include <troupe/device/tensor/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A shape, a dtype, and that many elements on one device.
class tensor {
 public:
  /// float32 of shape (0,).
  tensor() : shape_{0} {}

  // -- creation; every one throws resource_exhausted_error when there is no memory ---------------------------------

  static tensor zeros(dtype type, const shape& extents);
  /// Elements are indeterminate: write all of them before anybody reads.
  static tensor uninitialised(dtype type, const shape& extents);
  /// The same on a device of this process. All CPUs are one memory, called "CPU:0". Throws for unknown devices, as
  /// accelerators.hpp says.
  static tensor zeros(dtype type, const shape& extents, const std::string& device);
  static tensor uninitialised(dtype type, const shape& extents, const std::string& device);

  template <tensor_element T>
  static tensor full(const shape& extents, T value) {
    tensor result = uninitialised(dtype_of<T>, extents);
    for (auto& each : result.mutable_values<T>()) each = value;
    return result;
  }

  /// Shape (), one element.
  template <tensor_element T>
  static tensor scalar(T value) {
    return full(shape{}, value);
  }

  /// Copies the elements in row-major order. Throws invalid_argument_error if their number does not fit the shape.
  template <tensor_element T>
  static tensor of(const shape& extents, std::span<const T> elements) {
    return copy_of(dtype_of<T>, extents, elements.size(), std::as_bytes(elements));
  }
  template <tensor_element T>
  static tensor of(const shape& extents, std::initializer_list<T> elements) {
    return of<T>(extents, std::span{elements.begin(), elements.size()});
  }
  /// Rank 1.
  template <tensor_element T>
  static tensor of(std::initializer_list<T> elements) {
    return of<T>(shape{static_cast<std::int64_t>(elements.size())}, elements);
  }
  template <tensor_element T>
  static tensor of(const std::vector<T>& elements) {
    tensor result = uninitialised(dtype_of<T>, shape{static_cast<std::int64_t>(elements.size())});
    std::copy(elements.begin(), elements.end(), result.mutable_values<T>().begin());  // also from a vector of bool
    return result;
  }

  /// A tensor over bytes that exist, without copying them if they are aligned for the dtype, else over a copy. They may
  /// come from the network: throws invalid_argument_error if the buffer is too small, the dtype is none, or a boolean
  /// is neither 0 nor 1.
  static tensor from_buffer(dtype type, const shape& extents, buffer bytes, std::size_t offset_bytes = 0);

  // -- properties --------------------------------------------------------------------------------------------------

  const shape& get_shape() const noexcept { return shape_; }
  dtype get_dtype() const noexcept { return dtype_; }
  int rank() const noexcept { return shape_.rank(); }
  std::int64_t element_count() const noexcept { return shape_.element_count(); }
  std::size_t size_bytes() const;
  /// The whole buffer, which may hold more than this tensor.
  const buffer& get_buffer() const noexcept { return buffer_; }
  /// Where in the buffer this tensor begins.
  std::size_t offset_bytes() const noexcept { return offset_bytes_; }
  /// Name of the device that holds the elements, such as "CPU:0".
  const std::string& device() const noexcept { return buffer_.device(); }

  // -- elements; all but item() throw failed_precondition_error if they are not in host memory -----------------------

  /// All elements in row-major order. Throws invalid_argument_error if T is not this tensor's type.
  template <tensor_element T>
  std::span<const T> values() const {
    check_dtype(dtype_of<T>);
    const auto raw = bytes();
    return {reinterpret_cast<const T*>(raw.data()), raw.size() / sizeof(T)};
  }

  /// The same for writing. Copies the elements first if they are shared. Throws invalid_argument_error as values().
  template <tensor_element T>
  std::span<T> mutable_values() {
    check_dtype(dtype_of<T>);
    const auto raw = mutable_bytes();
    return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
  }

  /// The only element, wherever it is: from a device it is copied. Throws invalid_argument_error if there is not
  /// exactly one, or T is not this tensor's type.
  template <tensor_element T>
  T item() const {
    check_single_element();
    return buffer_.on_host() ? values<T>().front() : copy_to("CPU:0").values<T>().front();
  }

  std::span<const std::byte> bytes() const;
  /// Copies the elements first if they are shared.
  std::span<std::byte> mutable_bytes();

  // -- addresses, on whatever device the elements are; for kernels and communicators ----------------------------------

  const std::byte* data() const noexcept { return buffer_.data() ? buffer_.data() + offset_bytes_ : nullptr; }
  /// Copies the elements first, on their device, if they are shared.
  std::byte* mutable_data();

  /// The elements on a device of this process: this tensor itself if they are there already, else a copy. Returns when
  /// the copy can be used; a copy to or from the host is then complete. Throws for unknown devices, as accelerators.hpp
  /// says.
  tensor copy_to(const std::string& device) const;

  // -- parts and forms, all zero-copy ---------------------------------------------------------------------------------

  /// Rows begin to end-1 along axis 0. Throws out_of_range_error unless 0 <= begin <= end <= extent of axis 0.
  tensor slice(std::int64_t begin, std::int64_t end) const;
  /// Row `index` along axis 0, without that axis. Throws out_of_range_error.
  tensor row(std::int64_t index) const;
  /// The same elements in another shape. Throws invalid_argument_error if the number of elements differs.
  tensor reshape(const shape& extents) const;

  /// Same dtype, shape and bytes, wherever they are: NaN equals itself, 0 differs from -0.
  bool bitwise_equal(const tensor& other) const;

  /// For people: "tensor float32 (2, 3) on CPU:0: 1, 2, 3, 4, 5, 6"; at most eight elements.
  std::string to_string() const;

 private:
  tensor(dtype type, const shape& extents, buffer bytes, std::size_t offset_bytes)
      : buffer_(std::move(bytes)), offset_bytes_(offset_bytes), shape_(extents), dtype_(type) {}

  tensor copied_to(const std::string& device) const;
  static tensor copy_of(dtype type, const shape& extents, std::size_t element_count, std::span<const std::byte> bytes);
  void check_dtype(dtype requested) const {
    if (requested != dtype_) throw_wrong_dtype(requested);
  }
  void check_single_element() const;
  void check_on_host() const;
  void check_rows(std::int64_t begin, std::int64_t end) const;
  [[noreturn]] void throw_wrong_dtype(dtype requested) const;

  buffer buffer_;
  std::size_t offset_bytes_ = 0;
  shape shape_;
  dtype dtype_ = dtype::float32;
};

}  // namespace troupe
