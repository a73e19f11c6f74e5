#include <troupe/device/base/error.hpp>
#include <troupe/runtime/launch/terminal.hpp>

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace troupe {

namespace {

/// Empty: not set.
std::string_view progress_setting() {
  const auto* setting = std::getenv(progress_variable);
  return setting != nullptr ? setting : "";
}

}  // namespace

void check_progress_setting() {
  const auto choice = progress_setting();
  if (choice.empty() || choice == "bar" || choice == "lines") return;
  throw invalid_argument_error{
      fmt::format("{} is \"{}\"; expected bar, lines, or no such variable", progress_variable, choice)};
}

bool shows_progress_bar(int file) {
  const auto choice = progress_setting();
  if (choice == "bar") return true;
  if (choice == "lines") return false;
  return ::isatty(file) == 1;
}

int terminal_columns(int file) {
  constexpr auto columns_default = 80;
  winsize size = {};
  if (::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const auto* setting = std::getenv("COLUMNS");
  const std::string_view text = setting != nullptr ? setting : "";
  auto columns = 0;
  std::from_chars(text.data(), text.data() + text.size(), columns);
  return columns > 0 ? columns : columns_default;
}

bool write_text(int file, std::string_view text, int interrupt, std::chrono::milliseconds patience) {
  while (!text.empty()) {
    std::array<pollfd, 2> watched{pollfd{file, POLLOUT, 0}, pollfd{interrupt, POLLIN, 0}};
    const auto ready = ::poll(watched.data(), watched.size(), static_cast<int>(patience.count()));
    if (ready < 0 && errno == EINTR) continue;
    // With an error, too: it is the write that says which.
    if ((watched[0].revents & (POLLOUT | POLLERR)) == 0) return true;
    // A descriptor that is ready takes PIPE_BUF bytes without blocking.
    const auto count = ::write(file, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (count < 0 && errno != EINTR && errno != EAGAIN) return errno != EPIPE;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace troupe
