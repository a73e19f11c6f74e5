#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/strict_json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>
#include <vector>

namespace troupe {

namespace {

using json = nlohmann::json;

constexpr std::size_t excerpt_length_max = 60;

/// Sees each parser event and keeps, for every object that is still open, the keys met so far.
///
/// It reads the text once before the library makes values of it: the library's own way to look on meanwhile
/// (parser_callback_t) walks over all of an object's members for each value in it, which takes minutes for 100,000.
class duplicate_key_check : public nlohmann::json_sax<json> {
 public:
  explicit duplicate_key_check(std::string_view what) : what_(what) {}

  bool start_object(std::size_t) override { return open(); }
  bool key(std::string& key) override {
    if (open_.back().insert(key).second) return true;
    throw invalid_argument_error{
        fmt::format("{}: the key \"{}\" occurs twice in one JSON object; keep one of the two", what_, key)};
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(json::number_integer_t) override { return true; }
  bool number_unsigned(json::number_unsigned_t) override { return true; }
  bool number_float(json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  /// Whoever makes values of the text says what is wrong.
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return false; }

 private:
  bool open() {
    if (open_.size() == json_depth_max)
      throw invalid_argument_error{fmt::format(
          "{}: the JSON is nested more than {} levels deep; expected a flat object", what_, json_depth_max)};
    open_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view what_;
  /// Objects and lists that are open; a list has no keys.
  std::vector<std::set<std::string>> open_;
};

}  // namespace

json parse_json_object(std::string_view text, std::string_view what) {
  json parsed;
  try {
    duplicate_key_check check{what};
    json::sax_parse(text, &check);
    parsed = json::parse(text);
  } catch (const json::exception& e) {
    throw invalid_argument_error{fmt::format("{} is not valid JSON: {}", what, e.what())};
  }
  if (!parsed.is_object()) {
    throw invalid_argument_error{fmt::format("{} is {} but must be a JSON object {{...}}", what, json_kind(parsed))};
  }
  return parsed;
}

std::string_view json_kind(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "a list";
    case json::value_t::string:
      return "a string";
    case json::value_t::boolean:
      return "true or false";
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
    case json::value_t::number_float:
      return "a number";
    default:
      return "something unreadable";
  }
}

std::string json_excerpt(const json& value) {
  auto text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() <= excerpt_length_max) return text;
  // Never cut inside a UTF-8 sequence: its later bytes have the form 10xxxxxx.
  auto end = excerpt_length_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text + "...";
}

}  // namespace troupe
