#include <troupe/device/base/device_name.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/allocation_listener.hpp>
#include <troupe/device/tensor/buffer.hpp>
#include <troupe/device/tensor/internal/block_cache.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <new>

namespace troupe {

namespace {

const std::string& host_device() {
  static const auto& name = *new std::string{"CPU:0"};  // not destroyed: buffers may outlive static destruction
  return name;
}

std::byte* align(std::byte* address) {
  constexpr auto mask = std::uintptr_t{buffer::alignment - 1};
  return address + (-reinterpret_cast<std::uintptr_t>(address) & mask);
}

}  // namespace

buffer buffer::allocate(std::size_t bytes) {
  if (bytes == 0) return {};
  if (bytes > size_bytes_max) {
    throw resource_exhausted_error{fmt::format(
        "cannot allocate {} bytes: one buffer holds at most {} bytes; split the tensor", bytes, size_bytes_max)};
  }
  if (auto* const listens = detail::allocations.load(std::memory_order_acquire)) [[unlikely]]
    listens->allocating(bytes);
  try {
    if (bytes >= block_cache::block_bytes_min) {
      // Header first: if there is no memory for it, no block is lost.
      auto header = std::make_unique<control>();
      const auto block = block_cache::instance().take(bytes);
      header->data = block.data;
      header->size = bytes;
      header->block_capacity = block.capacity;
      return buffer{header.release()};
    }
    // One allocation for header and bytes. Aligned by hand: that is several times faster than an aligned allocation.
    auto* memory = static_cast<std::byte*>(::operator new(sizeof(control) + alignment + bytes));
    return buffer{new (memory) control{.data = align(memory + sizeof(control)), .size = bytes}};
  } catch (const std::bad_alloc&) {
    throw resource_exhausted_error{fmt::format(
        "cannot allocate {} bytes: out of memory; use smaller tensors, or more shards or processes", bytes)};
  }
}

buffer buffer::adopt(std::shared_ptr<void> owner, const void* data, std::size_t bytes, std::string device) {
  if (!data && bytes > 0) {
    throw invalid_argument_error{
        fmt::format("cannot adopt {} bytes at a null address; pass the address of the data", bytes)};
  }
  const auto name = device_name::parse(device);
  if (!name.has_device()) {
    throw invalid_argument_error{
        fmt::format("cannot adopt memory of \"{}\": no device in that name; expected a name like \"CPU:0\"", device)};
  }
  // No write ever goes through the pointer: unique() is false for adopted memory.
  auto* bytes_of_owner = static_cast<std::byte*>(const_cast<void*>(data));
  return of_origin({std::move(owner), std::move(device), name.type == "CPU", true}, bytes_of_owner, bytes);
}

buffer buffer::take_over(std::shared_ptr<void> owner, std::byte* data, std::size_t bytes, std::string device) {
  const auto is_host = device_name::parse(device).type == "CPU";
  return of_origin({std::move(owner), std::move(device), is_host, false}, data, bytes);
}

buffer buffer::of_origin(foreign origin, std::byte* data, std::size_t bytes) {
  auto owned_origin = std::make_unique<foreign>(std::move(origin));
  buffer result{new control{.data = data, .size = bytes}};
  result.control_->origin = owned_origin.release();
  return result;
}

buffer buffer::slice(std::size_t offset, std::size_t bytes) const {
  if (offset > size_bytes() || bytes > size_bytes() - offset) {
    throw out_of_range_error{
        fmt::format("bytes {} to {}+{} lie outside a buffer of {} bytes", offset, offset, bytes, size_bytes())};
  }
  return adopt(std::make_shared<buffer>(*this), data() + offset, bytes, device());
}

std::byte* buffer::mutable_data() {
  if (!unique()) {
    throw failed_precondition_error{fmt::format(
        "cannot write a buffer of {} bytes that is shared or adopted; copy it first, as tensor::mutable_values does",
        size_bytes())};
  }
  return control_ ? control_->data : nullptr;
}

const std::string& buffer::device() const noexcept {
  return control_ && control_->origin ? control_->origin->device : host_device();
}

bool buffer::on_host() const noexcept { return !control_ || !control_->origin || control_->origin->on_host; }

void buffer::destroy(control* last) noexcept {
  if (last->origin || last->block_capacity > 0) {
    if (last->block_capacity > 0) block_cache::instance().give({last->data, last->block_capacity});
    delete last->origin;
    delete last;
  } else {
    last->~control();
    ::operator delete(last);
  }
}

}  // namespace troupe
