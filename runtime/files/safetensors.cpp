#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/atomic_file.hpp>
#include <troupe/runtime/files/mapped_file.hpp>
#include <troupe/runtime/files/safetensors.hpp>
#include <troupe/runtime/files/safetensors_header.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>

namespace troupe {

static_assert(std::endian::native == std::endian::little, "the format is little endian, and so are troupe's tensors");

namespace {

constexpr std::size_t length_bytes = 8;  // of the number before the header

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw invalid_argument_error{fmt::format(format, std::forward<Args>(args)...)};
}

/// The shape of all parts together.
shape joined_shape(const safetensors_entry& entry) {
  if (entry.parts.empty()) refuse("tensor \"{}\" has no parts; give at least one", entry.name);
  const auto& first = entry.parts.front();
  if (entry.parts.size() == 1) return first.get_shape();
  std::int64_t rows = 0;
  for (const auto& part : entry.parts) {
    const auto fits = part.get_dtype() == first.get_dtype() && part.rank() == first.rank() && part.rank() > 0 &&
                      part.get_shape().with_axis(0, 0) == first.get_shape().with_axis(0, 0);
    if (!fits) {
      refuse(
          "the parts of tensor \"{}\" do not fit: {} {} and {} {}; they must have one dtype, at least one axis, and "
          "may differ in axis 0 only",
          entry.name, to_string(first.get_dtype()), first.get_shape().to_string(), to_string(part.get_dtype()),
          part.get_shape().to_string());
    }
    rows += part.get_shape()[0];
  }
  return first.get_shape().with_axis(0, rows);
}

/// Entries in the order of their bytes: large elements first, so that every tensor is aligned for its dtype.
std::vector<const safetensors_entry*> in_file_order(std::span<const safetensors_entry> entries) {
  std::set<std::string_view> names;
  std::vector<const safetensors_entry*> ordered;
  for (const auto& entry : entries) {
    if (entry.name.empty() || entry.name == "__metadata__") {
      refuse("\"{}\" is no name for a tensor; \"__metadata__\" and the empty name are reserved", entry.name);
    }
    if (!names.insert(entry.name).second) refuse("two tensors have the name \"{}\"; names must differ", entry.name);
    joined_shape(entry);  // checks the parts, so that front() below exists
    ordered.push_back(&entry);
  }
  std::sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) {
    const auto a_size = size_bytes(a->parts.front().get_dtype());
    const auto b_size = size_bytes(b->parts.front().get_dtype());
    return a_size != b_size ? a_size > b_size : a->name < b->name;
  });
  return ordered;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

}  // namespace

void write_safetensors(const std::string& path, std::span<const safetensors_entry> entries,
                       const std::map<std::string, std::string>& metadata) {
  const auto ordered = in_file_order(entries);
  std::vector<std::pair<std::string, safetensors_file::tensor_info>> tensors;
  std::vector<std::span<const std::byte>> pieces;
  std::uint64_t end = 0;
  for (const auto* entry : ordered) {
    const auto begin = end;
    for (const auto& part : entry->parts) {
      pieces.push_back(part.bytes());
      end += pieces.back().size();
    }
    tensors.push_back({entry->name, {entry->parts.front().get_dtype(), joined_shape(*entry), begin, end}});
  }
  const auto header = detail::format_safetensors_header(tensors, metadata);
  if (header.size() > safetensors_file::header_bytes_max) {
    refuse("the header of \"{}\" would have {} bytes but at most {} are allowed; write fewer tensors or less metadata",
           path, header.size(), safetensors_file::header_bytes_max);
  }
  const auto length = std::bit_cast<std::array<std::byte, length_bytes>>(static_cast<std::uint64_t>(header.size()));
  atomic_file file{path};
  file.write(length);
  file.write(bytes_of(header));
  for (const auto& piece : pieces) file.write(piece);
  file.commit();
}

safetensors_file::safetensors_file(const std::string& path) : path_(path), bytes_(map_file(path)) {
  const auto size = bytes_.size_bytes();
  const auto damaged = [&](const std::string& why) {
    throw data_loss_error{fmt::format("\"{}\" {}; it is truncated or no safetensors file", path, why)};
  };
  if (size < length_bytes) damaged(fmt::format("has {} bytes, too few for a header", size));
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes_.data(), length_bytes);
  if (header_bytes > header_bytes_max) {
    damaged(
        fmt::format("says that its header has {} bytes, more than the limit of {}", header_bytes, header_bytes_max));
  }
  if (header_bytes > size - length_bytes) {
    damaged(fmt::format("says that its header has {} bytes, but only {} follow", header_bytes, size - length_bytes));
  }
  data_begin_ = length_bytes + header_bytes;
  const std::string_view text{reinterpret_cast<const char*>(bytes_.data()) + length_bytes, header_bytes};
  if (!text.starts_with('{')) damaged("has no '{' at the start of its header");
  auto header = detail::parse_safetensors_header(text, size - data_begin_, path);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
}

std::vector<std::string> safetensors_file::names() const {
  std::vector<std::string> all;
  all.reserve(tensors_.size());
  for (const auto& [name, info] : tensors_) all.push_back(name);
  return all;
}

const safetensors_file::tensor_info& safetensors_file::info(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  constexpr std::size_t names_shown_max = 8;
  std::string some;
  auto next = tensors_.begin();
  for (std::size_t shown = 0; shown < names_shown_max && next != tensors_.end(); ++shown, ++next) {
    some += fmt::format("{}\"{}\"", shown == 0 ? "" : ", ", next->first);
  }
  if (next != tensors_.end()) some += ", ...";
  throw not_found_error{fmt::format("\"{}\" has no tensor \"{}\"; it has {}: {}", path_, name, tensors_.size(), some)};
}

tensor safetensors_file::read(std::string_view name) const {
  const auto& where = info(name);
  return read_at(name, where, where.extents, where.begin);
}

tensor safetensors_file::read_rows(std::string_view name, std::int64_t begin, std::int64_t end) const {
  const auto& where = info(name);
  if (where.extents.is_scalar()) refuse("tensor \"{}\" of \"{}\" is a scalar and has no rows; use read", name, path_);
  const auto rows = where.extents[0];
  if (begin < 0 || end < begin || end > rows) {
    throw out_of_range_error{
        fmt::format("rows {} to {} of tensor \"{}\" of \"{}\" do not exist; it has {} rows, and "
                    "the first must not come after the last",
                    begin, end, name, path_, rows)};
  }
  const auto row_bytes = rows == 0 ? 0 : (where.end - where.begin) / static_cast<std::uint64_t>(rows);
  const auto first = where.begin + row_bytes * static_cast<std::uint64_t>(begin);
  return read_at(name, where, where.extents.with_axis(0, end - begin), first);
}

tensor safetensors_file::read_at(std::string_view name, const tensor_info& where, const shape& extents,
                                 std::uint64_t begin) const {
  try {
    return tensor::from_buffer(where.type, extents, bytes_, data_begin_ + begin);
  } catch (const invalid_argument_error& e) {
    throw data_loss_error{fmt::format("tensor \"{}\" of \"{}\" is damaged: {}", name, path_, e.message())};
  }
}

}  // namespace troupe
