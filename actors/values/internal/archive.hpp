// The two ends of troupe's binary encoding: cereal archives over plain memory.
//
// Why cereal: types say once what they consist of (`serialize`), users may know it already, and its containers are
// there. Why archives of our own: no streams (a struct of a few numbers costs tens of nanoseconds), tensors leave the
// byte stream as attachments, aggregates need no boilerplate, and what is read may come from anybody.
//
// The format is the little-endian memory image of numbers, 64-bit element counts before containers, and no names or
// tags: both ends must know the type. Floats are copied bit for bit.
//
// A-1 Reading never looks beyond the bytes it was given, and never allocates more than a constant times their number:
// counts are checked against what is left before anything is resized.
// A-2 Nesting is bounded on both ends, so neither a recursive type nor hostile bytes can exhaust a fiber's stack.
// A-3 Large tensors are never copied: `attachments` shares their buffers.
#pragma once

#include <troupe/actors/values/internal/reflection.hpp>
#include <troupe/device/base/dtype.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/buffer.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <boost/pfr/core.hpp>
#include <cereal/cereal.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

static_assert(std::endian::native == std::endian::little,
              "the encoding is the memory image of a little-endian machine");

/// A tensor with at least this many bytes travels as an attachment; a smaller one is copied into the bytes.
inline constexpr std::size_t attachment_bytes_min = std::size_t{64} * 1024;

/// How deep the parts of one encoding may nest; a node of a tree of structs with a vector of children counts two.
inline constexpr std::size_t nesting_depth_max = 64;

/// A container may announce this many elements even when fewer bytes are left, because elements of classes without
/// state take no bytes at all. Vectors of more of them are refused when they are encoded.
inline constexpr std::size_t elements_without_bytes_max = 1024;

/// The most bytes that one encoding (a value, or a message with its values) may take, attachments included. A process
/// option, to be set alike in all processes; thread-safe. It protects memory and links from a mistake, such as a data
/// set that is captured instead of read where it is used.
///
/// It is the limit of one tensor between processes, too, and of a shard of a variable: a checkpoint needs the shard
/// with its optimizer's slots (two for Adam) in one message. Other limits that large tensors meet are higher or count
/// something else: `tcp_bulk_options::offered_bytes_max` and `inbox_limits::bytes_max` count what waits;
/// `message_bytes_max` counts what is no large tensor; `bulk_transport::bytes_per_second_min` is how slow they may be.
/// What a message only announces takes addresses, and memory as its bytes come.
inline constexpr std::size_t value_bytes_max_default = std::size_t{16} << 30;
std::size_t value_bytes_max() noexcept;
void set_value_bytes_max(std::size_t bytes) noexcept;

/// What an object becomes when it leaves its process.
struct encoded {
  std::vector<std::byte> bytes;
  /// Data of the large tensors, in the order in which the bytes mention them. Shared, not copied.
  std::vector<buffer> attachments;

  /// Bytes and attachments together.
  std::size_t size_bytes() const noexcept;
};

class output_archive;
class input_archive;

namespace detail {

/// True when cereal finds functions for T: members or free functions, of T or of a standard container.
template <class T>
inline constexpr bool has_serialize_functions =
    std::conjunction_v<cereal::traits::is_output_serializable<T, output_archive>,
                       cereal::traits::is_input_serializable<T, input_archive>>;

/// True for a class that is encoded member by member without any function of its own.
template <class T>
constexpr bool is_reflected() {
  if constexpr (!std::is_class_v<T> || !std::is_aggregate_v<T>) {
    return false;
  } else if constexpr (has_serialize_functions<T>) {
    return false;
  } else {
    return has_enumerable_members<T>();
  }
}

[[noreturn]] void throw_nested_too_deep();
[[noreturn]] void throw_too_many_without_bytes(std::size_t count);

/// Counts one level of nesting while it lives.
class nesting_level {
 public:
  explicit nesting_level(std::size_t& depth) : depth_(depth) {
    if (depth_ == nesting_depth_max) throw_nested_too_deep();
    ++depth_;
  }
  ~nesting_level() { --depth_; }
  nesting_level(const nesting_level&) = delete;
  nesting_level& operator=(const nesting_level&) = delete;

 private:
  std::size_t& depth_;
};

}  // namespace detail

