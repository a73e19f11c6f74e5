#include "codec_objects.hpp"

#include <troupe/actors/values/codec.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <list>
#include <memory>
#include <string>

BOOST_AUTO_TEST_SUITE(codec_suite)

using troupe::decode;
using troupe::encodable;
using troupe::encode;
using troupe::shape;
using troupe::tensor;
using namespace codec_objects;

namespace {

template <class T>
void check_round_trip(const T& x) {
  BOOST_TEST((decode<T>(encode(x)) == x));
}

}  // namespace

BOOST_AUTO_TEST_CASE(numbers_enums_strings_and_containers_survive_a_round_trip) {
  check_round_trip(42);
  check_round_trip(std::int8_t{-128});
  check_round_trip(true);
  check_round_trip('c');
  check_round_trip(colour::green);
  check_round_trip(std::string{});
  check_round_trip(std::u32string{U"\U0001F600"});
  check_round_trip(std::vector<std::byte>(1000, std::byte{7}));
  check_round_trip(std::vector<marker>(1000));
  check_round_trip(std::array<int, 0>{});
  check_round_trip(std::array<std::vector<int>, 2>{{{1}, {2, 3}}});
  check_round_trip(std::pair<int, std::string>{1, "one"});
  check_round_trip(std::tuple<>{});
  check_round_trip(std::optional<int>{});
  check_round_trip(std::variant<marker, int>{});
  check_round_trip(std::chrono::system_clock::time_point{std::chrono::seconds{5}});
  check_round_trip(troupe::status{troupe::status_code::aborted, "why"}.wrap("what"));
}

BOOST_AUTO_TEST_CASE(an_aggregate_needs_no_boilerplate) {
  check_round_trip(example_record());
  BOOST_TEST(encode(point{1, 2}).bytes.size() == sizeof(point));
}

