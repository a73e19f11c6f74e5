#include <troupe/runtime/launch/task_console.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

namespace {

constexpr std::string_view erase_line = "\r\033[K";
constexpr std::array<int, 6> colours{36, 33, 32, 35, 34, 31};  // SGR codes, cyan to red

}  // namespace

task_console::task_console(writer write, std::array<bool, 2> is_terminal)
    : write_(std::move(write)), is_terminal_(is_terminal) {}

void task_console::show(output_stream stream, std::string_view name, std::size_t colour, line_splitter::kind kind,
                        std::string_view text) {
  auto piece = prefixed(stream, name, colour, text);
  if (kind == line_splitter::kind::status) {
    if (!is_terminal(stream)) return;
    write_(stream, fmt::format("{}{}", erase_line, piece));
    status_ = std::move(piece);
    status_name_ = name;
    status_stream_ = stream;
    return;
  }
  if (!is_terminal(stream) || status_.empty()) {
    write_(stream, piece + "\n");
    return;
  }
  // The line takes the place of the status, which then follows below, unless this line is its own end.
  write_(status_stream_, erase_line);
  write_(stream, piece + "\n");
  if (status_name_ == name && status_stream_ == stream) {
    status_.clear();
  } else {
    write_(status_stream_, status_);
  }
}

std::string task_console::prefixed(output_stream stream, std::string_view name, std::size_t colour,
                                   std::string_view text) const {
  if (!is_terminal(stream)) return fmt::format("[{}] {}", name, text);
  return fmt::format("\033[{}m[{}]\033[0m {}", colours[colour % colours.size()], name, text);
}

}  // namespace troupe
