#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/npy_header.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::detail {

namespace {

struct type_name {
  dtype type;
  std::string_view name;
};

constexpr auto type_names = std::array{
    type_name{dtype::float16, "<f2"}, type_name{dtype::float32, "<f4"}, type_name{dtype::float64, "<f8"},
    type_name{dtype::int8, "|i1"},    type_name{dtype::int16, "<i2"},   type_name{dtype::int32, "<i4"},
    type_name{dtype::int64, "<i8"},   type_name{dtype::uint8, "|u1"},   type_name{dtype::boolean, "|b1"},
};

/// A part of the file for an error message.
std::string printable(std::string_view text) {
  constexpr std::size_t shown_max = 24;
  auto shown = std::string{text.substr(0, shown_max)};
  std::ranges::replace_if(
      shown, [](char each) { return each < ' ' || each > '~'; }, '.');
  return shown;
}

/// Reads a Python dictionary literal from the front of a text.
class literal_reader {
 public:
  explicit literal_reader(std::string_view text) : rest_(text), size_(text.size()) {}

  /// Throws at the place that was reached.
  [[noreturn]] void refuse(std::string_view expected) {
    skip_space();
    const auto found = rest_.empty() ? std::string{"the end"} : fmt::format("\"{}\"", printable(rest_));
    throw invalid_argument_error{
        fmt::format("the header has {} at position {}; expected {}", found, size_ - rest_.size(), expected)};
  }

  bool accept(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) refuse(fmt::format("\"{}\"", token));
  }

  /// A string without escapes, in either kind of quotes.
  std::string_view string(std::string_view what) {
    skip_space();
    const auto quote = rest_.empty() ? '\0' : rest_.front();
    const auto end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) refuse(what);
    const auto content = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return content;
  }

  bool boolean() {
    if (accept("True")) return true;
    if (accept("False")) return false;
    refuse("True or False");
  }

  std::int64_t extent() {
    skip_space();
    std::int64_t number = 0;
    const auto* end = rest_.data() + rest_.size();
    const auto [behind, failure] = std::from_chars(rest_.data(), end, number);
    if (failure != std::errc{} || number < 0) refuse("an extent from 0 to 2^63 - 1");
    rest_.remove_prefix(static_cast<std::size_t>(behind - rest_.data()));
    return number;
  }

  /// `()`, `(3,)`, `(2, 3)`
  shape extents() {
    expect("(");
    std::vector<std::int64_t> all;
    while (!accept(")")) {
      all.push_back(extent());
      if (accept(",")) continue;
      if (all.size() == 1) refuse("\",\", which makes a tuple of one extent");
      expect(")");
      break;
    }
    return shape{all};
  }

  void end() {
    skip_space();
    if (!rest_.empty()) refuse("the end of the header");
  }

 private:
  void skip_space() {
    const auto begin = rest_.find_first_not_of(" \t\n");
    rest_.remove_prefix(begin == std::string_view::npos ? rest_.size() : begin);
  }

  std::string_view rest_;
  std::size_t size_;
};

dtype type_of(std::string_view name) {
  for (const auto& known : type_names) {
    if (known.name == name) return known.type;
  }
  throw invalid_argument_error{fmt::format(
      "the element type is '{}'; expected little-endian <f2, <f4, <f8, <i2, <i4 or <i8, or |i1, |u1 or |b1: "
      "convert the array with astype() and save it again",
      printable(name))};
}

template <class T>
void set_once(std::optional<T>& target, T content, std::string_view key) {
  if (target) throw invalid_argument_error{fmt::format("the header has the key '{}' twice", key)};
  target = std::move(content);
}

}  // namespace

std::string format_npy_header(const npy_header& header) {
  for (const auto& known : type_names) {
    if (known.type != header.element_type) continue;
    return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", known.name,
                       header.extents.to_string());
  }
  throw invalid_argument_error{
      fmt::format("an NPY file cannot hold {}, which numpy has not; cast the tensor to float32 first",
                  to_string(header.element_type))};
}

npy_header parse_npy_header(std::string_view text) {
  auto reader = literal_reader{text};
  std::optional<dtype> element_type;
  std::optional<bool> fortran_order;
  std::optional<shape> extents;
  reader.expect("{");
  while (!reader.accept("}")) {
    const auto key = reader.string("'descr', 'fortran_order' or 'shape'");
    reader.expect(":");
    if (key == "descr") {
      set_once(element_type, type_of(reader.string("the element type as a string, such as '<f4'")), key);
    } else if (key == "fortran_order") {
      set_once(fortran_order, reader.boolean(), key);
    } else if (key == "shape") {
      set_once(extents, reader.extents(), key);
    } else {
      throw invalid_argument_error{
          fmt::format("the header has the key '{}'; expected 'descr', 'fortran_order' and 'shape'", printable(key))};
    }
    if (reader.accept(",")) continue;
    reader.expect("}");
    break;
  }
  reader.end();
  if (!element_type || !fortran_order || !extents) {
    throw invalid_argument_error{fmt::format("the header lacks '{}'; expected 'descr', 'fortran_order' and 'shape'",
                                             !element_type ? "descr" : (!fortran_order ? "fortran_order" : "shape"))};
  }
  if (*fortran_order) {
    throw invalid_argument_error{
        "the elements are in Fortran order; expected C order: save numpy.ascontiguousarray(array) instead"};
  }
  return {*element_type, *extents};
}

}  // namespace troupe::detail