BOOST_AUTO_TEST_CASE(a_class_says_what_to_encode_by_serialize_or_by_save_and_load) {
  check_round_trip(counter{3, "steps"});
  check_round_trip(std::vector<counter>{{1, "a"}, {2, "b"}});
  BOOST_TEST(decode<celsius>(encode(celsius{20})).degrees == 20, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(encode(celsius{0}).bytes == encode(273.15).bytes);
  const auto kept = decode<outsider>(encode(outsider{1, 2}));
  BOOST_TEST(kept.kept == 1);
  BOOST_TEST(kept.dropped == 0);
}

BOOST_AUTO_TEST_CASE(floats_arrive_bit_for_bit) {
  const auto doubles = std::vector<std::uint64_t>{0x7ff0'0000'0000'0000,
                                                  0xfff0'0000'0000'0000,
                                                  0x8000'0000'0000'0000,
                                                  0x7ff8'0000'dead'beef,
                                                  0x7ff0'0000'0000'0001 /* signalling */,
                                                  0xfff8'1234'5678'9abc,
                                                  1 /* smallest denormal */,
                                                  0x000f'ffff'ffff'ffff};
  for (auto bits : doubles) {
    BOOST_TEST(std::bit_cast<std::uint64_t>(decode<double>(encode(std::bit_cast<double>(bits)))) == bits);
    const auto inside = decode<std::tuple<double>>(encode(std::tuple{std::bit_cast<double>(bits)}));
    BOOST_TEST(std::bit_cast<std::uint64_t>(std::get<0>(inside)) == bits);
  }
  for (auto bits : {0x7f80'0000u, 0xff80'0000u, 0x8000'0000u, 0x7fc0'beefu, 0x7f80'0001u, 1u}) {
    const auto x = std::vector{std::bit_cast<float>(bits)};
    BOOST_TEST(std::bit_cast<std::uint32_t>(decode<std::vector<float>>(encode(x)).front()) == bits);
    const auto in_tensor = decode<tensor>(encode(tensor::scalar(std::bit_cast<float>(bits))));
    BOOST_TEST(in_tensor.bitwise_equal(tensor::scalar(std::bit_cast<float>(bits))));
  }
}

BOOST_AUTO_TEST_CASE(a_small_tensor_is_copied_into_the_bytes) {
  const auto x = tensor::of({1.0f, 2.0f, 3.0f});
  const auto source = encode(x);
  BOOST_TEST(source.attachments.empty());
  const auto copy = decode<tensor>(source);
  BOOST_TEST(copy.bitwise_equal(x));
  BOOST_TEST((copy.bytes().data() != x.bytes().data()));
  BOOST_TEST(decode<tensor>(encode(tensor{})).bitwise_equal(tensor{}));
  const auto halves = tensor::zeros(troupe::dtype::float16, shape{2, 3});
  BOOST_TEST(decode<tensor>(encode(halves)).bitwise_equal(halves));
}

BOOST_AUTO_TEST_CASE(a_large_tensor_is_never_copied) {
  const auto below = counting(elements_of_attachment - 1);
  BOOST_TEST(encode(below).attachments.empty());
  const auto x = counting(elements_of_attachment);
  const auto source = encode(with_tensors{x, {below, x}, "note"});
  BOOST_REQUIRE(source.attachments.size() == 2u);
  BOOST_TEST((source.attachments[0].data() == x.bytes().data()));
  BOOST_TEST(source.size_bytes() == source.bytes.size() + 2 * troupe::attachment_bytes_min);
  const auto arrived = decode<with_tensors>(source);
  BOOST_TEST((arrived.weights.bytes().data() == x.bytes().data()));
  BOOST_TEST(arrived.gradients[0].bitwise_equal(below));
  BOOST_TEST(arrived.gradients[1].bitwise_equal(x));
  BOOST_TEST(arrived.note == "note");
}

BOOST_AUTO_TEST_CASE(a_slice_of_a_tensor_takes_only_its_own_range_along) {
  const auto whole = counting(4 * elements_of_attachment).reshape(shape{4, elements_of_attachment});
  const auto source = encode(whole.slice(1, 3));
  BOOST_REQUIRE(source.attachments.size() == 1u);
  BOOST_TEST(source.attachments[0].size_bytes() == 2 * troupe::attachment_bytes_min);
  BOOST_TEST(decode<tensor>(source).bitwise_equal(whole.slice(1, 3)));
}

BOOST_AUTO_TEST_CASE(writing_to_a_decoded_tensor_leaves_the_sender_alone) {
  for (const auto& x :
       {counting(2 * elements_of_attachment),
        counting(4 * elements_of_attachment).slice(elements_of_attachment, 3 * elements_of_attachment)}) {
    const auto before = x.values<float>()[0];
    auto arrived = decode<tensor>(encode(x));
    arrived.mutable_values<float>()[0] = -1;
    BOOST_TEST(x.values<float>()[0] == before);
    auto sender = x;
    const auto message = encode(sender);
    sender.mutable_values<float>()[0] = -2;
    BOOST_TEST(decode<tensor>(message).values<float>()[0] == before);
  }
}

BOOST_AUTO_TEST_CASE(the_size_is_known_without_encoding) {
  const auto x = with_tensors{counting(elements_of_attachment), {counting(10)}, "note"};
  BOOST_TEST(troupe::encoded_size_bytes(x) == encode(x).size_bytes());
  BOOST_TEST(troupe::encoded_size_bytes(example_record()) == encode(example_record()).size_bytes());
}

BOOST_AUTO_TEST_CASE(what_can_leave_its_process_is_known_at_compile_time) {
  struct derived : point {
    int z;
  };
  struct owner {
    std::unique_ptr<int> held;
  };
  struct referrer {
    int& target;
  };
  static_assert(encodable<record> && encodable<tree> && encodable<with_tensors> && encodable<marker>);
  static_assert(encodable<troupe::dtype> && encodable<shape> && encodable<troupe::status> && encodable<std::tuple<>>);
  static_assert(!encodable<derived> && !encodable<owner> && !encodable<referrer>);
  static_assert(!encodable<int*> && !encodable<std::shared_ptr<int>> && !encodable<std::string_view>);
  static_assert(!encodable<std::vector<owner>> && !encodable<std::tuple<int, std::shared_ptr<int>>>);
  static_assert(!encodable<std::map<int, owner>> && !encodable<std::list<int>> && !encodable<long double>);
  static_assert(!encodable<const int> && !encodable<int&> && !encodable<void>);
#if defined(__cpp_aggregate_paren_init)
  struct with_array {
    int numbers[4];
    int last;
  };
  static_assert(!encodable<with_array>);
#endif
}

BOOST_AUTO_TEST_CASE(a_vector_of_too_many_objects_without_state_is_refused_by_the_sender) {
  check_round_trip(std::vector<marker>(troupe::elements_without_bytes_max));
  BOOST_CHECK_THROW(encode(std::vector<marker>(troupe::elements_without_bytes_max + 1)),
                    troupe::invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(an_encoding_above_the_limit_is_refused_with_advice) {
  const auto before = troupe::value_bytes_max();
  troupe::set_value_bytes_max(100'000);
  BOOST_CHECK_THROW(encode(std::vector<int>(30'000)), troupe::resource_exhausted_error);
  BOOST_CHECK_THROW(encode(counting(30'000)), troupe::resource_exhausted_error);
  BOOST_CHECK_NO_THROW(encode(std::vector<int>(20'000)));
  try {
    (void)encode(std::vector<double>(20'000));
  } catch (const troupe::resource_exhausted_error& e) {
    BOOST_TEST(e.message().find("160008 bytes") != std::string::npos);
    BOOST_TEST(e.message().find("100000") != std::string::npos);
    BOOST_TEST(e.message().find("set_value_bytes_max") != std::string::npos);
  }
  troupe::set_value_bytes_max(before);
}

BOOST_AUTO_TEST_SUITE_END()
