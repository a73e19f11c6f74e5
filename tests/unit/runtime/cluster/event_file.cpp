// Reading of what a chief has written about its members. That it writes it is tested with processes (tests/cluster).
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/event_file.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

BOOST_AUTO_TEST_SUITE(event_file_suite)

namespace {

using namespace troupe;

class made_file {
 public:
  explicit made_file(const std::string& content) { std::ofstream{path_} << content; }
  ~made_file() { std::filesystem::remove(path_); }
  made_file(const made_file&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / fmt::format("troupe-events-{}", ::getpid())).string();
};

constexpr const char* line =
    R"({"event": "member_lost", "job": "worker", "index": 1, "epoch": 3, "count": 2, "time_ns": 5000, "why": "gone"})";

}  // namespace

BOOST_AUTO_TEST_CASE(each_complete_line_is_an_event) {
  const made_file file{fmt::format("{}\n{}\n{{\"event\": \"mem", line, line)};
  const auto events = read_events(file.path());
  BOOST_REQUIRE(events.size() == 2);
  BOOST_TEST((events[1].kind == event_kind::member_lost));
  BOOST_TEST((events[1].task == task_id{"worker", 1}));
  BOOST_TEST(events[1].epoch == 3);
  BOOST_TEST(events[1].count == 2);
  BOOST_TEST((events[1].time.time_since_epoch() == std::chrono::microseconds{5}));
  BOOST_TEST(events[1].why == "gone");
}

BOOST_AUTO_TEST_CASE(what_is_no_event_is_refused_with_its_line) {
  for (const auto* wrong : {"no json", "{}", R"({"event": "dinner"})", "[1]"}) {
    const made_file file{fmt::format("{}\n{}\n", line, wrong)};
    BOOST_CHECK_EXCEPTION(read_events(file.path()), invalid_argument_error,
                          [](const auto& refused) { return refused.message().find("line 2") != std::string::npos; });
  }
  BOOST_CHECK_THROW(read_events("/no/such/file"), not_found_error);
}

BOOST_AUTO_TEST_SUITE_END()
