#include "watched_program.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace troupe {

using std::chrono::milliseconds;

watched_program::watched_program(const std::string& path, std::vector<std::string> arguments)
    : child_(child_process_options{.program = path, .arguments = std::move(arguments)}) {}

const std::string& watched_program::output_with(std::string_view text) {
  const auto found = [&] { return output_.find(text) != std::string::npos; };
  const auto limit = clock::now() + patience;
  while (!found() && read_some(limit)) {
  }
  BOOST_REQUIRE_MESSAGE(found(), "\"" << text << "\" was not written, but: " << output_);
  return output_;
}

const std::string& watched_program::output() {
  const auto limit = clock::now() + patience;
  while (read_some(limit)) {
  }
  return output_;
}

std::string watched_program::end() {
  const auto ended = child_.wait_for(patience);
  BOOST_REQUIRE_MESSAGE(ended, "the program did not end; it wrote: " << output_);
  return to_string(*ended);
}

/// False when nothing more can come.
bool watched_program::read_some(clock::time_point limit) {
  const std::array files{&child_.standard_output(), &child_.standard_error()};
  std::vector<pollfd> watched;
  for (auto* const each : files)
    if (*each) watched.push_back({each->get(), POLLIN, 0});
  const auto left = std::chrono::ceil<milliseconds>(limit - clock::now());
  if (watched.empty() || left <= milliseconds::zero()) return false;
  ::poll(watched.data(), watched.size(), static_cast<int>(left.count()));
  for (auto* const each : files) read_from(*each);
  return true;
}

void watched_program::read_from(descriptor& file) {
  std::array<char, 4096> block{};
  while (file) {
    const auto count = ::read(file.get(), block.data(), block.size());
    if (count < 0) return;
    if (count == 0) return file.reset();
    output_.append(block.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace troupe
