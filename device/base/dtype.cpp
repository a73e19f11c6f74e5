#include <troupe/device/base/dtype.hpp>
#include <troupe/device/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace troupe {

namespace {

// Indexed by the tag's number.
constexpr std::array<std::string_view, 10> names{"float32", "float64", "float16", "bfloat16", "int8",
                                                 "int16",   "int32",   "int64",   "uint8",    "boolean"};

}  // namespace

void throw_unknown_dtype(dtype type) {
  throw invalid_argument_error{
      fmt::format("{} is no element type; expected a number from 0 to {}: the data is damaged or "
                  "comes from another version of troupe",
                  to_string(type), names.size() - 1)};
}

std::size_t size_bytes(dtype type) {
  return visit_dtype(type, []<class T>(std::type_identity<T>) { return sizeof(T); });
}

std::string to_string(dtype type) {
  const auto index = static_cast<std::size_t>(type);
  return index < names.size() ? std::string{names[index]} : fmt::format("dtype({})", index);
}

dtype dtype_from_string(std::string_view name) {
  if (name == "bool") return dtype::boolean;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw invalid_argument_error{
        fmt::format("\"{}\" is no element type; expected one of {}", name, fmt::join(names, ", "))};
  }
  return static_cast<dtype>(found - names.begin());
}

}  // namespace troupe
