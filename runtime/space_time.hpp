// A run as a picture: hosts as lines from top to bottom, messages as arrows between them, failures where they happened.
//
// A world records it on demand (world_options::records_messages); the search records the run that it reports. `to_html`
// makes one page with a drawing (SVG) that needs nothing else, `to_mermaid` a sequence diagram for pages that draw
// such.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <string>
#include <vector>

namespace troupe {

struct sent_message {
  /// Since the world's start.
  duration sent{};
  /// When it arrives, if its connection and its receiver are still there.
  duration arrives{};
  /// A plan has lost it.
  bool lost = false;
  std::string from;
  std::string to;
  /// Its parts: "add, 1"; from the first one on that is no atom, number or text the names of their types.
  std::string what;
};

struct space_time {
  struct event {
    duration at{};
    std::string what;
  };

  std::vector<std::string> hosts;
  /// Of actors to actors of other hosts, in the order of sending.
  std::vector<sent_message> messages;
  /// The lines of the trace.
  std::vector<event> events;
};

/// At most so many messages and events, the last ones: pictures of more help nobody.
inline constexpr std::size_t drawn_max = 500;

std::string to_mermaid(const space_time& run);
/// `title` says what the picture shows.
std::string to_html(const space_time& run, const std::string& title);

}  // namespace troupe
