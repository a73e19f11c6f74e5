#include <troupe/runtime/door/door.hpp>
#include <troupe/runtime/door/handshake.hpp>
#include <troupe/runtime/simulation/simulated_doors.hpp>

namespace troupe {

namespace {

/// Says it to the one who hears in pieces.
void say(std::string_view words, handshake& to) {
  while (!to.is_over() && words.size() >= to.expected_bytes()) {
    const auto piece = words.substr(0, to.expected_bytes());
    words.remove_prefix(piece.size());
    to.hear(piece);
  }
}

}  // namespace

status meet_at_door(const simulated_process& visitor, const simulated_process& host) {
  visitor_handshake comes{door_service::messages, visitor.party(), visitor.secret()};
  host_handshake stands{host.party(), host.secret(),
                        [&](const door_hello& who) { return check_cluster(host.party(), who.who); }};
  // Two round trips, and nobody who is left waiting.
  for (auto turns = 2; turns > 0; --turns) {
    say(comes.take_words(), stands);
    say(stands.take_words(), comes);
  }
  return comes.is_over() ? comes.result() : status{status_code::internal, "a door that does not answer"};
}

std::optional<status> meet_stranger_at_door(const simulated_process& visitor, std::string_view said) {
  visitor_handshake comes{door_service::messages, visitor.party(), visitor.secret()};
  say(said, comes);
  if (!comes.is_over()) return std::nullopt;
  return comes.result();
}

}  // namespace troupe
