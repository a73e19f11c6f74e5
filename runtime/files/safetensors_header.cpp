#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/safetensors_header.hpp>
#include <troupe/runtime/files/strict_json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace troupe::detail {

namespace {

using json = nlohmann::json;
using tensor_info = safetensors_file::tensor_info;

constexpr auto metadata_key = "__metadata__";

/// The format's names of the element types that troupe has too.
constexpr std::array<std::pair<std::string_view, dtype>, 10> dtype_names{{{"F32", dtype::float32},
                                                                          {"F64", dtype::float64},
                                                                          {"F16", dtype::float16},
                                                                          {"BF16", dtype::bfloat16},
                                                                          {"I8", dtype::int8},
                                                                          {"I16", dtype::int16},
                                                                          {"I32", dtype::int32},
                                                                          {"I64", dtype::int64},
                                                                          {"U8", dtype::uint8},
                                                                          {"BOOL", dtype::boolean}}};

std::string_view format_name(dtype type) {
  const auto* known = std::find_if(dtype_names.begin(), dtype_names.end(),
                                   [type](const auto& candidate) { return candidate.second == type; });
  if (known == dtype_names.end()) throw_unknown_dtype(type);
  return known->first;
}

/// One tensor's part of the header while it is read; knows how to begin a message.
struct entry {
  const std::string& path;
  const std::string& name;
  const json& value;

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw data_loss_error{fmt::format("\"{}\" is damaged: tensor \"{}\" {}; write the file again or use another one",
                                      path, name, fmt::format(format, std::forward<Args>(args)...))};
  }

  const json& member(const char* key) const {
    const auto found = value.find(key);
    if (found == value.end()) refuse("has no {}", key);
    return *found;
  }
};

dtype parse_dtype(const entry& in) {
  const auto& value = in.member("dtype");
  if (!value.is_string()) in.refuse("has the dtype {} but it must be a string such as \"F32\"", json_excerpt(value));
  const auto& text = value.get_ref<const std::string&>();
  for (const auto& [name, type] : dtype_names) {
    if (name == text) return type;
  }
  throw unimplemented_error{
      fmt::format("\"{}\": tensor \"{}\" has the dtype {}, which troupe does not have; expected one of F32, F64, F16, "
                  "BF16, I8, I16, I32, I64, U8, BOOL: convert the tensor before it is saved",
                  in.path, in.name, json_excerpt(value))};
}

shape parse_shape(const entry& in) {
  const auto& value = in.member("shape");
  if (!value.is_array()) in.refuse("has the shape {} but it must be a list of numbers", json_excerpt(value));
  if (value.size() > static_cast<std::size_t>(shape::rank_max)) {
    throw unimplemented_error{
        fmt::format("\"{}\": tensor \"{}\" has rank {} but troupe's tensors have at most {}: "
                    "reshape the tensor before it is saved",
                    in.path, in.name, value.size(), shape::rank_max)};
  }
  std::vector<std::int64_t> extents;
  for (const auto& extent : value) {
    const auto in_range = extent.is_number_unsigned() && extent.get<std::uint64_t>() <= INT64_MAX;
    if (!in_range) in.refuse("has the shape {} but extents must be whole numbers from 0", json_excerpt(value));
    extents.push_back(extent.get<std::int64_t>());
  }
  try {
    return shape{extents};
  } catch (const invalid_argument_error& e) {
    in.refuse("has an impossible shape: {}", e.message());
  }
}