/// Appends objects to bytes and attachments: `archive(a, b)`. One archive, one encoding, one thread.
class output_archive : public cereal::OutputArchive<output_archive, cereal::AllowEmptyClassElision> {
  using base = cereal::OutputArchive<output_archive, cereal::AllowEmptyClassElision>;

 public:
  /// `measure` counts the bytes and copies none.
  enum class purpose { encode, measure };

  explicit output_archive(purpose why = purpose::encode);
  ~output_archive() override;

  /// Hides cereal's operator, so that members of aggregates are found at every level.
  template <class... Ts>
  output_archive& operator()(const Ts&... objects) {
    (write(objects), ...);
    return *this;
  }

  void write_bytes(const void* data, std::size_t size) {
    if (measuring_) {
      measured_bytes_ += size;
      return;
    }
    auto& bytes = result_.bytes;
    if (bytes.capacity() - bytes.size() < size) make_room(size);
    const auto* begin = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  }

  /// Adds shared data beside the bytes.
  void attach(buffer data);

  /// Where a part begins whose size is known only after it is written, such as a value whose type the receiver may not
  /// know. `begin_part` leaves room for the header (attachments: u32, bytes: u64), `end_part` fills it in.
  struct part {
    std::size_t bytes_begin;
    std::size_t attachments_begin;
  };
  part begin_part();
  void end_part(part written);

  bool measuring() const noexcept { return measuring_; }

  /// Bytes and attachments so far.
  std::size_t size_bytes() const noexcept { return measured_bytes_ + result_.bytes.size() + attached_bytes_; }

  /// Throws resource_exhausted_error when the limit was passed. The archive is empty afterwards.
  encoded take();

 private:
  template <class T>
  void write(const T& object) {
    if constexpr (detail::plain<T>) {
      write_bytes(&object, sizeof(object));
    } else if constexpr (detail::is_reflected<T>()) {
      const detail::nesting_level level{depth_};
      boost::pfr::for_each_field(object, [this](const auto& member) { this->write(member); });
    } else {
      const detail::nesting_level level{depth_};
      base::operator()(object);
    }
  }

  /// Grows geometrically. Throws resource_exhausted_error when `size` more bytes pass the limit.
  void make_room(std::size_t size);
  void check_limit(std::size_t size_bytes) const;

  encoded result_;
  std::size_t attached_bytes_ = 0;
  std::size_t measured_bytes_ = 0;
  std::size_t limit_bytes_ = 0;
  std::size_t depth_ = 0;
  bool measuring_ = false;
};

/// Reads objects from bytes and attachments: `archive(a, b)`. Throws data_loss_error for anything that output_archive
/// does not write; what was read until then is valid but unspecified. The bytes must outlive the archive.
class input_archive : public cereal::InputArchive<input_archive, cereal::AllowEmptyClassElision> {
  using base = cereal::InputArchive<input_archive, cereal::AllowEmptyClassElision>;

 public:
  explicit input_archive(std::span<const std::byte> bytes, std::span<const buffer> attachments = {});
  ~input_archive() override;

  template <class... Ts>
  input_archive& operator()(Ts&&... objects) {
    (read(objects), ...);
    return *this;
  }

  void read_bytes(void* target, std::size_t size) {
    const auto source = take_bytes(size);
    if (size > 0) std::memcpy(target, source.data(), size);
  }

  /// The next bytes where they are, without a copy.
  std::span<const std::byte> take_bytes(std::size_t size) {
    if (size > bytes_left()) throw_truncated(size);
    const auto result = bytes_.subspan(position_, size);
    position_ += size;
    return result;
  }

  /// The next attachments, shared.
  std::span<const buffer> take_attachments(std::size_t count);

  std::size_t bytes_left() const noexcept { return bytes_.size() - position_; }

  /// Throws data_loss_error when `count` elements cannot be meant, given what is left.
  void check_count(std::uint64_t count) const {
    if (count > bytes_left() && count > elements_without_bytes_max) throw_too_many_elements(count);
  }

  /// Throws data_loss_error when bytes or attachments are left.
  void expect_end() const;

