#include "codec_objects.hpp"

#include <troupe/actors/values/codec.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <boost/test/unit_test.hpp>

#include <random>
#include <string>

BOOST_AUTO_TEST_SUITE(codec_damage_suite)

using troupe::decode;
using troupe::encode;
using troupe::encoded;
using troupe::shape;
using troupe::tensor;
using namespace codec_objects;

namespace {

/// Decodes bytes that may be anything; only data_loss_error is a proper answer beside success.
template <class T>
bool decodes(const encoded& source) {
  try {
    (void)decode<T>(source);
    return true;
  } catch (const troupe::data_loss_error&) {
    return false;
  }
}

template <class T>
void decode_damaged(const T& object, int rounds, std::uint64_t seed) {
  const auto original = encode(object);
  auto random = std::mt19937_64{seed};
  auto refused = 0;
  for (auto round = 0; round < rounds; ++round) {
    auto damaged = original;
    if (random() % 3 == 0) damaged.bytes.resize(random() % (damaged.bytes.size() + 1));
    const auto flips = damaged.bytes.empty() ? 0 : random() % 4;
    for (auto flip = 0u; flip < flips; ++flip) {
      damaged.bytes[random() % damaged.bytes.size()] = static_cast<std::byte>(random());
    }
    if (random() % 8 == 0) damaged.attachments.resize(random() % 3);
    if (!decodes<T>(damaged)) ++refused;
  }
  BOOST_TEST(refused > rounds / 10);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_truncation_is_data_loss) {
  const auto source = encode(example_record());
  for (auto size = std::size_t{0}; size < source.bytes.size(); ++size) {
    BOOST_CHECK_THROW(decode<record>(std::span{source.bytes}.first(size)), troupe::data_loss_error);
  }
}

BOOST_AUTO_TEST_CASE(what_is_left_over_is_data_loss) {
  auto source = encode(1);
  source.bytes.push_back(std::byte{});
  BOOST_CHECK_THROW(decode<int>(source), troupe::data_loss_error);
  auto with_attachment = encode(counting(elements_of_attachment));
  with_attachment.attachments.push_back(with_attachment.attachments.front());
  BOOST_CHECK_THROW(decode<tensor>(with_attachment), troupe::data_loss_error);
}

BOOST_AUTO_TEST_CASE(the_error_says_what_was_expected) {
  try {
    (void)decode<point>(encode(1));
    BOOST_FAIL("no error was thrown");
  } catch (const troupe::data_loss_error& e) {
    const auto text = std::string{e.what()};
    BOOST_TEST(text.find("point") != std::string::npos);
    BOOST_TEST(text.find("expected 4 bytes at byte 4 but 0 of 4 are left") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_hostile_count_is_refused_before_memory_is_allocated) {
  for (auto count : {std::uint64_t{1} << 62, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    const auto source = encode(count);
    BOOST_TEST(!decodes<std::vector<double>>(source));
    BOOST_TEST(!decodes<std::vector<record>>(source));
    BOOST_TEST(!decodes<std::vector<marker>>(source));
    BOOST_TEST(!decodes<std::vector<bool>>(source));
    BOOST_TEST(!decodes<std::string>(source));
    BOOST_TEST((!decodes<std::map<int, int>>(source)));
    BOOST_TEST(!decodes<std::unordered_set<int>>(source));
  }
  const auto huge = encode(std::tuple{troupe::dtype::float64, shape{1 << 20, 1 << 20}, std::uint8_t{0}});
  BOOST_TEST(!decodes<tensor>(huge));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_bool_no_alternative_and_no_dtype_are_data_loss) {
  BOOST_TEST(!decodes<bool>(encode(std::uint8_t{2})));
  BOOST_TEST(!decodes<switched>(encode(std::uint8_t{2})));
  BOOST_TEST((!decodes<std::array<bool, 1>>(encode(std::uint8_t{2}))));
  BOOST_TEST((!decodes<std::variant<int, float>>(encode(std::pair{2, 0}))));
  BOOST_TEST((!decodes<std::variant<int, float>>(encode(std::pair{-1, 0}))));
  BOOST_TEST(!decodes<tensor>(encode(std::tuple{std::uint8_t{200}, shape{}, std::uint8_t{0}, 0.0f})));
  BOOST_TEST(!decodes<tensor>(encode(std::tuple{troupe::dtype::float32, shape{}, std::uint8_t{2}, 0.0f})));
  BOOST_TEST(!decodes<tensor>(encode(std::tuple{troupe::dtype::boolean, shape{}, std::uint8_t{0}, std::uint8_t{9}})));
  BOOST_TEST(!decodes<tensor>(encode(std::tuple{troupe::dtype::float32, shape{3}, std::uint8_t{1}})));
}

BOOST_AUTO_TEST_CASE(an_attachment_of_another_size_is_data_loss) {
  auto source = encode(counting(elements_of_attachment));
  source.attachments[0] = encode(counting(elements_of_attachment + 1)).attachments[0];
  BOOST_TEST(!decodes<tensor>(source));
}

BOOST_AUTO_TEST_CASE(nesting_is_bounded_at_both_ends) {
  const auto deepest = troupe::nesting_depth_max / 2;
  BOOST_TEST(decode<tree>(encode(chain(deepest))).children.size() == 1u);
  BOOST_CHECK_THROW(encode(chain(deepest + 1)), troupe::invalid_argument_error);
  auto bytes = std::vector<std::byte>{};
  for (auto level = 0; level < 10'000; ++level) {
    const auto node = encode(std::tuple{level, std::uint64_t{1}});
    bytes.insert(bytes.end(), node.bytes.begin(), node.bytes.end());
  }
  BOOST_CHECK_THROW(decode<tree>(bytes), troupe::data_loss_error);
}

BOOST_AUTO_TEST_CASE(damaged_encodings_are_refused_or_decoded_but_never_harm) {
  decode_damaged(example_record(), 10'000, 1);
  decode_damaged(with_tensors{counting(elements_of_attachment), {counting(3), counting(elements_of_attachment)}, "x"},
                 5'000, 2);
  decode_damaged(chain(20), 5'000, 3);
}

BOOST_AUTO_TEST_SUITE_END()
