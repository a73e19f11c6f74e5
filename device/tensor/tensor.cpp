#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/device_name.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace troupe {

namespace {

std::size_t size_bytes_of(dtype type, const shape& extents) {
  return static_cast<std::size_t>(extents.element_count()) * size_bytes(type);
}

device_name parse_device(const std::string& device) {
  auto name = device_name::parse(device);
  if (name.has_device()) return name;
  throw invalid_argument_error{
      fmt::format("\"{}\" names no device; expected a name like \"CPU:0\" or \"GPU:0\"", device)};
}

bool is_host(const std::string& device) { return parse_device(device).type == "CPU"; }

// All CPUs are one memory.
bool is_same_memory(const std::string& left, const std::string& right) {
  const auto first = parse_device(left);
  const auto second = parse_device(right);
  return first.type == second.type && (first.type == "CPU" || first.index == second.index);
}

// A bool whose byte is neither 0 nor 1 must never be read as one.
void check_booleans(std::span<const std::byte> bytes) {
  auto all = std::byte{0};
  for (const auto byte : bytes) all |= byte;
  if (all <= std::byte{1}) return;
  throw invalid_argument_error{
      "a boolean tensor has bytes other than 0 and 1; expected one byte per element: the data is damaged or has "
      "another "
      "dtype"};
}

template <class T>
std::string render_element(T element) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return fmt::format("{}", static_cast<float>(element));
  } else {
    return fmt::format("{}", element);
  }
}

}  // namespace

tensor tensor::uninitialised(dtype type, const shape& extents) {
  return {type, extents, buffer::allocate(size_bytes_of(type, extents)), 0};
}

tensor tensor::zeros(dtype type, const shape& extents) {
  auto result = uninitialised(type, extents);
  std::ranges::fill(result.mutable_bytes(), std::byte{0});
  return result;
}

tensor tensor::uninitialised(dtype type, const shape& extents, const std::string& device) {
  if (is_host(device)) return uninitialised(type, extents);
  return {type, extents, accelerator_of(device).allocate(size_bytes_of(type, extents)), 0};
}

tensor tensor::zeros(dtype type, const shape& extents, const std::string& device) {
  if (is_host(device)) return zeros(type, extents);
  auto result = uninitialised(type, extents, device);
  accelerator_of(result.device()).set_zero(result.buffer_.mutable_data(), result.size_bytes());
  return result;
}

tensor tensor::copy_of(dtype type, const shape& extents, std::size_t element_count, std::span<const std::byte> bytes) {
  if (static_cast<std::size_t>(extents.element_count()) != element_count) {
    throw invalid_argument_error{
        fmt::format("shape {} takes {} elements, but {} were given; give one value per element", extents.to_string(),
                    extents.element_count(), element_count)};
  }
  auto result = uninitialised(type, extents);
  std::copy_n(bytes.data(), bytes.size(), result.mutable_bytes().data());  // of pointers: one memmove
  return result;
}

tensor tensor::from_buffer(dtype type, const shape& extents, buffer bytes, std::size_t offset_bytes) {
  const auto needed = size_bytes_of(type, extents);
  if (offset_bytes > bytes.size_bytes() || needed > bytes.size_bytes() - offset_bytes) {
    throw invalid_argument_error{fmt::format(
        "a {} tensor of shape {} needs {} bytes from offset {} on, but the buffer has {} bytes: the data is cut "
        "short, or shape or dtype are wrong",
        troupe::to_string(type), extents.to_string(), needed, offset_bytes, bytes.size_bytes())};
  }
  if (!bytes.on_host()) return {type, extents, std::move(bytes), offset_bytes};
  const auto source = std::span{bytes.data() + offset_bytes, needed};
  if (type == dtype::boolean) check_booleans(source);
  if (reinterpret_cast<std::uintptr_t>(source.data()) % troupe::size_bytes(type) == 0) {
    return {type, extents, std::move(bytes), offset_bytes};
  }
  return copy_of(type, extents, static_cast<std::size_t>(extents.element_count()), source);
}

std::size_t tensor::size_bytes() const { return size_bytes_of(dtype_, shape_); }

std::span<const std::byte> tensor::bytes() const {
  check_on_host();
  return {buffer_.data() + offset_bytes_, size_bytes()};
}

std::span<std::byte> tensor::mutable_bytes() {
  check_on_host();
  return {mutable_data(), size_bytes()};
}

std::byte* tensor::mutable_data() {
  if (!buffer_.unique()) {
    *this = buffer_.on_host() ? copy_of(dtype_, shape_, static_cast<std::size_t>(element_count()), bytes())
                              : copied_to(device());
  }
  return buffer_.mutable_data() + offset_bytes_;
}