tensor_info parse_entry(const entry& in, std::uint64_t data_bytes) {
  if (!in.value.is_object()) in.refuse("is {} but must be an object", json_excerpt(in.value));
  tensor_info info;
  info.type = parse_dtype(in);
  info.extents = parse_shape(in);
  const auto& offsets = in.member("data_offsets");
  const auto is_pair =
      offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() && offsets[1].is_number_unsigned();
  if (!is_pair) in.refuse("has the data_offsets {} but they must be [begin, end]", json_excerpt(offsets));
  info.begin = offsets[0].get<std::uint64_t>();
  info.end = offsets[1].get<std::uint64_t>();
  if (info.begin > info.end) in.refuse("ends at byte {}, before it begins at {}", info.end, info.begin);
  if (info.end > data_bytes) in.refuse("ends at byte {} but the file has only {} (truncated?)", info.end, data_bytes);
  const auto needed = static_cast<std::uint64_t>(info.extents.element_count()) * size_bytes(info.type);
  if (info.end - info.begin != needed) {
    in.refuse("has {} bytes but its shape {} and dtype {} need {}", info.end - info.begin, info.extents.to_string(),
              to_string(info.type), needed);
  }
  return info;
}

void parse_metadata(const json& value, const std::string& path, safetensors_header& header) {
  const auto refuse = [&](std::string_view why) {
    throw data_loss_error{
        fmt::format("\"{}\" is damaged: __metadata__ {}; it must be an object of strings: write the file again or use "
                    "another one",
                    path, why)};
  };
  if (!value.is_object()) refuse(fmt::format("is {}", json_kind(value)));
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) refuse(fmt::format("holds {} under \"{}\"", json_kind(text), key));
    header.metadata.emplace(key, text.get<std::string>());
  }
}

/// The tensors must follow each other without a hole or an overlap, from the first byte to the last.
void check_coverage(const safetensors_header& header, std::uint64_t data_bytes, const std::string& path) {
  std::vector<std::pair<const std::string*, const tensor_info*>> ordered;
  for (const auto& [name, info] : header.tensors) ordered.emplace_back(&name, &info);
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return std::pair{a.second->begin, a.second->end} < std::pair{b.second->begin, b.second->end};
  });
  std::uint64_t covered = 0;
  for (const auto& [name, info] : ordered) {
    if (info->begin != covered) {
      throw data_loss_error{fmt::format(
          "\"{}\" is damaged: tensor \"{}\" begins at byte {} but the tensor before it ends at {} ({}); write the file "
          "again or use another one",
          path, *name, info->begin, covered, info->begin < covered ? "they overlap" : "there is a hole")};
    }
    covered = info->end;
  }
  if (covered != data_bytes) {
    throw data_loss_error{fmt::format(
        "\"{}\" is damaged: its tensors end at byte {} but the file has {} bytes of data; write the file again or use "
        "another one",
        path, covered, data_bytes)};
  }
}

}  // namespace

safetensors_header parse_safetensors_header(std::string_view text, std::uint64_t data_bytes, const std::string& path) {
  json document;
  try {
    document = parse_json_object(text, fmt::format("the header of \"{}\"", path));
  } catch (const invalid_argument_error& e) {
    throw data_loss_error{fmt::format("{}; the file is damaged or no safetensors file", e.message())};
  }
  safetensors_header header;
  for (const auto& [name, value] : document.items()) {
    if (name == metadata_key) {
      parse_metadata(value, path, header);
    } else {
      header.tensors.emplace(name, parse_entry({path, name, value}, data_bytes));
    }
  }
  check_coverage(header, data_bytes, path);
  return header;
}

std::string format_safetensors_header(const std::vector<std::pair<std::string, tensor_info>>& tensors,
                                      const std::map<std::string, std::string>& metadata) {
  auto document = nlohmann::ordered_json::object();
  if (!metadata.empty()) document[metadata_key] = metadata;
  // Appended to the list that it is: looking each name up would walk all those before it.
  auto& members = document.get_ref<nlohmann::ordered_json::object_t&>();
  for (const auto& [name, info] : tensors) {
    nlohmann::ordered_json entry = {{"dtype", format_name(info.type)},
                                    {"shape", std::vector<std::int64_t>{info.extents.begin(), info.extents.end()}},
                                    {"data_offsets", {info.begin, info.end}}};
    members.emplace_back(name, std::move(entry));
  }
  try {
    auto text = document.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
  } catch (const json::type_error& e) {
    throw invalid_argument_error{
        fmt::format("names and metadata of a safetensors file must be UTF-8, but one is not: {}", e.what())};
  }
}

}  // namespace troupe::detail