 private:
  template <class T>
  void read(T& object) {
    if constexpr (detail::is_boolean<T>()) {
      object = static_cast<T>(read_bool());
    } else if constexpr (detail::plain<T>) {
      read_bytes(&object, sizeof(object));
    } else if constexpr (detail::is_reflected<T>()) {
      const detail::nesting_level level{depth_};
      boost::pfr::for_each_field(object, [this](auto& member) { this->read(member); });
    } else {
      const detail::nesting_level level{depth_};
      base::operator()(object);
    }
  }

  bool read_bool();
  [[noreturn]] void throw_truncated(std::size_t size) const;
  [[noreturn]] void throw_too_many_elements(std::uint64_t count) const;

  std::span<const std::byte> bytes_;
  std::span<const buffer> attachments_;
  std::size_t position_ = 0;
  std::size_t attachments_position_ = 0;
  std::size_t depth_ = 0;
};

// What cereal's own functions for containers are built from.

template <detail::number T>
void save(output_archive& archive, const T& number) {
  archive(number);
}

template <detail::number T>
void load(input_archive& archive, T& number) {
  archive(number);
}

template <class T>
void save(output_archive& archive, const cereal::NameValuePair<T>& pair) {
  archive(pair.value);
}

template <class T>
void load(input_archive& archive, cereal::NameValuePair<T>& pair) {
  archive(pair.value);
}

template <class T>
void save(output_archive& archive, const cereal::SizeTag<T>& tag) {
  archive(static_cast<std::uint64_t>(tag.size));
}

template <class T>
void load(input_archive& archive, cereal::SizeTag<T>& tag) {
  auto count = std::uint64_t{};
  archive(count);
  archive.check_count(count);
  tag.size = static_cast<std::remove_reference_t<decltype(tag.size)>>(count);
}

template <class T>
void save(output_archive& archive, const cereal::BinaryData<T>& data) {
  archive.write_bytes(data.data, data.size);
}

template <class T>
void load(input_archive& archive, cereal::BinaryData<T>& data) {
  archive.read_bytes(data.data, data.size);
}

// Vectors and arrays: cereal's versions resize before they read, one element at a time unless they are arithmetic.

template <class T, class Allocator>
requires(!std::is_same_v<T, bool>) void save(output_archive& archive, const std::vector<T, Allocator>& elements) {
  archive(static_cast<std::uint64_t>(elements.size()));
  if constexpr (detail::block_element<T>) {
    archive.write_bytes(elements.data(), elements.size() * sizeof(T));
  } else {
    if (std::is_empty_v<T> && elements.size() > elements_without_bytes_max) {
      detail::throw_too_many_without_bytes(elements.size());
    }
    for (const auto& element : elements) archive(element);
  }
}

template <class T, class Allocator>
requires(!std::is_same_v<T, bool>) void load(input_archive& archive, std::vector<T, Allocator>& elements) {
  auto count = std::uint64_t{};
  archive(count);
  archive.check_count(count);
  elements.clear();
  if constexpr (detail::block_element<T>) {
    const auto source = archive.take_bytes(count * sizeof(T));  // no overflow: count was checked
    elements.resize(count);
    if (count > 0) std::memcpy(elements.data(), source.data(), source.size());
  } else {
    for (auto index = std::uint64_t{}; index < count; ++index) archive(elements.emplace_back());
  }
}

template <class T, std::size_t Size>
void save(output_archive& archive, const std::array<T, Size>& elements) {
  if constexpr (detail::block_element<T>) {
    archive.write_bytes(elements.data(), Size * sizeof(T));
  } else {
    for (const auto& element : elements) archive(element);
  }
}

template <class T, std::size_t Size>
void load(input_archive& archive, std::array<T, Size>& elements) {
  if constexpr (detail::block_element<T>) {
    archive.read_bytes(elements.data(), Size * sizeof(T));
  } else {
    for (auto& element : elements) archive(element);
  }
}

/// A tensor is its dtype, its shape and its elements; the device is the receiver's host.
void save(output_archive& archive, const tensor& x);
void load(input_archive& archive, tensor& x);

// Not encodable on purpose: shared ownership ends where the process ends, and cereal's way of restoring it trusts
// type information that comes with the bytes.
template <class T>
void save(output_archive&, const std::shared_ptr<T>&) = delete;
template <class T>
void load(input_archive&, std::shared_ptr<T>&) = delete;

}  // namespace troupe

CEREAL_SETUP_ARCHIVE_TRAITS(troupe::input_archive, troupe::output_archive)
