#include <troupe/runtime/progress_bar.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe {

namespace {

using std::chrono::seconds;

constexpr std::string_view erase_line = "\r\033[K";
constexpr std::size_t bar_columns_max = 30;
constexpr std::size_t bar_columns_min = 5;  // a shorter one says nothing

std::string bar(double fraction, std::size_t columns) {
  const auto done = static_cast<std::size_t>(fraction * static_cast<double>(columns));
  std::string text(columns, ' ');
  std::fill_n(text.begin(), done, '=');
  if (done < columns) text[done] = '>';
  return text;
}

void append(std::string& line, std::string_view part) {
  if (part.empty()) return;
  if (!line.empty()) line += "  ";
  line += part;
}

}  // namespace

progress_bar::progress_bar(std::ostream& out, progress_bar_options options)
    : out_(out), options_(std::move(options)), start_(options_.now()), next_draw_(start_) {
  if (!options_.is_terminal) next_draw_ += options_.line_interval;
}

progress_bar::~progress_bar() {
  if (!drawn_.empty()) out_ << '\n' << std::flush;
}

void progress_bar::update(std::int64_t step, std::string_view details) {
  step_ = step;
  if (finished_) return;
  const auto now = options_.now();
  if (now < next_draw_) return;
  next_draw_ = now + (options_.is_terminal ? options_.redraw_interval : options_.line_interval);
  draw(render(details, time_left()));
}

void progress_bar::message(std::string_view text) {
  if (finished_) return;
  if (!drawn_.empty()) out_ << erase_line;
  out_ << text << '\n' << drawn_ << std::flush;
}

void progress_bar::finish(std::int64_t step, std::string_view details) {
  if (finished_) return;
  step_ = step;
  const auto took = std::chrono::duration_cast<seconds>(options_.now() - start_);
  draw(render(details, fmt::format("took {}", clock_text(took))));
  if (!drawn_.empty()) out_ << '\n' << std::flush;
  drawn_.clear();
  finished_ = true;
}

std::string progress_bar::render(std::string_view details, std::string_view time) const {
  const auto total = options_.steps_total;
  if (total <= 0) {
    auto line = options_.title;
    append(line, fmt::format("step {}", step_));
    append(line, details);
    append(line, time);
    return line;
  }
  const auto fraction = std::clamp(static_cast<double>(step_) / static_cast<double>(total), 0.0, 1.0);
  auto head = options_.title;
  append(head, fmt::format("{:3d}%", static_cast<int>(fraction * 100.0)));
  std::string tail;
  append(tail, fmt::format("{}/{}", step_, total));
  append(tail, details);
  append(tail, time);
  if (options_.is_terminal) {
    // " [" and "]  " stand around the bar; the last column stays free, as some terminals wrap there.
    const auto used = static_cast<std::size_t>(std::max(options_.columns, 1));
    const auto text = head.size() + tail.size() + 6;
    const auto room = used > text ? std::min(used - text, bar_columns_max) : 0;
    if (room >= bar_columns_min) head += fmt::format(" [{}]", bar(fraction, room));
  }
  append(head, tail);
  return head;
}

/// The rest at the average rate so far; empty while that is unknown.
std::string progress_bar::time_left() const {
  const auto left = options_.steps_total - step_;
  if (step_ <= 0 || left < 0) return {};
  const auto elapsed = std::chrono::duration<double>(options_.now() - start_).count();
  const auto estimate = elapsed * static_cast<double>(left) / static_cast<double>(step_);
  return fmt::format("{} left", clock_text(seconds{std::llround(estimate)}));
}

void progress_bar::draw(const std::string& line) {
  if (!options_.is_terminal) {
    out_ << line << '\n' << std::flush;
    return;
  }
  drawn_ = line.substr(0, static_cast<std::size_t>(std::max(options_.columns - 1, 1)));
  out_ << erase_line << drawn_ << std::flush;
}

std::string clock_text(seconds elapsed) {
  const auto total = std::max<std::int64_t>(elapsed.count(), 0);
  if (total < 3'600) return fmt::format("{}:{:02d}", total / 60, total % 60);
  return fmt::format("{}:{:02d}:{:02d}", total / 3'600, total / 60 % 60, total % 60);
}

}  // namespace troupe
