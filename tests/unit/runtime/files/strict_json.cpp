// JSON from files and the environment: runtime/files/strict_json.hpp.
#include "support/effort.hpp"
#include "support/refusal.hpp"

#include <troupe/runtime/files/strict_json.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>

namespace troupe {

BOOST_AUTO_TEST_SUITE(strict_json_suite)

namespace {

std::string nested(int levels) {
  return "{\"a\": " + std::string(static_cast<std::size_t>(levels - 1), '[') +
         std::string(static_cast<std::size_t>(levels - 1), ']') + "}";
}

std::string with_keys(int count) {
  auto text = std::string{"{"};
  for (int i = 0; i < count; ++i) text += fmt::format("{}\"key {}\": [{}]", i == 0 ? "" : ", ", i, i);
  return text + "}";
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_read_is_what_the_text_says) {
  const auto read = parse_json_object(R"({"a": [1, -2, 0.5, true, null, "x"], "b": {"a": {}}})", "a text");
  BOOST_TEST(read["a"].size() == 6u);
  BOOST_TEST(read["a"][1].get<int>() == -2);
  BOOST_TEST(read["b"]["a"].is_object());
}

BOOST_AUTO_TEST_CASE(a_key_that_occurs_twice_in_one_object_is_refused_and_in_two_objects_is_not) {
  BOOST_CHECK_NO_THROW(parse_json_object(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})", "a text"));
  for (const auto* text : {R"({"a": 1, "a": 1})", R"({"b": [{"a": 1, "c": {}, "a": 2}]})"})
    BOOST_TEST(refuses<invalid_argument_error>([&] { parse_json_object(text, "a text"); },
                                               "a text: the key \"a\" occurs twice"));
}

BOOST_AUTO_TEST_CASE(nesting_has_a_limit_that_the_error_names) {
  BOOST_CHECK_NO_THROW(parse_json_object(nested(json_depth_max), "a text"));
  BOOST_TEST(refuses<invalid_argument_error>([] { parse_json_object(nested(json_depth_max + 1), "a text"); },
                                             "a text: the JSON is nested more than 32 levels"));
}

BOOST_AUTO_TEST_CASE(what_is_no_json_or_no_object_is_refused) {
  for (const auto* text : {"", "{", "{\"a\": }", "{\"a\": 1} 2", "{\"a\": \"\xff\"}"})
    BOOST_TEST(refuses<invalid_argument_error>([&] { parse_json_object(text, "a text"); }, "a text is not valid JSON"));
  BOOST_TEST(refuses<invalid_argument_error>([] { parse_json_object("[1]", "a text"); },
                                             "a text is a list but must be a JSON object"));
}

// A checkpoint of many variables has one object with a member for each.
BOOST_AUTO_TEST_CASE(many_keys_cost_in_proportion) {
  BOOST_TEST(cost_of_ten_times_as_much(2'000, [](int keys) { parse_json_object(with_keys(keys), "a text"); }) < 40);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
