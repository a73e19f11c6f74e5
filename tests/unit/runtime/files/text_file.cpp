// Small files that people write, and what stands in their place by mistake: runtime/files/text_file.hpp.
#include "support/refusal.hpp"

#include <troupe/runtime/files/text_file.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(text_file_suite)

namespace {

using namespace std::chrono_literals;

struct file_of_a_test {
  const std::string path = (std::filesystem::temp_directory_path() / fmt::format("troupe_text_{}", ::getpid()));

  ~file_of_a_test() { std::filesystem::remove(path); }
  void become_pipe() const { BOOST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
};

void refused(const std::string& path, const std::string& why, std::chrono::milliseconds limit = text_file_limit) {
  const auto expected = fmt::format("the plan can't be read from \"{}\": {}", path, why);
  BOOST_TEST(refuses<invalid_argument_error>([&] { read_text_file(path, "the plan", limit); }, expected));
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(all_of_a_file_is_read, file_of_a_test) {
  for (const auto size : {std::size_t{0}, std::size_t{5}, std::size_t{200'000}, text_file_bytes_max}) {
    const std::string text(size, 'x');
    std::ofstream{path} << text;
    BOOST_TEST((read_text_file(path, "the plan") == text));
  }
}

BOOST_FIXTURE_TEST_CASE(what_is_no_file_or_has_no_end_is_refused, file_of_a_test) {
  refused("/nowhere/at/all", "No such file");
  refused("/", "Is a directory");
  refused("/dev/zero", "it has more than 16777216 bytes");
  std::ofstream{path} << std::string(text_file_bytes_max + 1, 'x');
  refused(path, "it has more than 16777216 bytes");
}

BOOST_FIXTURE_TEST_CASE(a_pipe_is_read_until_its_writer_ends, file_of_a_test) {
  become_pipe();
  // Whoever opens a pipe to write waits for its reader.
  std::thread writer{[&] { std::ofstream{path} << std::string(200'000, 'x'); }};
  const auto text = read_text_file(path, "the plan");
  writer.join();
  BOOST_TEST(text.size() == 200'000u);
}

BOOST_FIXTURE_TEST_CASE(a_pipe_that_nobody_writes_or_ends_is_not_waited_for, file_of_a_test) {
  become_pipe();
  refused(path, "it has not ended within 20 ms", 20ms);
  const auto open_for_ever = ::open(path.c_str(), O_RDWR);
  BOOST_REQUIRE(::write(open_for_ever, "{", 1) == 1);
  refused(path, "it has not ended within 20 ms", 20ms);
  ::close(open_for_ever);
}

// A signal ends a wait for the writer early; what has no writer yet would look as if it had ended.
BOOST_FIXTURE_TEST_CASE(signals_do_not_end_a_pipe, file_of_a_test) {
  become_pipe();
  const auto former = std::signal(SIGUSR1, [](int) {});
  {
    const std::jthread sender{[reader = ::pthread_self()](const std::stop_token& stop) {
      for (; !stop.stop_requested(); std::this_thread::sleep_for(1ms)) ::pthread_kill(reader, SIGUSR1);
    }};
    refused(path, "it has not ended within 100 ms", 100ms);
  }
  std::signal(SIGUSR1, former);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
