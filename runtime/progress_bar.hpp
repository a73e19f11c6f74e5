// Shows how far a long loop has come.
//
// On a terminal: one line that is drawn over and over, at most ten times a second. Elsewhere: a plain line every few
// seconds, so that a log stays readable. The bar knows steps and time only; what else is worth showing (loss, rate,
// workers alive) comes as text.
//
//   train  45% [=========>           ] 1234/2814  loss 0.41  51,200 images/s  workers 2/2  0:32 left
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

namespace troupe {

/// What a progress bar shows and where.
struct progress_bar_options {
  std::string title;             ///< the first word of each line
  std::int64_t steps_total = 0;  ///< 0: unknown, no bar and no time left
  bool is_terminal = false;      ///< draw over one line; see shows_progress_bar
  int columns = 80;              ///< of the terminal; a bar line is never longer
  std::chrono::milliseconds redraw_interval{100};
  std::chrono::milliseconds line_interval{5'000};  ///< between plain lines where there is no terminal
  /// Where the time comes from; for tests.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// A progress display on one stream. Not thread-safe.
class progress_bar {
 public:
  /// `out` must outlive the bar. Time starts to count now.
  progress_bar(std::ostream& out, progress_bar_options options);
  /// Ends the line that is being drawn, if any.
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// `step` steps are done; `details` is shown behind them. Cheap enough for each step of a fast loop: draws only when
  /// the interval is over.
  void update(std::int64_t step, std::string_view details);
  /// Prints a line of its own above the bar.
  void message(std::string_view text);
  /// The loop has ended: prints the last line, with the time it took. Later calls of anything do nothing.
  void finish(std::int64_t step, std::string_view details);

 private:
  using time_point = std::chrono::steady_clock::time_point;

  std::string render(std::string_view details, std::string_view time) const;
  std::string time_left() const;
  void draw(const std::string& line);

  std::ostream& out_;
  progress_bar_options options_;
  time_point start_;
  time_point next_draw_;
  std::int64_t step_ = 0;
  std::string drawn_;  ///< what the terminal's last line shows
  bool finished_ = false;
};

/// A duration as "0:07", "12:34" or "1:02:03".
std::string clock_text(std::chrono::seconds elapsed);

}  // namespace troupe
