// Brings the output of many tasks onto one terminal or into one log.
//
// Every line begins with the name of its task. A task that draws progress (text after a carriage return) owns the
// last line of the terminal: lines of others appear above it. Where the stream is no terminal, progress is left out,
// and the task's newline brings its last state as an ordinary line.
#pragma once

#include <troupe/runtime/launch/line_splitter.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace troupe {

/// Which of the two standard streams.
enum class output_stream : std::size_t { standard_output = 0, standard_error = 1 };

/// Writes lines of tasks to the standard streams. Not thread-safe.
class task_console {
 public:
  /// Takes text that is ready to be written, always whole lines except on a terminal.
  using writer = std::function<void(output_stream, std::string_view)>;

  /// `is_terminal` says it for standard output and for standard error.
  task_console(writer write, std::array<bool, 2> is_terminal);

  /// A piece of what task `name` has written; `colour` selects one of a few colours for the name.
  void show(output_stream stream, std::string_view name, std::size_t colour, line_splitter::kind kind,
            std::string_view text);

 private:
  bool is_terminal(output_stream stream) const { return is_terminal_[static_cast<std::size_t>(stream)]; }
  std::string prefixed(output_stream stream, std::string_view name, std::size_t colour, std::string_view text) const;

  writer write_;
  std::array<bool, 2> is_terminal_;
  std::string status_;       ///< what the last line of the terminal shows; empty: nothing
  std::string status_name_;  ///< whose status it is
  output_stream status_stream_ = output_stream::standard_error;
};

}  // namespace troupe
