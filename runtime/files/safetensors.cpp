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

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

void check_names(std::span<const safetensors_writer::entry> entries) {
  std::set<std::string_view> names;
  for (const auto& entry : entries) {
    if (entry.name.empty() || entry.name == "__metadata__") {
      refuse("\"{}\" is no name for a tensor; \"__metadata__\" and the empty name are reserved", entry.name);
    }
    if (!names.insert(entry.name).second) refuse("two tensors have the name \"{}\"; names must differ", entry.name);
  }
}

std::uint64_t bytes_of(const safetensors_writer::entry& entry) {
  return static_cast<std::uint64_t>(entry.extents.element_count()) * size_bytes(entry.type);
}

}  // namespace

safetensors_writer::safetensors_writer(const std::string& path, std::span<const entry> entries,
                                       const std::map<std::string, std::string>& metadata)
    : path_(path), file_(path) {
  check_names(entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    places_.push_back({entries[i]});
    in_file_order_.push_back(i);
  }
  // Large elements first, so that every tensor is aligned for its dtype.
  std::sort(in_file_order_.begin(), in_file_order_.end(), [&](std::size_t a, std::size_t b) {
    const auto a_size = size_bytes(entries[a].type);
    const auto b_size = size_bytes(entries[b].type);
    return a_size != b_size ? a_size > b_size : entries[a].name < entries[b].name;
  });
  for (const auto index : in_file_order_) {
    auto& here = places_[index];
    here.begin = data_bytes_;
    here.end = data_bytes_ += bytes_of(here.what);
  }
  header_bytes_ = header(metadata).size();
  if (header_bytes_ > safetensors_file::header_bytes_max) {
    refuse("the header of \"{}\" would have {} bytes but at most {} are allowed; write fewer tensors or less metadata",
           path, header_bytes_, safetensors_file::header_bytes_max);
  }
}

std::string safetensors_writer::header(const std::map<std::string, std::string>& metadata) const {
  std::vector<std::pair<std::string, safetensors_file::tensor_info>> tensors;
  for (const auto index : in_file_order_) {
    const auto& [what, begin, end] = places_[index];
    tensors.push_back({what.name, {what.type, what.extents, begin, end}});
  }
  return detail::format_safetensors_header(tensors, metadata);
}

void safetensors_writer::write(std::size_t index, std::int64_t row_begin, const tensor& rows) {
  const auto& [what, begin, end] = places_.at(index);
  const auto whole = what.extents.is_scalar();
  const auto is_part = rows.get_dtype() == what.type && rows.rank() == what.extents.rank() && row_begin >= 0 &&
                       (whole ? row_begin == 0
                              : rows.get_shape().with_axis(0, 0) == what.extents.with_axis(0, 0) &&
                                    rows.get_shape()[0] <= what.extents[0] - row_begin);
  if (!is_part) {
    refuse("{} {} from row {} on are no part of tensor \"{}\" of \"{}\", which is {} {}", to_string(rows.get_dtype()),
           rows.get_shape().to_string(), row_begin, what.name, path_, to_string(what.type), what.extents.to_string());
  }
  const auto row_bytes =
      whole || what.extents[0] == 0 ? 0 : (end - begin) / static_cast<std::uint64_t>(what.extents[0]);
  const auto bytes = rows.bytes();
  file_.write_at(length_bytes + header_bytes_ + begin + row_bytes * static_cast<std::uint64_t>(row_begin), bytes);
  written_bytes_ += bytes.size();
}

void safetensors_writer::commit(const std::map<std::string, std::string>& metadata) {
  auto text = header(metadata);
  if (text.size() > header_bytes_)
    refuse("the metadata of \"{}\" are longer than was said: {} bytes of header instead of {}", path_, text.size(),
           header_bytes_);
  text.resize(header_bytes_, ' ');
  if (written_bytes_ != data_bytes_)
    throw failed_precondition_error{
        fmt::format("{} bytes were written of the {} of \"{}\"", written_bytes_, data_bytes_, path_)};
  const auto length = std::bit_cast<std::array<std::byte, length_bytes>>(header_bytes_);
  file_.write(length);
  file_.write(bytes_of(text));
  file_.commit();
}

void write_safetensors(const std::string& path, std::span<const safetensors_entry> entries,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<safetensors_writer::entry> tensors;
  for (const auto& entry : entries) {
    const auto extents = joined_shape(entry);
    tensors.push_back({entry.name, entry.parts.front().get_dtype(), extents});
  }
  safetensors_writer writer{path, tensors, metadata};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::int64_t row = 0;
    for (const auto& part : entries[i].parts) {
      writer.write(i, row, part);
      row += part.rank() == 0 ? 0 : part.get_shape()[0];
    }
  }
  writer.commit(metadata);
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

std::vector<std::string> safetensors_file::names(std::string_view prefix) const {
  std::vector<std::string> found;
  for (auto next = tensors_.lower_bound(prefix); next != tensors_.end() && next->first.starts_with(prefix); ++next)
    found.push_back(next->first);
  return found;
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

std::pair<std::uint64_t, std::uint64_t> safetensors_file::place_of_rows(std::string_view name, std::int64_t begin,
                                                                        std::int64_t end) const {
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
  return {where.begin + row_bytes * static_cast<std::uint64_t>(begin),
          where.begin + row_bytes * static_cast<std::uint64_t>(end)};
}

tensor safetensors_file::read_rows(std::string_view name, std::int64_t begin, std::int64_t end) const {
  const auto [first, last] = place_of_rows(name, begin, end);
  const auto& where = info(name);
  return read_at(name, where, where.extents.with_axis(0, end - begin), first);
}

void safetensors_file::forget_rows(std::string_view name, std::int64_t begin, std::int64_t end) const {
  const auto [first, last] = place_of_rows(name, begin, end);
  forget_pages(std::span{bytes_.data(), bytes_.size_bytes()}.subspan(data_begin_ + first, last - first));
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
