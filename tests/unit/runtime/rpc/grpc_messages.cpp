// Data and errors as protobuf messages: what is sent arrives, and nothing that arrives does harm.
#include "support/program_log_in_memory.hpp"
#include "support/refusal.hpp"

#include <troupe/runtime/rpc/grpc_library.hpp>
#include <troupe/runtime/rpc/grpc_messages.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <google/protobuf/stubs/logging.h>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(grpc_messages_suite)

namespace {

/// Protobuf prints what it can't parse, which is what these tests are full of.
struct quiet_protobuf {
  quiet_protobuf() { google::protobuf::SetLogHandler(nullptr); }
};
BOOST_TEST_GLOBAL_FIXTURE(quiet_protobuf);

/// Over the wire and back.
datum travelled(const datum& data) {
  v1::Datum sent;
  write_datum(data, sent);
  v1::Datum arrived;
  BOOST_REQUIRE(arrived.ParseFromString(sent.SerializeAsString()));
  return read_datum(arrived);
}

status travelled(const status& ended) {
  const auto sent = write_status(ended);
  return read_status({sent.error_code(), sent.error_message(), sent.error_details()});
}

bool arrives(const datum& data) { return travelled(data) == data; }

template <class T>
datum exactly(T x) {
  return datum::of(std::move(x));
}

datum nested(int depth, bool records) {
  auto result = exactly(std::int64_t{7});
  for (auto level = 0; level < depth; ++level)
    result = records ? exactly(datum::record{{"inside", result}}) : exactly(datum::list{result});
  return result;
}

datum example() {
  return exactly(datum::record{
      {"numbers", exactly(datum::list{exactly(std::int64_t{-3}), exactly(std::uint64_t{1} << 63), exactly(0.5f),
                                      exactly(2.5), exactly(true), datum{}})},
      {"text", exactly(std::string{"caf\xc3\xa9"})},
      {"bytes", exactly(std::string{"\xff\0\xfe", 3})},
      {"small", exactly(tensor::of<std::int32_t>(shape{2, 1}, {1, 2}))},
      {"large", exactly(tensor::zeros(dtype::float64, shape{200, 3}))},
      {"flags", exactly(tensor::of<bool>({true, false}))},
  });
}

/// What reading this message fails with; ok if it can be read.
status reading(v1::Datum message) {
  try {
    (void)read_datum(message);
    return {};
  } catch (const invalid_argument_error& thrown) {
    return thrown.get_status();
  }
}

bool mentions(const status& why, std::string_view text) { return why.render().find(text) != std::string::npos; }

v1::Datum tensor_message(const std::string& type, std::initializer_list<std::int64_t> extents, std::string content) {
  v1::Datum result;
  result.mutable_tensor()->set_dtype(type);
  for (const auto extent : extents) result.mutable_tensor()->add_shape(extent);
  result.mutable_tensor()->set_content(std::move(content));
  return result;
}

}  // namespace

// --- data ------------------------------------------------------------------------------------------------------------

// RD-1
BOOST_AUTO_TEST_CASE(every_kind_of_data_arrives_as_it_was) {
  BOOST_TEST(arrives(datum{}));
  BOOST_TEST(arrives(exactly(false)));
  BOOST_TEST(arrives(exactly(std::numeric_limits<std::int64_t>::min())));
  BOOST_TEST(arrives(exactly(std::numeric_limits<std::uint64_t>::max())));
  BOOST_TEST(arrives(exactly(std::string{})));
  BOOST_TEST(arrives(exactly(datum::list{})));
  BOOST_TEST(arrives(exactly(datum::record{})));
  BOOST_TEST(arrives(exactly(tensor{})));
  BOOST_TEST(arrives(exactly(tensor::scalar(3.0f))));
  BOOST_TEST(arrives(example()));
}

// RD-1
BOOST_AUTO_TEST_CASE(floating_point_numbers_arrive_bit_for_bit) {
  for (const auto bits : {0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc12345u, 0xffc00001u, 1u})
    BOOST_TEST(arrives(exactly(std::bit_cast<float>(bits))));
  for (const auto bits : {0x8000000000000000u, 0x7ff0000000000000u, 0xfff8000000000123u, 1ul})
    BOOST_TEST(arrives(exactly(std::bit_cast<double>(bits))));
}

