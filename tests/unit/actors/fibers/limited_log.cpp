// How often events that other processes cause are reported, with a clock of the test's own.
#include <troupe/actors/fibers/limited_log.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(limited_log_suite)

namespace {

struct timed_log {
  time_point now{1h};
  limited_log log;

  explicit timed_log(limited_log_options options = {}) : log([this] { return now; }, options) {}

  /// The count of the line; 0: there is none.
  std::uint64_t add(const std::string& reason) {
    const auto due = log.add(reason, "others");
    return due ? due->count : 0;
  }
  std::string line(const std::string& reason) {
    const auto due = log.add(reason, "others");
    return due ? due->reason : "";
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_reason_has_one_line_a_minute_which_states_how_many_events_there_were) {
  timed_log x;
  BOOST_TEST(x.add("wrong") == 1u);
  BOOST_TEST(x.add("silent") == 1u);
  for (auto i = 0; i < 5; ++i) BOOST_TEST(x.add("wrong") == 0u);
  x.now += 59s;
  BOOST_TEST(x.add("wrong") == 0u);
  x.now += 1s;
  BOOST_TEST(x.add("wrong") == 7u);
  BOOST_TEST(x.add("wrong") == 0u);
  BOOST_TEST(x.log.count_of("wrong") == 9u);
  BOOST_TEST(x.log.count_of("unknown") == 0u);
}

BOOST_AUTO_TEST_CASE(a_reason_without_a_place_counts_as_others) {
  timed_log x{{.reasons_max = 2}};
  x.add("a");
  x.add("b");
  BOOST_TEST(x.line("c") == "others");
  BOOST_TEST(x.line("d") == "");
  x.now += 30s;
  x.add("a");
  x.add("b");
  x.now += 30s;
  // Both have occurred within the last minute.
  const auto due = x.log.add("e", "others");
  BOOST_REQUIRE(due.has_value());
  BOOST_TEST(due->reason == "others");
  BOOST_TEST(due->count == 2u);
  BOOST_TEST(x.log.reasons() == 2u);
}

BOOST_AUTO_TEST_CASE(a_reason_that_does_not_occur_for_a_minute_frees_its_place) {
  timed_log x{{.reasons_max = 2}};
  x.add("a");
  x.now += 30s;
  x.add("b");
  BOOST_TEST(x.line("c") == "others");
  x.now += 30s;
  BOOST_TEST(x.line("c") == "c");
  BOOST_TEST(x.log.count_of("a") == 0u);
  BOOST_TEST(x.log.count_of("b") == 1u);
  BOOST_TEST(x.log.reasons() == 2u);
}

BOOST_AUTO_TEST_CASE(any_number_of_reasons_takes_bounded_room_and_lines_and_true_reasons_come_through_later) {
  timed_log x;
  auto lines = 0;
  for (auto i = 0; i < 100'000; ++i)
    if (x.add("made up " + std::to_string(i)) > 0) ++lines;
  BOOST_TEST(lines == 65);
  BOOST_TEST(x.log.reasons() == 64u);
  x.now += 1min;
  BOOST_TEST(x.line("true") == "true");
  BOOST_TEST(x.log.reasons() == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_peer_writes_is_one_bounded_line_of_printable_text) {
  timed_log x{{.reason_bytes_max = 64}};
  BOOST_TEST(x.line("job \"x\n09:99 troupe error: forged\x1b[31m\r\x7f\" \xc3\xa9") ==
             "job \"x?09:99 troupe error: forged?[31m??\" ??");
  BOOST_TEST(x.line(std::string("a\0b", 3)) == "a?b");
  // The same after cleaning: one reason.
  BOOST_TEST(x.line("a\tb") == "");
  BOOST_TEST(x.line(std::string(1'000'000, 'x')) == std::string(64, 'x'));
}

BOOST_AUTO_TEST_SUITE_END()
