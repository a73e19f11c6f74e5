#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/door/certified_party.hpp>
#include <troupe/runtime/door/door.hpp>
#include <troupe/runtime/door/handshake.hpp>
#include <troupe/runtime/door/process_secret.hpp>
#include <troupe/runtime/door/tls_session.hpp>
#include <troupe/runtime/simulation/simulated_doors.hpp>

#include <array>

#include <sys/socket.h>

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

/// What both sides of TLS have found out about each other.
struct tls_meeting {
  status visitor_says;
  status host_says;
  std::optional<certified_role> visitor;
  std::optional<certified_role> host;
};

/// With the certificates that both have, by OpenSSL, over a pair of sockets that nobody waits for.
tls_meeting meet_under_tls(const tls_identity& visitor, const tls_identity& host) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw resource_exhausted_error{"no descriptor is left for two simulated processes that meet under TLS"};
  const descriptor at_visitor{ends[0]};
  const descriptor at_host{ends[1]};
  tls_session comes{visitor.current(), tls_session::side::visitor, at_visitor.get()};
  tls_session stands{host.current(), tls_session::side::host, at_host.get()};
  // A flight of each, and the visitor's last one; who has failed says no more.
  constexpr auto turns_max = 4;
  auto comes_is_over = false;
  auto stands_is_over = false;
  for (auto turns = turns_max; turns > 0 && !(comes_is_over && stands_is_over); --turns) {
    comes_is_over = comes_is_over || comes.handshake() == tls_session::progress::over;
    stands_is_over = stands_is_over || stands.handshake() == tls_session::progress::over;
  }
  return {comes.result(), stands.result(), stands.peer(), comes.peer()};
}

certified_role role_of(const simulated_process& process) { return process.tls()->current()->own_role(); }

/// As a visitor finds it whom the other side leaves without a word.
status left_alone() {
  return {status_code::unavailable, "it closed the connection before it had said whether this process may enter"};
}

}  // namespace

status meet_at_door(const simulated_process& visitor, const simulated_process& host) {
  if ((visitor.tls() == nullptr) != (host.tls() == nullptr)) return left_alone();
  std::optional<tls_meeting> certified;
  if (visitor.tls()) certified = meet_under_tls(*visitor.tls(), *host.tls());
  if (certified && !certified->visitor_says.ok()) return certified->visitor_says;
  if (certified && !certified->host_says.ok()) return left_alone();
  visitor_handshake comes{door_service::messages, visitor.party(), visitor.secret()};
  host_handshake stands{host.party(), host.secret(), [&](door_hello& who) {
                          if (certified)
                            if (auto why = prove_by_certificate(who.who, certified->visitor, role_of(host)); !why.ok())
                              return why;
                          if (auto why = check_cluster(host.party(), who.who); !why.ok()) return why;
                          return check_peer(host.system(), who.who);
                        }};
  // Two round trips, and nobody who is left waiting.
  for (auto turns = 2; turns > 0; --turns) {
    say(comes.take_words(), stands);
    say(stands.take_words(), comes);
  }
  if (!comes.is_over()) return {status_code::internal, "a door that does not answer"};
  if (!comes.result().ok()) return comes.result();
  auto found = comes.other().who;
  if (certified) {
    if (auto why = prove_by_certificate(found, certified->host, role_of(visitor)); !why.ok()) return why;
    if (auto why = check_serves(found); !why.ok()) return why;
  }
  return check_peer(visitor.system(), found);
}

peer_identity shown_to(const simulated_process& peer, const simulated_process& whose) {
  auto made = whose.party();
  made.key = process_secret::of_this_process()->key_for(made.system.process, peer.party().system.process);
  made.proof = whose.secret() ? identity_proof::secret : identity_proof::none;
  if (whose.tls()) {
    made.proof = identity_proof::certificate;
    made.certified_role = role_of(whose).job;
  }
  return made;
}

std::optional<status> meet_stranger_at_door(const simulated_process& visitor, std::string_view said) {
  visitor_handshake comes{door_service::messages, visitor.party(), visitor.secret()};
  say(said, comes);
  if (!comes.is_over()) return std::nullopt;
  return comes.result();
}

}  // namespace troupe
