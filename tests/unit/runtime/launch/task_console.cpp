#include <troupe/runtime/launch/task_console.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(task_console_suite)

namespace {

using troupe::line_splitter;
using troupe::output_stream;
using troupe::task_console;
using kind = troupe::line_splitter::kind;

constexpr auto standard_output = output_stream::standard_output;
constexpr auto standard_error = output_stream::standard_error;

/// Feeds the blocks and renders what comes out: lines as "text|", statuses as "text~".
std::string split(const std::vector<std::string>& blocks) {
  std::string pieces;
  const auto collect = [&](kind which, std::string_view text) {
    pieces += text;
    pieces += which == kind::line ? '|' : '~';
  };
  line_splitter splitter;
  for (const auto& block : blocks) splitter.feed(block, collect);
  splitter.finish(collect);
  return pieces;
}

/// A console that writes into a string.
struct fixture {
  task_console console(bool output_is_terminal, bool error_is_terminal) {
    return {[this](output_stream, std::string_view text) { written += text; }, {output_is_terminal, error_is_terminal}};
  }
  std::string written;
};

}  // namespace

BOOST_AUTO_TEST_CASE(lines_are_whole_wherever_the_blocks_are_cut) {
  BOOST_TEST(split({"one\ntwo\n"}) == "one|two|");
  BOOST_TEST(split({"o", "ne", "\n", "two"}) == "one|two|");
  BOOST_TEST(split({"\n\n"}) == "||");
  BOOST_TEST(split({""}) == "");
}

BOOST_AUTO_TEST_CASE(a_windows_end_of_line_is_an_end_of_line) {
  BOOST_TEST(split({"one\r\ntwo\r", "\n"}) == "one|two~two|");
}

BOOST_AUTO_TEST_CASE(text_after_a_carriage_return_replaces_the_text_before_it) {
  BOOST_TEST(split({"\rstep 1", "\rstep 2", "\rdone\n"}) == "step 1~step 2~done|");
  BOOST_TEST(split({"step 1\r", "step 2\r"}) == "step 1~step 2~step 2|");
  BOOST_TEST(split({"\rstep", " 1"}) == "step~step 1~step 1|");
}

BOOST_AUTO_TEST_CASE(a_line_without_end_comes_in_bounded_pieces) {
  const std::string longest(line_splitter::line_bytes_max, 'x');
  BOOST_TEST(split({longest + longest + "y\n"}) == longest + "|" + longest + "|y|");
}

BOOST_FIXTURE_TEST_CASE(in_a_log_every_line_carries_its_task_and_statuses_are_left_out, fixture) {
  auto log = console(false, false);
  log.show(standard_output, "chief", 0, kind::status, "step 1");
  log.show(standard_output, "worker 1", 1, kind::line, "hello");
  log.show(standard_output, "chief", 0, kind::line, "done");
  BOOST_TEST(written == "[worker 1] hello\n[chief] done\n");
}

BOOST_FIXTURE_TEST_CASE(on_a_terminal_lines_appear_above_the_status, fixture) {
  auto terminal = console(true, true);
  const std::string chief = "\033[36m[chief]\033[0m ";
  const std::string worker = "\033[33m[worker 1]\033[0m ";
  terminal.show(standard_error, "chief", 0, kind::status, "step 1");
  BOOST_TEST(written == "\r\033[K" + chief + "step 1");
  written.clear();
  terminal.show(standard_output, "worker 1", 1, kind::line, "hello");
  BOOST_TEST(written == "\r\033[K" + worker + "hello\n" + chief + "step 1");
  written.clear();
  terminal.show(standard_error, "chief", 0, kind::line, "done");
  BOOST_TEST(written == "\r\033[K" + chief + "done\n");
  written.clear();
  terminal.show(standard_output, "worker 1", 1, kind::line, "hello");
  BOOST_TEST(written == worker + "hello\n");
}

BOOST_FIXTURE_TEST_CASE(lines_that_go_to_a_file_leave_the_status_on_the_terminal_alone, fixture) {
  auto mixed = console(false, true);
  mixed.show(standard_error, "chief", 0, kind::status, "step 1");
  written.clear();
  mixed.show(standard_output, "worker 1", 1, kind::line, "hello");
  BOOST_TEST(written == "[worker 1] hello\n");
}

BOOST_AUTO_TEST_SUITE_END()