BOOST_AUTO_TEST_CASE(tensors_of_every_type_arrive_and_can_be_written) {
  for (auto number = 0; number <= static_cast<int>(dtype::boolean); ++number)
    for (const auto& extents : {shape{}, shape{0, 3}, shape{3, 5}, shape{1000, 2}})
      BOOST_TEST(arrives(exactly(tensor::zeros(static_cast<dtype>(number), extents))));
  const auto arrived = travelled(exactly(tensor::zeros(dtype::float32, shape{1024})));
  auto copy = *arrived.get_if<tensor>();
  copy.mutable_values<float>()[1] = 5;
  BOOST_TEST(arrived.get_if<tensor>()->values<float>()[1] == 0);
}

BOOST_AUTO_TEST_CASE(rows_of_a_tensor_travel_without_the_others) {
  const auto whole = tensor::of<std::int32_t>(shape{3, 2}, {1, 2, 3, 4, 5, 6});
  v1::Datum message;
  write_datum(exactly(whole.slice(1, 2)), message);
  BOOST_TEST(message.tensor().content().size() == 8u);
  BOOST_TEST(arrives(exactly(whole.slice(1, 2))));
}

BOOST_AUTO_TEST_CASE(text_is_sent_as_text_and_other_bytes_as_bytes) {
  const auto sent_as_text = [](std::string text) {
    v1::Datum message;
    write_datum(exactly(std::move(text)), message);
    return message.kind_case() == v1::Datum::kText;
  };
  for (const auto* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    BOOST_TEST(sent_as_text(text));
  // A lone continuation, overlong forms, a surrogate, beyond the last character, an end in the middle.
  for (const auto* bytes : {"\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xff"})
    BOOST_TEST(!sent_as_text(bytes));
}

BOOST_AUTO_TEST_CASE(data_may_be_nested_to_the_limit_and_not_deeper) {
  for (const auto records : {false, true}) BOOST_TEST(arrives(nested(datum::nesting_max, records)));
  v1::Datum deep;
  auto* innermost = &deep;
  for (auto level = 0; level <= datum::nesting_max; ++level) innermost = innermost->mutable_list()->add_items();
  BOOST_TEST(mentions(reading(deep), "nested more than 12 deep"));
}

BOOST_AUTO_TEST_CASE(a_field_needs_a_name_that_is_text) {
  v1::Datum message;
  BOOST_CHECK_EXCEPTION(write_datum(exactly(datum::record{{"\xff", datum{}}}), message), invalid_argument_error,
                        [](const auto& thrown) { return mentions(thrown.get_status(), "the name of a field"); });
}

// --- damage ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_tensor_whose_parts_do_not_fit_is_an_error_that_says_why) {
  BOOST_TEST(reading(tensor_message("float32", {2}, std::string(8, '\0'))).ok());
  BOOST_TEST(reading(tensor_message("bool", {1}, "\1")).ok());
  BOOST_TEST(mentions(reading(tensor_message("float31", {2}, std::string(8, '\0'))), "float31"));
  BOOST_TEST(mentions(reading(tensor_message("", {}, "")), "float32"));
  BOOST_TEST(mentions(reading(tensor_message("float32", {2}, "1234567")), "has 7 bytes; expected 8"));
  BOOST_TEST(mentions(reading(tensor_message("float32", {}, "")), "has 0 bytes; expected 4"));
  BOOST_TEST(mentions(reading(tensor_message("int8", {-1}, "")), "-1"));
  const auto huge = std::int64_t{1} << 40;
  BOOST_TEST(!reading(tensor_message("int8", {huge, huge}, "")).ok());
  BOOST_TEST(!reading(tensor_message("int8", {huge, huge, 0}, "")).ok());
  BOOST_TEST(!reading(tensor_message("int8", {1, 1, 1, 1, 1, 1, 1, 1, 1}, "x")).ok());
  BOOST_TEST(!reading(tensor_message("boolean", {1}, "\2")).ok());
}

BOOST_AUTO_TEST_CASE(damaged_messages_are_read_or_refused_and_never_do_harm) {
  v1::Datum message;
  write_datum(example(), message);
  const auto whole = message.SerializeAsString();
  std::mt19937_64 random{7};
  auto refused = 0;
  const auto try_to_read = [&](const std::string& bytes) {
    v1::Datum damaged;
    if (!damaged.ParseFromString(bytes) || !reading(damaged).ok()) ++refused;
  };
  for (std::size_t size_bytes = 0; size_bytes < whole.size(); ++size_bytes) try_to_read(whole.substr(0, size_bytes));
  for (auto round = 0; round < 5000; ++round) {
    auto damaged = whole;
    // The large tensor's content can't go wrong: most damage belongs before and behind it.
    for (auto flips = 1 + random() % 4; flips > 0; --flips)
      damaged[random() % 2 == 0 ? random() % 150 : damaged.size() - 1 - random() % 50] = static_cast<char>(random());
    try_to_read(damaged);
  }
  BOOST_TEST(refused > 3000);
}

