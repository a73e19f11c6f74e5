#include <troupe/runtime/bulk/bulk_connection.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include <sys/epoll.h>

namespace troupe {

bulk_connection::bulk_connection(event_loop& loop, std::string name, bulk_offerer offerer,
                                 std::vector<socket_address> addresses, visitor_words words,
                                 std::function<void(ending)> on_end)
    : loop_(loop),
      name_(std::move(name)),
      offerer_(std::move(offerer)),
      addresses_(std::move(addresses)),
      words_(std::move(words)),
      on_end_(std::move(on_end)) {
  assert(!addresses_.empty());
}

bulk_connection::~bulk_connection() { loop_.cancel(connect_timer_); }

void bulk_connection::start(const bulk_request& request, std::span<std::byte> destination,
                            loop_clock::time_point deadline) {
  assert(state_ == state::idle || exchanges_ == 0);
  ++exchanges_;
  request_ = request;
  destination_ = destination;
  deadline_ = deadline;
  sent_ = reply_received_ = received_ = 0;
  if (state_ == state::connecting) {
    connect_timer_ = loop_.at(loop_clock::now(), [this] { connect_next(); });
  } else {
    state_ = state::requesting;
    peer_->expect(EPOLLOUT);
  }
}

void bulk_connection::connect_next() {
  connecting_.reset();
  loop_.cancel(connect_timer_);
  while (next_address_ < addresses_.size()) {
    auto socket = start_connecting(addresses_[next_address_++]);
    if (!socket) {
      last_connect_error_ = errno;
      continue;
    }
    try {
      connecting_ =
          std::make_unique<watched_socket>(loop_, std::move(socket), EPOLLOUT, [this](event_loop::events) { ready(); });
    } catch (const error& failed) {
      return end({.ended = failed.get_status()});
    }
    // The last address has all the time that is left.
    const auto more_addresses = static_cast<std::int64_t>(addresses_.size() - next_address_);
    if (more_addresses == 0) return;
    const auto now = loop_clock::now();
    connect_timer_ = loop_.at(now + (deadline_ - now) / (more_addresses + 1), [this] {
      last_connect_error_ = ETIMEDOUT;
      connect_next();
    });
    return;
  }
  end({.ended = {status_code::unavailable,
                 fmt::format("cannot connect to {} for bulk data: {}; the process there has ended, or its address "
                             "cannot be reached from here",
                             name_, std::strerror(last_connect_error_))}});
}

void bulk_connection::connected() {
  last_connect_error_ = connect_error(connecting_->get());
  if (last_connect_error_ != 0) return connect_next();
  loop_.cancel(connect_timer_);
  state_ = state::visiting;
  try {
    visit_ = std::make_unique<visit>(loop_, connecting_->release(), words_(),
                                     [this](channel connection, const door_hello& host, const status& why) {
                                       entered(std::move(connection), why.ok() ? check_peer(host.who) : why);
                                     });
  } catch (...) {
    end({.ended = status_of(std::current_exception())});
  }
}

/// Whether the process that offers the bytes answers.
status bulk_connection::check_peer(const peer_identity& peer) const {
  if (peer.certified_role != offerer_.certified_role)
    return {
        status_code::permission_denied,
        fmt::format("it has the certificate of the role \"{}\", and the process that made the ticket that of \"{}\"",
                    peer.certified_role, offerer_.certified_role)};
  if (peer.system.process == offerer_.process) return {};
  return {status_code::unavailable, "it belongs to another process now, the one that made the ticket has ended"};
}

void bulk_connection::entered(channel connection, const status& why) {
  if (!why.ok()) return end({.ended = why.wrap(fmt::format("the door of {} for bulk data", name_))});
  try {
    peer_ = std::make_unique<watched_channel>(loop_, std::move(connection), EPOLLOUT,
                                              [this](event_loop::events) { ready(); });
  } catch (const error& failed) {
    return end({.ended = failed.get_status()});
  }
  state_ = state::requesting;
  send_request();
}

void bulk_connection::ready() {
  switch (state_) {
    case state::connecting:
      return connected();
    case state::visiting:
      return;
    case state::requesting:
      return send_request();
    case state::awaiting_reply:
      return receive_reply();
    case state::receiving:
      return receive_content();
    case state::idle:
      return broke(0);  // the peer closes, or says what nobody asked for
  }
}

void bulk_connection::send_request() {
  const auto frame = std::as_bytes(std::span{&request_, 1});
  const auto progress = peer_->send_some(frame.subspan(sent_));
  if (progress.broken) return broke(progress.reason);
  sent_ += progress.bytes;
  if (sent_ < frame.size()) return;
  state_ = state::awaiting_reply;
  peer_->expect(EPOLLIN);
}

void bulk_connection::receive_reply() {
  const auto frame = std::as_writable_bytes(std::span{&reply_, 1});
  const auto progress = peer_->receive_some(frame.subspan(reply_received_));
  if (progress.blocked) return;
  if (progress.broken) return broke(progress.reason);
  reply_received_ += progress.bytes;
  if (reply_received_ < frame.size()) return;
  auto problem = judge_reply();
  if (problem.code() == status_code::data_loss) return end({.ended = std::move(problem)});
  if (!problem.ok()) {
    state_ = state::idle;
    return end({.ended = std::move(problem), .reusable = true});
  }
  state_ = state::receiving;
  receive_content();
}

/// Ok when the content follows, data_loss when what the peer says makes no sense.
status bulk_connection::judge_reply() const {
  if (reply_.magic != bulk_reply::magic_number)
    return {status_code::data_loss, fmt::format("{} does not answer like a bulk transport; check that the advertised "
                                                "host leads to the process that made the ticket",
                                                name_)};
  switch (reply_.answer) {
    case bulk_answer::found:
      if (reply_.size_bytes == destination_.size()) return {};
      break;
    case bulk_answer::not_found:
      return {status_code::not_found,
              fmt::format("{} has no offer {}: it was fetched already, or nobody fetched it in time", name_,
                          request_.number)};
    case bulk_answer::other_size:
      break;
    case bulk_answer::other_secret:
      return {status_code::unavailable,
              fmt::format("offer {} is lost: {} belongs to another process now, the one that made it has ended",
                          request_.number, name_)};
    case bulk_answer::other_version:
      return {status_code::failed_precondition,
              fmt::format("{} speaks another version of the bulk protocol than {}; run the same build everywhere",
                          name_, bulk_request::current_version)};
  }
  return {status_code::data_loss,
          fmt::format("offer {} of {} should have {} bytes, but {} has {} (answer {})", request_.number, name_,
                      request_.size_bytes, name_, reply_.size_bytes, static_cast<std::uint32_t>(reply_.answer))};
}

void bulk_connection::receive_content() {
  for (std::size_t turn = 0; turn < bulk_turn_bytes && received_ < destination_.size();) {
    const auto rest = destination_.subspan(received_);
    const auto progress = peer_->receive_some(rest.first(std::min(rest.size(), bulk_turn_bytes - turn)));
    if (progress.blocked) return;
    if (progress.broken) return broke(progress.reason);
    received_ += progress.bytes;
    turn += progress.bytes;
  }
  if (received_ == destination_.size()) arrived();
}

void bulk_connection::arrived() {
  state_ = state::idle;
  end({.reusable = true});
}

void bulk_connection::broke(int reason) {
  const auto why = reason == 0 ? "the peer closed it" : std::strerror(reason);
  auto problem =
      status{status_code::unavailable, fmt::format("the connection to {} broke after {} of {} bytes of offer {}: {}",
                                                   name_, received_, destination_.size(), request_.number, why)};
  end({.ended = std::move(problem), .unanswered = reply_received_ == 0});
}

void bulk_connection::end(ending how) {
  const auto on_end = on_end_;  // the callee may destroy this object
  on_end(std::move(how));
}

}  // namespace troupe
