// One way of reading JSON that came from outside: the text of TF_CONFIG, the header of a safetensors file.
//
// The parser of nlohmann-json keeps the last of two equal keys and says nothing. For a format that names tensors or
// tasks by key this hides a damaged or a forged file, so duplicates are refused here, and every message begins with
// the name of what was read.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace troupe {

/// Parses `text` as one JSON object whose keys are unique at every level, nested at most `json_depth_max` deep.
/// `what` names the source in messages, such as "TF_CONFIG" or a file's name.
/// @throws invalid_argument_error when the text is no JSON, no object, nested too deep, or repeats a key.
nlohmann::json parse_json_object(std::string_view text, std::string_view what);

/// "a string", "a list", "an object", "a number", "true or false", "null": what a JSON value is, for messages.
std::string_view json_kind(const nlohmann::json& value);

/// The value as text for a message, cut to a readable length.
std::string json_excerpt(const nlohmann::json& value);

inline constexpr int json_depth_max = 32;

}  // namespace troupe
