#include <troupe/device/base/error.hpp>
#include <troupe/runtime/launch/terminal.hpp>
#include <troupe/runtime/progress_bar.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>

#include <unistd.h>

BOOST_AUTO_TEST_SUITE(progress_bar_suite)

namespace {

using namespace std::chrono_literals;

/// A bar with a clock that the test moves.
struct fixture {
  std::chrono::steady_clock::time_point time{};
  std::ostringstream out;

  troupe::progress_bar_options options(bool is_terminal) {
    troupe::progress_bar_options result;
    result.title = "train";
    result.steps_total = 100;
    result.is_terminal = is_terminal;
    result.now = [this] { return time; };
    return result;
  }

  /// What was written since the last call.
  std::string written() {
    auto text = out.str();
    out.str({});
    return text;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_terminal_gets_one_line_that_is_drawn_over, fixture) {
  troupe::progress_bar bar{out, options(true)};
  time += 10s;
  bar.update(25, "loss 0.5");
  BOOST_TEST(written() == "\r\033[Ktrain   25% [=======>                      ]  25/100  loss 0.5  0:30 left");
}

BOOST_FIXTURE_TEST_CASE(a_terminal_line_is_redrawn_at_most_ten_times_a_second, fixture) {
  troupe::progress_bar bar{out, options(true)};
  for (auto step = 0; step < 100; ++step, time += 10ms) bar.update(step, "");
  const auto text = written();
  BOOST_TEST(std::count(text.begin(), text.end(), '\r') == 10);
}

BOOST_FIXTURE_TEST_CASE(a_bar_line_never_wraps, fixture) {
  for (const auto columns : {1, 20, 40, 60}) {
    auto narrow = options(true);
    narrow.columns = columns;
    {
      troupe::progress_bar bar{out, narrow};
      time += 1s;
      bar.update(25, "loss 0.5  a detail that is rather long");
    }
    const auto text = written();
    BOOST_TEST(text.size() - std::string_view{"\r\033[K\n"}.size() < std::max<std::size_t>(columns, 2));
  }
}

BOOST_FIXTURE_TEST_CASE(without_a_terminal_a_plain_line_comes_every_few_seconds, fixture) {
  troupe::progress_bar bar{out, options(false)};
  bar.update(1, "");
  BOOST_TEST(written() == "");
  time += 5s;
  bar.update(50, "loss 0.5");
  BOOST_TEST(written() == "train   50%  50/100  loss 0.5  0:05 left\n");
  time += 4s;
  bar.update(60, "loss 0.5");
  BOOST_TEST(written() == "");
}

BOOST_FIXTURE_TEST_CASE(the_end_is_always_shown_once_with_the_time_it_took, fixture) {
  for (const auto is_terminal : {false, true}) {
    {
      troupe::progress_bar bar{out, options(is_terminal)};
      time += 65s;
      bar.finish(100, "loss 0.1");
      bar.finish(100, "loss 0.1");
      bar.update(100, "loss 0.1");
    }
    const auto text = written();
    BOOST_TEST(text.ends_with("100/100  loss 0.1  took 1:05\n"));
    BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 1);
  }
}

BOOST_FIXTURE_TEST_CASE(a_message_stands_above_the_bar, fixture) {
  troupe::progress_bar bar{out, options(true)};
  bar.update(0, "");
  const auto drawn = written().substr(4);
  bar.message("worker 1 is lost");
  BOOST_TEST(written() == "\r\033[Kworker 1 is lost\n" + drawn);
}

BOOST_FIXTURE_TEST_CASE(a_bar_that_is_given_up_leaves_a_whole_line, fixture) {
  {
    troupe::progress_bar bar{out, options(true)};
    bar.update(1, "");
  }
  BOOST_TEST(written().ends_with("\n"));
}

BOOST_FIXTURE_TEST_CASE(an_unknown_total_shows_steps_and_no_time_left, fixture) {
  auto unknown = options(false);
  unknown.steps_total = 0;
  troupe::progress_bar bar{out, unknown};
  time += 5s;
  bar.update(7, "loss 0.5");
  BOOST_TEST(written() == "train  step 7  loss 0.5\n");
}

BOOST_AUTO_TEST_CASE(durations_read_like_a_clock) {
  BOOST_TEST(troupe::clock_text(7s) == "0:07");
  BOOST_TEST(troupe::clock_text(754s) == "12:34");
  BOOST_TEST(troupe::clock_text(3723s) == "1:02:03");
  BOOST_TEST(troupe::clock_text(-1s) == "0:00");
}

BOOST_AUTO_TEST_CASE(the_environment_settles_whether_a_bar_is_drawn) {
  ::setenv(troupe::progress_variable, "bar", 1);
  BOOST_TEST(troupe::shows_progress_bar(-1));
  ::setenv(troupe::progress_variable, "lines", 1);
  BOOST_TEST(!troupe::shows_progress_bar(STDERR_FILENO));
  BOOST_CHECK_NO_THROW(troupe::check_progress_setting());
  ::setenv(troupe::progress_variable, "nix", 1);
  BOOST_CHECK_THROW(troupe::check_progress_setting(), troupe::invalid_argument_error);
  ::unsetenv(troupe::progress_variable);
  BOOST_CHECK_NO_THROW(troupe::check_progress_setting());
  BOOST_TEST(!troupe::shows_progress_bar(-1));
}

BOOST_AUTO_TEST_CASE(the_width_of_what_is_no_terminal_comes_from_the_environment) {
  ::setenv("COLUMNS", "123", 1);
  BOOST_TEST(troupe::terminal_columns(-1) == 123);
  ::setenv("COLUMNS", "wide", 1);
  BOOST_TEST(troupe::terminal_columns(-1) == 80);
  ::unsetenv("COLUMNS");
  BOOST_TEST(troupe::terminal_columns(-1) == 80);
}

BOOST_AUTO_TEST_SUITE_END()
