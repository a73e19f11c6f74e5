#include <troupe/device/base/error.hpp>
#include <troupe/runtime/variables/checkpoint_file.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

constexpr auto format_key = "troupe.checkpoint";

tensor copy_of(const tensor& part) {
  auto copy = tensor::uninitialised(part.get_dtype(), part.get_shape());
  const auto from = part.bytes();
  // Of pointers: GCC 12 copies spans of bytes one by one.
  std::copy_n(from.data(), from.size(), copy.mutable_bytes().data());
  return copy;
}

}  // namespace

safetensors_file open_checkpoint(const std::string& path) {
  safetensors_file file{path};
  if (!file.metadata().contains(format_key))
    throw invalid_argument_error{fmt::format(
        "{} is a safetensors file, but no checkpoint of troupe: it lacks the metadata \"{}\"", path, format_key)};
  return file;
}

void write_checkpoint(const std::string& path, std::span<const safetensors_entry> entries,
                      std::map<std::string, std::string> metadata) {
  write_safetensors(path, entries, with_mark(std::move(metadata)));
}

std::map<std::string, std::string> with_mark(std::map<std::string, std::string> metadata) {
  metadata.emplace(format_key, "1");
  return metadata;
}

void check_saved(const safetensors_file& file, const std::string& name, dtype type, const shape& extents) {
  const auto& info = file.info(name);
  if (info.extents != extents || info.type != type)
    throw invalid_argument_error{fmt::format("checkpoint {}: \"{}\" is {} {}, but the variable is {} {}", file.path(),
                                             name, to_string(info.type), info.extents.to_string(), to_string(type),
                                             extents.to_string())};
}

tensor copy_of_rows(const safetensors_file& file, const std::string& name, std::int64_t begin, std::int64_t rows) {
  if (file.info(name).extents.rank() == 0) return copy_of_tensor(file, name);
  auto copy = copy_of(file.read_rows(name, begin, begin + rows));
  file.forget_rows(name, begin, begin + rows);
  return copy;
}

tensor copy_of_tensor(const safetensors_file& file, const std::string& name) { return copy_of(file.read(name)); }

std::map<std::string, std::string> metadata_of_user(const safetensors_file& file) {
  auto metadata = file.metadata();
  std::erase_if(metadata, [](const auto& entry) { return entry.first.starts_with("troupe."); });
  return metadata;
}

}  // namespace troupe
