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
class duplicate_key_check {
 public:
  explicit duplicate_key_check(std::string_view what) : what_(what) {}

  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    if (depth > json_depth_max) {
      throw invalid_argument_error{fmt::format(
          "{}: the JSON is nested more than {} levels deep; expected a flat object", what_, json_depth_max)};
    }
    switch (event) {
      case json::parse_event_t::object_start:
        open_objects_.emplace_back();
        break;
      case json::parse_event_t::object_end:
        open_objects_.pop_back();
        break;
      case json::parse_event_t::key:
        insert(parsed.get_ref<const std::string&>());
        break;
      default:
        break;
    }
    return true;
  }

 private:
  void insert(const std::string& key) {
    if (open_objects_.back().insert(key).second) return;
    throw invalid_argument_error{
        fmt::format("{}: the key \"{}\" occurs twice in one JSON object; keep one of the two", what_, key)};
  }

  std::string_view what_;
  std::vector<std::set<std::string>> open_objects_;
};

}  // namespace

json parse_json_object(std::string_view text, std::string_view what) {
  json parsed;
  try {
    parsed = json::parse(text, duplicate_key_check{what});
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
