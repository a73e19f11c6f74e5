#include "support/in_a_child.hpp"
#include "support/refusal.hpp"
#include "support/sanitizer.hpp"
#include "support/wire_frames.hpp"

#include <troupe/actors/values/value.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/make_message.hpp>

#include <bit>
#include <cstdint>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

using namespace troupe;

BOOST_TEST_DONT_PRINT_LOG_VALUE(troupe::status)

BOOST_AUTO_TEST_SUITE(wire_suite)

namespace {

struct reading {
  std::int64_t number = 0;
  double level = 0;
  std::vector<float> samples;
  std::string note;
  value extra;
  tensor weights;
};

/// Counts how often it is encoded.
struct counted {
  static inline int encoded_times = 0;
  template <class Archive>
  void save(Archive&) const {
    if constexpr (std::is_same_v<Archive, output_archive>) ++encoded_times;
  }
  template <class Archive>
  void load(Archive&) {}
};

reading small_reading() {
  return {7, 0.25, {1, 2, 3}, "note", value::of(std::string{"extra"}), tensor::of({1.0f, 2.0f})};
}

template <class T>
T through_the_wire(T content) {
  auto arrived = arrival_of<T>(frame_of(wire<T>{std::move(content)}));
  BOOST_REQUIRE(arrived.open() == status{});
  return arrived.take();
}

/// What a frame starts with: big-endian, as CAF writes integers.
template <class T>
void put(frame& into, T number) {
  for (auto shift = static_cast<int>(8 * sizeof(T)); shift > 0;)
    into.push_back(static_cast<char>(number >> (shift -= 8)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_wire)

BOOST_AUTO_TEST_CASE(shares_its_content_inside_the_process) {
  const wire<std::vector<int>> original{std::vector<int>{1, 2, 3}};
  const auto* const content = original->data();
  auto message = caf::make_message(original);
  const auto copy = message;
  BOOST_TEST(message.get_as<wire<std::vector<int>>>(0)->data() == content);
  BOOST_TEST(copy.get_as<wire<std::vector<int>>>(0)->data() == content);
}

BOOST_AUTO_TEST_CASE(gives_its_content_away_only_when_nobody_else_shares_it) {
  wire<std::vector<int>> first{std::vector<int>{1, 2, 3}};
  auto second = first;
  const auto* const content = first->data();
  const auto copied = first.take();
  BOOST_TEST(copied.data() != content);
  BOOST_TEST(*second == copied, boost::test_tools::per_element());
  first = {};
  const auto moved = second.take();
  BOOST_TEST(moved.data() == content);
}

BOOST_AUTO_TEST_CASE(arrives_as_it_left) {
  const auto arrived = through_the_wire(small_reading());
  BOOST_TEST(arrived.number == 7);
  BOOST_TEST(arrived.level == 0.25);
  BOOST_TEST(arrived.samples == (std::vector<float>{1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(arrived.note == "note");
  BOOST_TEST(*arrived.extra.get<std::string>() == "extra");
  BOOST_TEST(arrived.weights.bitwise_equal(tensor::of({1.0f, 2.0f})));
}

BOOST_AUTO_TEST_CASE(carries_every_float_bit_for_bit) {
  using of_float = std::numeric_limits<float>;
  using of_double = std::numeric_limits<double>;
  const std::vector<float> floats{of_float::infinity(),   -of_float::infinity(),
                                  of_float::quiet_NaN(),  -0.0f,
                                  of_float::denorm_min(), std::bit_cast<float>(0x7fa00001u)};
  const std::vector<double> doubles{of_double::infinity(), -of_double::infinity(), of_double::quiet_NaN(), -0.0,
                                    of_double::denorm_min()};
  const auto [arrived_floats, arrived_doubles] = through_the_wire(std::pair{floats, doubles});
  BOOST_REQUIRE(arrived_floats.size() == floats.size());
  for (auto i = 0u; i < floats.size(); ++i)
    BOOST_TEST(std::bit_cast<std::uint32_t>(arrived_floats[i]) == std::bit_cast<std::uint32_t>(floats[i]));
  BOOST_REQUIRE(arrived_doubles.size() == doubles.size());
  for (auto i = 0u; i < doubles.size(); ++i)
    BOOST_TEST(std::bit_cast<std::uint64_t>(arrived_doubles[i]) == std::bit_cast<std::uint64_t>(doubles[i]));
}

BOOST_AUTO_TEST_CASE(is_encoded_once_however_often_it_leaves) {
  counted::encoded_times = 0;
  wire<counted> message{counted{}};
  message.seal();
  for (auto i = 0; i < 3; ++i) frame_of(message);
  BOOST_TEST(counted::encoded_times == 1);
}

BOOST_AUTO_TEST_CASE(that_was_not_opened_passes_on_as_it_came) {
  const auto first = frame_of(wire<reading>{small_reading()});
  BOOST_TEST((frame_of(arrival_of<reading>(first)) == first));
}

BOOST_AUTO_TEST_CASE(ends_where_the_next_element_of_its_message_begins) {
  frame both;
  caf::binary_serializer sink{nullptr, both};
  wire<std::string> text{std::string{"text"}};
  wire<int> number{5};
  std::uint32_t end = 77;
  BOOST_REQUIRE(!sink(text, number, end));
  wire<std::string> arrived_text;
  wire<int> arrived_number;
  std::uint32_t arrived_end = 0;
  caf::binary_deserializer source{nullptr, both};
  BOOST_REQUIRE(!source(arrived_text, arrived_number, arrived_end));
  BOOST_REQUIRE(arrived_text.open().ok());
  BOOST_REQUIRE(arrived_number.open().ok());
  BOOST_TEST(*arrived_text == "text");
  BOOST_TEST(*arrived_number == 5);
  BOOST_TEST(arrived_end == 77u);
}

BOOST_AUTO_TEST_CASE(without_content_is_an_error_of_its_own) {
  BOOST_TEST((wire<int>{}.open().code() == status_code::data_loss));
  BOOST_TEST((arrival_of<int>(frame_of(wire<int>{})).open().code() == status_code::data_loss));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_damaged_frame)

// W-1
BOOST_AUTO_TEST_CASE(is_a_message_with_a_status_wherever_it_was_cut) {
  const auto whole = frame_of(wire<reading>{small_reading()});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    auto arrived = arrival_of<reading>({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    BOOST_TEST((arrived.open().code() == status_code::data_loss));
  }
}

// W-1
BOOST_AUTO_TEST_CASE(of_another_type_is_a_message_with_a_status) {
  auto arrived = arrival_of<std::vector<std::string>>(frame_of(wire<int>{5}));
  const auto problem = arrived.open();
  BOOST_TEST((problem.code() == status_code::data_loss));
  BOOST_TEST(contains(problem.render(), "could not be read"));
}

// W-1
BOOST_AUTO_TEST_CASE(never_throws_or_fails_inside_of_caf_whatever_it_holds) {
  auto large = small_reading();
  large.weights = large_tensor();
  const auto originals = {frame_of(wire<reading>{small_reading()}), frame_of(wire<reading>{std::move(large)}),
                          frame(40)};
  std::mt19937_64 random{9};
  std::set<status_code> outcomes;
  for (auto round = 0; round < 5'000; ++round) {
    auto damaged = *(originals.begin() + round % 3);
    const auto interesting = std::min<std::size_t>(damaged.size(), 256);
    for (auto flips = 1 + random() % 3; flips-- > 0;) damaged[random() % interesting] = static_cast<char>(random());
    if (random() % 4 == 0) damaged.resize(random() % (damaged.size() + 1));
    auto arrived = arrival_of<reading>(damaged);
    // Tickets would be fetched before it is opened; there is nothing behind these.
    if (!arrived.waits_for_bulk()) outcomes.insert(arrived.open().code());
  }
  const std::set<status_code> expected{status_code::ok, status_code::data_loss, status_code::resource_exhausted};
  BOOST_TEST((outcomes == expected));
}

// W-1
BOOST_AUTO_TEST_CASE(that_announces_more_than_a_message_may_hold_is_refused_before_memory_is_taken) {
  frame announced;
  put(announced, std::uint64_t{message_bytes_max + 1});
  BOOST_TEST((arrival_of<reading>(announced).open().code() == status_code::data_loss));

  for (const char kind : {0, 1}) {
    frame bulky;
    put(bulky, std::uint64_t{0});
    put(bulky, std::uint32_t{1});
    put(bulky, std::uint64_t{buffer::size_bytes_max});
    bulky.push_back(kind);
    const auto problem = arrival_of<reading>(bulky).open();
    BOOST_TEST((problem.code() == status_code::resource_exhausted));
    BOOST_TEST(contains(problem.message(), "value_bytes_max"));
  }
}

BOOST_AUTO_TEST_CASE(whose_tensors_are_more_than_the_limit_together_is_refused_before_the_last_takes_memory) {
  frame bulky;
  put(bulky, std::uint64_t{0});
  put(bulky, std::uint32_t{3});
  const auto limit = value_bytes_max();
  set_value_bytes_max(1000);
  for (const auto size_bytes : {600, 400, 1}) {
    put(bulky, static_cast<std::uint64_t>(size_bytes));
    bulky.push_back(0);
    bulky.insert(bulky.end(), static_cast<std::size_t>(size_bytes), 'x');
  }
  const auto problem = arrival_of<reading>(bulky).open();
  set_value_bytes_max(limit);
  BOOST_TEST((problem.code() == status_code::resource_exhausted), problem.render());
  BOOST_TEST(contains(problem.message(), "announces 1 bytes of bulk data where at most 0"), problem.message());
}

// W-1
BOOST_AUTO_TEST_CASE(with_a_kind_of_attachment_that_nobody_sends_is_refused) {
  frame strange;
  put(strange, std::uint64_t{0});
  put(strange, std::uint32_t{1});
  put(strange, std::uint64_t{1});
  strange.push_back(2);
  strange.push_back(0);
  BOOST_TEST((arrival_of<counted>(strange).open().code() == status_code::data_loss));
}

boost::test_tools::assertion_result memory_can_be_limited(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result answer{!is_sanitized};
  answer.message() << "skipped: with less memory AddressSanitizer ends";
  return answer;
}

/// In a process that has no memory for what is announced.
bool is_refused_without_memory(const frame& announcing) {
  return in_a_child([&] {
    constexpr rlim_t room = 16 << 20;
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    std::ifstream pages{"/proc/self/statm"};
    rlim_t count = 0;
    pages >> count;
    limit.rlim_cur = count * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + room;
    ::setrlimit(RLIMIT_AS, &limit);
    wire<counted> result;
    caf::binary_deserializer source{nullptr, announcing};
    return !source(result) && result.open().code() == status_code::data_loss;
  });
}

BOOST_AUTO_TEST_CASE(takes_no_memory_for_what_it_only_announces,
                     *boost::unit_test::precondition(memory_can_be_limited)) {
  frame content;
  caf::binary_serializer long_text{nullptr, content};
  BOOST_REQUIRE(!long_text(static_cast<std::uint64_t>(message_bytes_max)));
  BOOST_TEST(is_refused_without_memory(content));
  frame tensors;
  caf::binary_serializer many_bytes{nullptr, tensors};
  constexpr std::uint8_t inside = 0;
  BOOST_REQUIRE(!many_bytes(std::uint64_t{0}, std::uint32_t{1}, std::uint64_t{1} << 30, inside));
  BOOST_TEST(is_refused_without_memory(tensors));
}

BOOST_AUTO_TEST_CASE(is_not_passed_on) {
  auto damaged = arrival_of<reading>(frame(3));
  frame result;
  caf::binary_serializer sink{nullptr, result};
  BOOST_TEST(static_cast<bool>(sink(damaged)));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_message_over_the_limit)

BOOST_AUTO_TEST_CASE(is_refused_where_it_is_sealed_with_an_advice) {
  wire<std::string> message{std::string(message_bytes_max + 1, 'x')};
  BOOST_CHECK_EXCEPTION(message.seal(), resource_exhausted_error,
                        [](const auto& thrown) { return contains(thrown.message(), "tensors"); });
  frame result;
  caf::binary_serializer sink{nullptr, result};
  BOOST_TEST(static_cast<bool>(sink(message)));
}

BOOST_AUTO_TEST_CASE(is_none_that_holds_large_tensors) {
  const auto elements = static_cast<std::int64_t>(message_bytes_max / sizeof(float)) + 1;
  wire<tensor> message{tensor::full(shape{elements}, 1.0f)};
  BOOST_CHECK_NO_THROW(message.seal());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
