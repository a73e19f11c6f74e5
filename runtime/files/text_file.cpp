#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/posix_files.hpp>
#include <troupe/runtime/files/text_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr std::size_t part_bytes = std::size_t{64} << 10;

}  // namespace

std::string read_text_file(const std::string& path, std::string_view called, std::chrono::milliseconds limit) {
  using clock = std::chrono::steady_clock;
  const auto refuse = [&](std::string_view why) {
    throw invalid_argument_error{fmt::format("{} can't be read from \"{}\": {}", called, path, why)};
  };
  const auto file = posix_files::instance().open_descriptor(path);
  if (!file) refuse(std::strerror(errno));
  const auto deadline = clock::now() + limit;
  std::string text;
  for (;;) {
    // A pipe that nobody has opened to write yet has nothing to wait for but looks as if it had ended; poll knows.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
    pollfd readable{.fd = file.get(), .events = POLLIN, .revents = 0};
    const auto ready = ::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready == 0) refuse(fmt::format("it has not ended within {} ms", limit.count()));
    if (ready < 0 && errno == EINTR) continue;
    const auto size = text.size();
    text.resize(size + part_bytes);
    const auto count = ::read(file.get(), text.data() + size, part_bytes);
    const auto reason = errno;
    text.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return text;
    if (count < 0 && reason != EINTR && reason != EAGAIN) refuse(std::strerror(reason));
    if (text.size() > text_file_bytes_max) refuse(fmt::format("it has more than {} bytes", text_file_bytes_max));
  }
}

}  // namespace troupe