tensor tensor::copy_to(const std::string& device) const {
  return is_same_memory(device, this->device()) ? *this : copied_to(device);
}

tensor tensor::copied_to(const std::string& device) const {
  if (buffer_.on_host() && !is_host(device))
    return {dtype_, shape_, accelerator_of(device).upload(data(), size_bytes()), 0};
  auto copy = uninitialised(dtype_, shape_, device);
  auto* target = copy.buffer_.mutable_data();
  if (buffer_.on_host()) {
    std::copy_n(data(), size_bytes(), target);
  } else if (copy.buffer_.on_host()) {
    accelerator_of(this->device()).copy_to_host(target, data(), size_bytes());
  } else {
    accelerator_of(copy.device()).copy_from(accelerator_of(this->device()), target, data(), size_bytes());
  }
  return copy;
}

tensor tensor::slice(std::int64_t begin, std::int64_t end) const {
  check_rows(begin, end);
  const auto part = shape_.with_axis(0, end - begin);
  const auto row_bytes = size_bytes_of(dtype_, shape_.without_axis(0));
  return {dtype_, part, buffer_, offset_bytes_ + static_cast<std::size_t>(begin) * row_bytes};
}

tensor tensor::row(std::int64_t index) const {
  if (!shape_.is_scalar() && (index < 0 || index >= shape_[0])) {
    throw out_of_range_error{
        fmt::format("row {} does not exist in a tensor of shape {}; expected 0 or more and less than {}", index,
                    shape_.to_string(), shape_[0])};
  }
  return slice(index, index + 1).reshape(shape_.without_axis(0));
}

tensor tensor::reshape(const shape& extents) const {
  if (extents.element_count() != element_count()) {
    throw invalid_argument_error{
        fmt::format("cannot reshape {} ({} elements) to {} ({} elements): the numbers must be equal",
                    shape_.to_string(), element_count(), extents.to_string(), extents.element_count())};
  }
  return {dtype_, extents, buffer_, offset_bytes_};
}

bool tensor::bitwise_equal(const tensor& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  const auto mine = copy_to("CPU:0");
  const auto others = other.copy_to("CPU:0");
  const auto left = mine.bytes();
  const auto right = others.bytes();
  return left.data() == right.data() || left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0;
}

std::string tensor::to_string() const {
  constexpr std::size_t shown_max = 8;
  auto text = fmt::format("tensor {} {} on {}", troupe::to_string(dtype_), shape_.to_string(), device());
  if (!buffer_.on_host() || element_count() == 0) return text;
  visit_dtype(dtype_, [&]<class T>(std::type_identity<T>) {
    const auto elements = values<T>();
    for (auto i = std::size_t{0}; i < std::min(elements.size(), shown_max); ++i) {
      text += (i == 0 ? ": " : ", ") + render_element(elements[i]);
    }
    if (elements.size() > shown_max) text += ", ...";
  });
  return text;
}

void tensor::check_single_element() const {
  if (element_count() == 1) return;
  throw invalid_argument_error{
      fmt::format("item() needs a tensor with exactly one element, but this one has shape {}; use "
                  "values(), or slice or reduce it first",
                  shape_.to_string())};
}

void tensor::check_on_host() const {
  if (buffer_.on_host()) return;
  throw failed_precondition_error{
      fmt::format("the elements of this {} tensor of shape {} lie on {}, where host code cannot reach them; use "
                  "copy_to(\"CPU:0\") first",
                  troupe::to_string(dtype_), shape_.to_string(), device())};
}

void tensor::check_rows(std::int64_t begin, std::int64_t end) const {
  if (shape_.is_scalar())
    throw out_of_range_error{"a scalar of shape () has no rows; expected a tensor of rank 1 or more"};
  if (0 <= begin && begin <= end && end <= shape_[0]) return;
  throw out_of_range_error{
      fmt::format("rows {} to {} (exclusive) do not exist in a tensor of shape {}; expected "
                  "0 <= begin <= end <= {}",
                  begin, end, shape_.to_string(), shape_[0])};
}

void tensor::throw_wrong_dtype(dtype requested) const {
  throw invalid_argument_error{fmt::format(
      "the tensor of shape {} holds {}, but {} was asked for; use the tensor's type, or "
      "cast(tensor, dtype::{}) first",
      shape_.to_string(), troupe::to_string(dtype_), troupe::to_string(requested), troupe::to_string(requested))};
}

}  // namespace troupe
