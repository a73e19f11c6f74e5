// What happened to a cluster's members, for programs to read: one JSON object a line, each written at once, so that a
// chief that is killed leaves what it knew.
//
//   {"event": "member_lost", "job": "worker", "index": 1, "epoch": 3, "count": 0, "time_ns": 81234, "why": "..."}
//
// Times are those of this machine's steady clock, which all its processes share. The chief of `run` writes it where the
// environment variable TROUPE_EVENTS says.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>

#include <caf/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// Names the file.
inline constexpr auto event_file_variable = "TROUPE_EVENTS";

/// Adds a line for each event from now on. @throws unavailable_error when the file can't be written.
void write_events(caf::actor_system& system, const event_bus_actor& events, const std::string& path);

/// One line.
struct recorded_event {
  event_kind kind = event_kind::member_joined;
  task_id task;
  std::uint64_t epoch = 0;
  std::uint64_t count = 0;
  std::chrono::steady_clock::time_point time;
  std::string why;
};

/// All lines that are complete. @throws not_found_error for no file; invalid_argument_error that names the line for
/// what nobody here has written.
std::vector<recorded_event> read_events(const std::string& path);

}  // namespace troupe
