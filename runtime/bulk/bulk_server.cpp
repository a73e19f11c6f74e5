#include <troupe/runtime/bulk/bulk_server.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include <sys/epoll.h>
#include <sys/random.h>

namespace troupe {

namespace {

bulk_secret random_secret() {
  bulk_secret secret;
  // Up to 256 bytes come in one piece once the kernel's generator is seeded.
  if (::getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
    throw unavailable_error{fmt::format("the kernel gives no random numbers: {}", std::strerror(errno))};
  return secret;
}

/// Takes the same time wherever the first difference is, so that a secret cannot be guessed byte by byte.
bool same_secret(const bulk_secret& left, const bulk_secret& right) {
  auto difference = std::byte{0};
  for (std::size_t i = 0; i < left.size(); ++i) difference |= left[i] ^ right[i];
  return difference == std::byte{0};
}

}  // namespace

struct bulk_server::connection {
  std::unique_ptr<watched_channel> peer;
  loop_clock::time_point last_progress = loop_clock::now();
  bulk_request request;
  std::size_t received = 0;
  bool replying = false;
  bulk_reply reply;
  buffer content;
  std::size_t sent = 0;
};

bulk_server::bulk_server(tcp_bulk_options options)
    : options_(std::move(options)), offers_(options_.offers_max, options_.offered_bytes_max) {}

bulk_server::~bulk_server() {
  door_.reset();
  earlier_doors_.clear();
  if (loop_) loop_->stop();
}

bulk_server::offer_place bulk_server::offer(buffer content, loop_clock::duration lifetime) {
  if (!content.on_host()) {
    throw invalid_argument_error{
        fmt::format("memory of {} cannot be offered to another process; copy it to the host first", content.device())};
  }
  const std::scoped_lock lock{mutex_};
  if (!loop_) start();
  if (endpoint_.empty()) {
    const auto at = other_door_ ? *other_door_ : own_door();
    endpoint_ = bulk_endpoint{at.host, at.port, secret_}.to_string();
  }
  const auto expiry = time_after(lifetime);
  const auto number = offers_.add(std::move(content), expiry);
  if (expiry < next_expiry_) {
    next_expiry_ = expiry;
    loop_->post([this] { expire_offers(); });
  }
  return {endpoint_, number};
}

void bulk_server::start() {
  secret_ = random_secret();
  loop_ = std::make_unique<event_loop>();
  try {
    loop_->at(time_after(options_.stall_limit), [this] { close_stalled(); });
    loop_->start("bulk-send");
    serving_ = loop_.get();
  } catch (...) {
    loop_.reset();  // the next offer tries again
    throw;
  }
}

task_address bulk_server::own_door() {
  if (!door_) {
    check_may_listen(*options_.with, options_.listen_host);
    auto opened = std::make_unique<door>(
        options_.listen_host, options_.port,
        door_options{
            .self = options_.self, .secret = options_.with->secret, .tls = options_.with->tls, .strangers = {}});
    opened->open_for(door_service::tensors, [this](channel entered, const door_hello&) { adopt(std::move(entered)); });
    door_ = std::move(opened);
  }
  return {options_.advertised_host.empty() ? options_.listen_host : options_.advertised_host, door_->port()};
}

void bulk_server::adopt(channel entered) {
  // Without the mutex: the thread of all doors runs this, and who holds it may wait for that thread, to open one.
  auto* const loop = serving_.load();
  if (loop == nullptr) return;
  // Shared, because a std::function is copyable.
  const auto kept = std::make_shared<channel>(std::move(entered));
  loop->post([this, kept] { serve(std::move(*kept)); });
}

void bulk_server::served_at(std::optional<task_address> other) {
  const std::scoped_lock lock{mutex_};
  other_door_ = std::move(other);
  endpoint_.clear();
}

void bulk_server::not_served_at(const task_address& other) {
  const std::scoped_lock lock{mutex_};
  if (other_door_ != other) return;
  other_door_.reset();
  endpoint_.clear();
}

void bulk_server::move_to(const std::string& listen_host, const std::string& advertised_host) {
  const std::scoped_lock lock{mutex_};
  options_.listen_host = listen_host;
  options_.advertised_host = advertised_host;
  if (door_) earlier_doors_.push_back(std::move(door_));
  other_door_.reset();
  endpoint_.clear();
}

void bulk_server::expire_offers() {
  {
    // Before looking: an offer that comes after the look finds this and has us look again.
    const std::scoped_lock lock{mutex_};
    next_expiry_ = loop_clock::time_point::max();
  }
  const auto next = offers_.expire();
  loop_->cancel(expiry_timer_);
  if (!next) return;
  expiry_timer_ = loop_->at(*next, [this] { expire_offers(); });
  const std::scoped_lock lock{mutex_};
  next_expiry_ = std::min(next_expiry_, *next);
}

void bulk_server::serve(channel entered) {
  waiting_.push_back(std::move(entered));
  serve_waiting();
}

void bulk_server::serve_waiting() {
  while (!waiting_.empty() && make_room()) {
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    add_connection(std::move(next));
  }
}

void bulk_server::add_connection(channel entered) {
  const auto number = ++last_connection_;
  auto added = std::make_unique<connection>();
  auto ready = [this, number](event_loop::events) {
    if (!advance(*connections_.at(number))) connections_.erase(number);
    serve_waiting();
  };
  try {
    added->peer = std::make_unique<watched_channel>(*loop_, std::move(entered), EPOLLIN, std::move(ready));
  } catch (const resource_exhausted_error&) {
    return;  // closes the connection, and its peer reports that
  }
  connections_.emplace(number, std::move(added));
}

bool bulk_server::make_room() {
  if (connections_.size() < options_.served_connections_max) return true;
  // Peers re-use connections and make new ones when they must, so an idle one is the least loss.
  auto longest_idle = connections_.end();
  for (auto entry = connections_.begin(); entry != connections_.end(); ++entry) {
    if (entry->second->replying) continue;
    if (longest_idle == connections_.end() || entry->second->last_progress < longest_idle->second->last_progress)
      longest_idle = entry;
  }
  if (longest_idle == connections_.end()) return false;
  connections_.erase(longest_idle);
  return true;
}

void bulk_server::close_stalled() {
  const auto now = loop_clock::now();
  std::erase_if(connections_,
                [&](const auto& entry) { return now - entry.second->last_progress >= options_.stall_limit; });
  serve_waiting();
  loop_->at(time_after(options_.stall_limit / 2), [this] { close_stalled(); });
}

bool bulk_server::advance(connection& peer) { return peer.replying ? send_reply(peer) : receive_request(peer); }

/// False when the connection is over; the same for send_reply.
bool bulk_server::receive_request(connection& peer) {
  const auto frame = std::as_writable_bytes(std::span{&peer.request, 1});
  const auto progress = peer.peer->receive_some(frame.subspan(peer.received));
  if (progress.blocked) return true;
  if (progress.broken) return false;
  peer.received += progress.bytes;
  if (peer.received < frame.size()) return true;  // no progress yet: who sends byte by byte must not stay for long

  const auto& request = peer.request;
  if (request.magic != bulk_request::magic_number) return false;
  peer.reply = {};
  if (request.version != bulk_request::current_version) {
    peer.reply.answer = bulk_answer::other_version;
  } else if (!same_secret(request.secret, secret_)) {
    peer.reply.answer = bulk_answer::other_secret;
  } else {
    auto taken = offers_.take(request.number, request.size_bytes);
    peer.reply.answer = taken.answer;
    peer.reply.size_bytes = taken.size_bytes;
    peer.content = std::move(taken.content);
  }
  peer.last_progress = loop_clock::now();
  peer.received = 0;
  peer.sent = 0;
  peer.replying = true;
  peer.peer->expect(EPOLLOUT);
  return send_reply(peer);
}

bool bulk_server::send_reply(connection& peer) {
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
