#include <troupe/runtime/space_time.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace troupe {

namespace {

double milliseconds(duration time) { return std::chrono::duration<double, std::milli>{time}.count(); }

/// The last ones of them.
template <class T>
std::vector<T> last_of(const std::vector<T>& all) {
  return {all.end() - static_cast<std::ptrdiff_t>(std::min(all.size(), drawn_max)), all.end()};
}

std::string escaped_for_html(const std::string& text) {
  std::string result;
  for (const auto each : text) switch (each) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += each;
    }
  return result;
}

/// Mermaid takes some signs for its own.
std::string escaped_for_mermaid(std::string text) {
  for (auto& each : text)
    if (each == ';' || each == '#' || each == ':') each = ',';
  return text;
}

/// Draws one line after the other: the moments of a run are as far apart as their texts need, not as their times.
class drawing {
 public:
  explicit drawing(const space_time& run) : messages_(last_of(run.messages)), events_(last_of(run.events)) {
    for (const auto& host : run.hosts) columns_.emplace(host, left + static_cast<int>(columns_.size()) * column_width);
    for (const auto& each : messages_) {
      moments_[each.sent] = 0;
      if (!each.lost) moments_[each.arrives] = 0;
    }
    std::map<duration, int> events_of;
    for (const auto& each : events_) {
      moments_[each.at] = 0;
      ++events_of[each.at];
    }
    auto y = top;
    for (auto& [at, place] : moments_) {
      place = y + row_height;
      y += row_height * std::max(events_of[at], 1);
    }
    height_ = y + row_height;
    width_ = left + static_cast<int>(columns_.size()) * column_width + events_width;
  }

  std::string svg() const {
    auto result =
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\">\n", width_, height_);
    for (const auto& [host, x] : columns_)
      result += fmt::format(
          "<text x=\"{0}\" y=\"20\" class=\"host\">{1}</text><line x1=\"{0}\" y1=\"30\" x2=\"{0}\" "
          "y2=\"{2}\" class=\"life\"/>\n",
          x, escaped_for_html(host), height_);
    for (const auto& [at, y] : moments_)
      result += fmt::format("<text x=\"4\" y=\"{}\" class=\"time\">{:.3f} ms</text>\n", y + 4, milliseconds(at));
    for (const auto& each : messages_) result += arrow(each);
    std::map<duration, int> events_of;
    for (const auto& each : events_)
      result += fmt::format("<text x=\"{}\" y=\"{}\" class=\"event\">{}</text>\n", width_ - events_width,
                            moments_.at(each.at) + 4 + row_height * events_of[each.at]++, escaped_for_html(each.what));
    return result + "</svg>\n";
  }

 private:
  static constexpr int left = 160;
  static constexpr int top = 40;
  static constexpr int row_height = 18;
  static constexpr int column_width = 180;
  static constexpr int events_width = 700;

  std::string arrow(const sent_message& each) const {
    const auto from = columns_.at(each.from);
    const auto to = columns_.at(each.to);
    const auto begin = moments_.at(each.sent);
    // What is lost ends half way.
    const auto end_x = each.lost ? (from + to) / 2 : to;
    const auto end_y = each.lost ? begin + row_height / 2 : moments_.at(each.arrives);
    return fmt::format(
        "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\" marker-end=\"url(#head)\"/>"
        "<text x=\"{}\" y=\"{}\" class=\"message\" text-anchor=\"{}\">{}{}</text>\n",
        from, begin, end_x, end_y, each.lost ? "lost" : "sent", from + (to > from ? 6 : -6), begin - 3,
        to > from ? "start" : "end", escaped_for_html(each.what), each.lost ? " (lost)" : "");
  }

  std::vector<sent_message> messages_;
  std::vector<space_time::event> events_;
  std::map<std::string, int> columns_;
  std::map<duration, int> moments_;
  int height_ = 0;
  int width_ = 0;
};

}  // namespace

std::string to_mermaid(const space_time& run) {
  std::string result = "sequenceDiagram\n";
  for (std::size_t i = 0; i < run.hosts.size(); ++i)
    result += fmt::format("  participant h{} as {}\n", i, escaped_for_mermaid(run.hosts[i]));
  if (run.hosts.empty()) return result;
  const auto number = [&](const std::string& host) {
    return std::find(run.hosts.begin(), run.hosts.end(), host) - run.hosts.begin();
  };
  std::multimap<duration, std::string> lines;
  for (const auto& each : last_of(run.messages))
    lines.emplace(each.sent, fmt::format("  h{}{}h{}: {}\n", number(each.from), each.lost ? "--x" : "->>",
                                         number(each.to), escaped_for_mermaid(each.what)));
  for (const auto& each : last_of(run.events))
    lines.emplace(each.at, fmt::format("  Note over h0,h{}: {:.3f} ms {}\n", run.hosts.size() - 1,
                                       milliseconds(each.at), escaped_for_mermaid(each.what)));
  for (const auto& [_, line] : lines) result += line;
  return result;
}

std::string to_html(const space_time& run, const std::string& title) {
  constexpr auto head = R"(<style>
body { font: 13px sans-serif } text { font: 11px monospace } .host { font-weight: bold; text-anchor: middle }
.life { stroke: #999 } .sent { stroke: #06c } .lost { stroke: #c00; stroke-dasharray: 4 } .event { fill: #c00 }
.time { fill: #999 } .message { fill: #036 }
</style>
<svg width="0" height="0"><defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">
<path d="M0,0 L8,4 L0,8 z" fill="#06c"/></marker></defs></svg>
)";
  return fmt::format("<!doctype html>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n{1}<h1>{0}</h1>\n{2}",
                     escaped_for_html(title), head, drawing{run}.svg());
}

}  // namespace troupe