// --- errors ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(every_error_arrives_with_its_code_its_message_and_its_causes) {
  BOOST_TEST(travelled(status{}).ok());
  for (auto code = 1; code <= 16; ++code) {
    const status plain{static_cast<status_code>(code), "what is wrong: \xe2\x82\xac \n"};
    BOOST_TEST((travelled(plain) == plain));
    const auto chained = status{status_code::data_loss, "the disk"}
                             .wrap(status_code::internal, "the file")
                             .wrap(static_cast<status_code>(code), "the step");
    BOOST_TEST((travelled(chained) == chained));
  }
}

BOOST_AUTO_TEST_CASE(an_error_of_gRPC_itself_has_no_details) {
  BOOST_TEST(has_details(write_status({status_code::aborted, "by a method"})));
  const ::grpc::Status own{::grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  BOOST_TEST(!has_details(own));
  BOOST_TEST((read_status(own) == status{status_code::unavailable, "Socket closed"}));
}

BOOST_AUTO_TEST_CASE(long_errors_are_cut_to_what_a_header_may_hold_and_keep_the_root_cause) {
  status why{status_code::data_loss, "root" + std::string(3000, 'x')};
  for (auto level = 0; level < 15; ++level) why = why.wrap("level" + std::string(1000, 'y'));
  why = why.wrap(status_code::aborted, std::string(100'000, 'z'));
  const auto sent = write_status(why);
  BOOST_TEST(sent.error_message().size() < 1600u);
  BOOST_TEST(3 * sent.error_message().size() + sent.error_details().size() * 4 / 3 < 8000u);
  const auto arrived = read_status(sent);
  BOOST_TEST((arrived.code() == status_code::aborted));
  BOOST_TEST(mentions(arrived, "more bytes"));
  BOOST_TEST(arrived.causes().size() == why.causes().size());
  BOOST_TEST(arrived.causes().back().message.starts_with("root"));
}

BOOST_AUTO_TEST_CASE(an_error_is_cut_between_characters_and_is_text_in_any_case) {
  std::string euros;
  for (auto i = 0; i < 1000; ++i) euros += "\xe2\x82\xac";
  BOOST_TEST(is_utf8(write_status({status_code::aborted, euros}).error_message()));
  BOOST_TEST(write_status({status_code::aborted, "a\xff z"}).error_message() == "a? z");
}

BOOST_AUTO_TEST_CASE(what_protobuf_has_to_say_goes_to_the_program_s_log_once_a_minute) {
  keep_grpc_started();
  auto* const handler = google::protobuf::SetLogHandler(nullptr);
  google::protobuf::SetLogHandler(handler);
  BOOST_REQUIRE(handler != nullptr);
  const program_log_in_memory log;
  for (auto i = 0; i < 3; ++i) handler(google::protobuf::LOGLEVEL_ERROR, "protobuf/of_this_test.cc", 4711, "no UTF-8");
  const auto text = log.text();
  BOOST_TEST(contains(text, "protobuf (of_this_test.cc:4711): no UTF-8"), text);
  BOOST_TEST(text.find("no UTF-8") == text.rfind("no UTF-8"), text);
}

BOOST_AUTO_TEST_CASE(times_are_kept_as_far_as_gRPC_can_count) {
  using namespace std::chrono_literals;
  static_assert(grpc_milliseconds(1500ms) == 1500);
  static_assert(grpc_milliseconds(1us) == 1);
  static_assert(grpc_milliseconds(24h * 365) == std::numeric_limits<int>::max());
  static_assert(grpc_milliseconds(duration::max()) == std::numeric_limits<int>::max());
}

BOOST_AUTO_TEST_CASE(details_of_other_makes_are_ignored) {
  std::mt19937_64 random{3};
  const auto proper = write_status(status{status_code::data_loss, "the disk"}.wrap("the step"));
  for (auto round = 0; round < 2000; ++round) {
    auto details = proper.error_details();
    details.resize(random() % (details.size() + 1));
    if (!details.empty()) details[random() % details.size()] = static_cast<char>(random());
    const auto read = read_status({::grpc::StatusCode::ABORTED, "the step", details});
    BOOST_REQUIRE((read.code() == status_code::aborted));
    BOOST_REQUIRE(read.message() == "the step");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
