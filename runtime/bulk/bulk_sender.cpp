#include <troupe/runtime/bulk/bulk_sender.hpp>
#include <troupe/runtime/door/watched_channel.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>

#include <sys/epoll.h>

namespace troupe {

namespace {

/// How long a new connection keeps its place without a request while others wait for one.
constexpr auto asking_limit = std::chrono::milliseconds{250};

/// Takes the same time wherever the first difference is, so that a secret cannot be guessed byte by byte.
bool same_secret(const bulk_secret& left, const bulk_secret& right) {
  auto difference = std::byte{0};
  for (std::size_t i = 0; i < left.size(); ++i) difference |= left[i] ^ right[i];
  return difference == std::byte{0};
}

}  // namespace

struct bulk_sender::connection {
  std::unique_ptr<watched_channel> peer;
  loop_clock::time_point last_progress = loop_clock::now();
  bool has_asked = false;
  bulk_request request;
  std::size_t received = 0;
  bool replying = false;
  bulk_reply reply;
  buffer content;
  std::size_t sent = 0;
};

bulk_sender::bulk_sender(bulk_offers& offers, const bulk_secret& secret, const limits& bounds)
    : offers_(offers), secret_(secret), limits_(bounds) {
  loop_.at(time_after(limits_.stall), [this] { close_stalled(); });
  loop_.start("bulk-send");
}

bulk_sender::~bulk_sender() { loop_.stop(); }

void bulk_sender::serve(channel entered) {
  // Shared, because a std::function is copyable.
  const auto kept = std::make_shared<channel>(std::move(entered));
  loop_.post([this, kept] {
    waiting_.push_back(std::move(*kept));
    serve_waiting();
  });
}

void bulk_sender::serve_waiting() {
  while (!waiting_.empty() && make_room()) {
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    add_connection(std::move(next));
  }
}

void bulk_sender::add_connection(channel entered) {
  const auto number = ++last_connection_;
  auto added = std::make_unique<connection>();
  auto ready = [this, number](event_loop::events) {
    if (!advance(*connections_.at(number))) connections_.erase(number);
    serve_waiting();
  };
  try {
    added->peer = std::make_unique<watched_channel>(loop_, std::move(entered), EPOLLIN, std::move(ready));
  } catch (const resource_exhausted_error&) {
    return;  // closes the connection, and its peer reports that
  }
  connections_.emplace(number, std::move(added));
}

bool bulk_sender::make_room() {
  if (connections_.size() < limits_.connections_max) return true;
  // Peers re-use connections and make new ones when they must, so an idle one is the least loss. Who has just come is
  // about to ask.
  const auto now = loop_clock::now();
  auto next_try = loop_clock::time_point::max();
  auto longest_idle = connections_.end();
  for (auto entry = connections_.begin(); entry != connections_.end(); ++entry) {
    const auto& peer = *entry->second;
    if (peer.replying) continue;
    if (const auto asks_until = peer.last_progress + asking_limit; !peer.has_asked && now < asks_until)
      next_try = std::min(next_try, asks_until);
    else if (longest_idle == connections_.end() || peer.last_progress < longest_idle->second->last_progress)
      longest_idle = entry;
  }
  if (longest_idle != connections_.end()) {
    connections_.erase(longest_idle);
    return true;
  }
  loop_.cancel(room_timer_);
  if (next_try != loop_clock::time_point::max()) room_timer_ = loop_.at(next_try, [this] { serve_waiting(); });
  return false;
}

void bulk_sender::close_stalled() {
  const auto now = loop_clock::now();
  std::erase_if(connections_, [&](const auto& entry) { return now - entry.second->last_progress >= limits_.stall; });
  serve_waiting();
  loop_.at(time_after(limits_.stall / 2), [this] { close_stalled(); });
}

bool bulk_sender::advance(connection& peer) { return peer.replying ? send_reply(peer) : receive_request(peer); }

/// False when the connection is over; the same for send_reply.
bool bulk_sender::receive_request(connection& peer) {
  const auto frame = std::as_writable_bytes(std::span{&peer.request, 1});
  const auto progress = peer.peer->receive_some(frame.subspan(peer.received));
  if (progress.blocked) return true;
  if (progress.broken) return false;
  peer.received += progress.bytes;
  // Those of other versions may be shorter.
  if (peer.received < offsetof(bulk_request, secret)) return true;
  if (peer.request.magic != bulk_request::magic_number) return false;
  const auto is_understood = peer.request.version == bulk_request::current_version;
  // No progress yet: who sends byte by byte must not stay for long.
  if (is_understood && peer.received < frame.size()) return true;

  peer.has_asked = true;
  peer.reply = is_understood ? answer(peer) : bulk_reply{.answer = bulk_answer::other_version};
  peer.last_progress = loop_clock::now();
  peer.received = 0;
  peer.sent = 0;
  peer.replying = true;
  peer.peer->expect(EPOLLOUT);
  return send_reply(peer);
}

/// To a whole request.
bulk_reply bulk_sender::answer(connection& peer) {
  const auto& request = peer.request;
  if (!same_secret(request.secret, secret_)) return {.answer = bulk_answer::other_secret};
  auto taken = offers_.take(request.number, request.size_bytes, request.part);
  peer.content = std::move(taken.content);
  return {.answer = taken.answer,
          .size_bytes = taken.answer == bulk_answer::found ? request.part.size_bytes : taken.size_bytes};
}

bool bulk_sender::send_reply(connection& peer) {
  const auto header = std::as_bytes(std::span{&peer.reply, 1});
  const auto content = std::span{peer.content.data(), peer.content.size_bytes()};
  const auto total = header.size() + content.size();
  for (std::size_t turn = 0; turn < bulk_turn_bytes && peer.sent < total;) {
    const auto in_header = peer.sent < header.size();
    const auto part = in_header ? header.subspan(peer.sent) : content.subspan(peer.sent - header.size());
    const auto limited = part.first(std::min(part.size(), bulk_turn_bytes - turn));
    const auto progress = peer.peer->send_some(limited, in_header && !content.empty());
    if (progress.blocked) return true;
    if (progress.broken) return false;
    peer.last_progress = loop_clock::now();
    peer.sent += progress.bytes;
    turn += progress.bytes;
  }
  if (peer.sent < total) return true;
  peer.content = {};
  peer.replying = false;
  peer.peer->expect(EPOLLIN);
  return true;
}

}  // namespace troupe
