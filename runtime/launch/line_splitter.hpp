// Cuts what a process writes into lines, in bounded memory, and keeps progress displays intact.
//
// A program that draws progress writes "\rstep 10", "\rstep 20" and a newline at its end. What stands after the last
// carriage return is what a terminal would show: it is reported as a *status* whenever it changes, and as a line when
// its newline comes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace troupe {

/// Splits one byte stream into lines and statuses. Not thread-safe.
class line_splitter {
 public:
  enum class kind { line, status };
  using sink = std::function<void(kind, std::string_view)>;

  /// Longer lines come in pieces of this many bytes.
  static constexpr std::size_t line_bytes_max = 16 * 1024;

  /// Takes bytes as they come and calls `on_piece` for each line that is complete, without its end of line, and then
  /// at most once for the status that the bytes leave behind.
  void feed(std::string_view bytes, const sink& on_piece);
  /// The stream has ended: what is left counts as a line.
  void finish(const sink& on_piece);

 private:
  void end_line(const sink& on_piece);

  std::string text_;
  bool has_returned_ = false;  ///< a carriage return was seen in this line
  bool at_return_ = false;     ///< the last byte was one: the next one overwrites, unless it is the newline
};

}  // namespace troupe
