// What strangers say at a door, to either side.
#include "decoder.hpp"

#include <troupe/runtime/door/handshake.hpp>

#include <algorithm>
#include <memory>

namespace troupe::fuzzed_door {

namespace {

const peer_identity worker{
    .cluster = "training", .task = {"worker", 3}, .incarnation = 7, .system = {.process = {{1, 2, 3}}, .number = 1}};

std::shared_ptr<const cluster_secret> secret() {
  static const auto made = std::make_shared<const cluster_secret>("the secret of a cluster");
  return made;
}

void hear(handshake& side, std::string_view bytes) {
  while (!side.is_over() && bytes.size() >= side.expected_bytes()) {
    const auto piece = bytes.substr(0, side.expected_bytes());
    bytes.remove_prefix(piece.size());
    side.hear(piece);
    side.take_words();
  }
}

std::string whole_visit(const std::shared_ptr<const cluster_secret>& with, bool of_host) {
  visitor_handshake visitor{door_service::messages, worker, with};
  host_handshake host{worker, with, [](const door_hello&) { return status{}; }};
  std::string said;
  for (auto turns = 2; turns > 0; --turns) {
    const auto to_host = visitor.take_words();
    hear(host, to_host);
    const auto to_visitor = host.take_words();
    hear(visitor, to_visitor);
    said += of_host ? to_visitor : to_host;
  }
  return said;
}

std::vector<std::string> said_to_a_host() { return {whole_visit(nullptr, false), whole_visit(secret(), false)}; }

void host(std::string_view bytes) {
  for (const auto& with : {std::shared_ptr<const cluster_secret>{}, secret()}) {
    host_handshake side{worker, with, [](const door_hello&) { return status{}; }};
    hear(side, bytes);
  }
}

std::vector<std::string> said_to_a_visitor() {
  return {whole_visit(nullptr, true), whole_visit(secret(), true),
          frame_of(word_kind::refusal, content_of_refusal({status_code::unauthenticated, "no"}))};
}

void visitor(std::string_view bytes) {
  for (const auto& with : {std::shared_ptr<const cluster_secret>{}, secret()}) {
    visitor_handshake side{door_service::tensors, worker, with};
    side.take_words();
    hear(side, bytes);
  }
}

const decoder as_host{"door-host", said_to_a_host, host};
const decoder as_visitor{"door-visitor", said_to_a_visitor, visitor};

}  // namespace

}  // namespace troupe::fuzzed_door
