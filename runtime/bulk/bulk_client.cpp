#include <troupe/actors/fibers/time.hpp>
#include <troupe/runtime/bulk/bulk_client.hpp>
#include <troupe/runtime/sockets/name_lookup.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe {

struct bulk_client::job {
  bulk_fetch wanted;
  loop_clock::time_point deadline;
  event_loop::timer timer{};
};

/// A connection and what runs on it.
struct bulk_client::line {
  std::unique_ptr<bulk_connection> connection;
  std::unique_ptr<job> open;
  event_loop::timer idle_timer{};
};

struct bulk_client::peer {
  std::string key;  // in peers_
  std::string address;
  bulk_offerer offerer;
  std::string host;
  std::uint16_t port = 0;
  /// Empty before the host was resolved, and again after a connection failed: names may get other addresses.
  std::vector<socket_address> addresses;
  bool resolving = false;
  std::deque<std::unique_ptr<job>> waiting;
  std::list<line> lines;
};

bulk_client::bulk_client(const tcp_bulk_options& options)
    : options_(options),
      words_(words_for(door_service::tensors, options.self, options.with->secret, options.with->tls)) {}

bulk_client::~bulk_client() { stop(); }

void bulk_client::stop() {
  if (!loop_) return;
  loop_->stop();
  std::vector<std::unique_ptr<job>> open;
  for (auto& [key, from] : peers_) {
    std::move(from->waiting.begin(), from->waiting.end(), std::back_inserter(open));
    for (auto& used : from->lines)
      if (used.open) open.push_back(std::move(used.open));
  }
  peers_.clear();
  for (auto& each : open) {
    auto problem = cancelled(each->wanted);
    finish(std::move(each), std::move(problem));
  }
}

status bulk_client::cancelled(const bulk_fetch& open) {
  return {status_code::cancelled, fmt::format("the fetch from {} ended with the bulk transport", open.from.address())};
}

void bulk_client::fetch(bulk_fetch wanted) {
  ensure_started();
  // Shared, because a std::function is copyable.
  auto shared = std::make_shared<bulk_fetch>(std::move(wanted));
  if (!loop_->post([this, shared] { enqueue(std::move(*shared)); })) shared->done(cancelled(*shared));
}

void bulk_client::ensure_started() {
  const std::scoped_lock lock{mutex_};
  if (loop_) return;
  auto loop = std::make_shared<event_loop>();
  loop->start("bulk-receive");
  loop_ = std::move(loop);
}

void bulk_client::enqueue(bulk_fetch wanted) {
  const auto key = fmt::format("{}/{}/{}", wanted.from.address(), to_string(wanted.from.offerer.process),
                               wanted.from.offerer.certified_role);
  auto& slot = peers_[key];
  if (!slot)
    slot = std::make_unique<peer>(peer{.key = key,
                                       .address = wanted.from.address(),
                                       .offerer = wanted.from.offerer,
                                       .host = wanted.from.host,
                                       .port = wanted.from.port});
  auto& from = *slot;
  auto added = std::make_unique<job>(job{.wanted = std::move(wanted)});
  added->deadline = time_after(added->wanted.limit);
  added->timer = loop_->at(added->deadline, [this, &from, late = added.get()] { expired(from, late); });
  from.waiting.push_back(std::move(added));
  dispatch(from);
  forget_if_unused(from);
}

void bulk_client::resolve_address(peer& from) {
  from.resolving = true;
  // Fetches have deadlines of their own; one that comes later may have more time than all that wait now.
  constexpr auto deadline = loop_clock::time_point::max();
  // `this` and `from` are touched only while the loop runs, and then they are there.
  look_up_name(loop_, from.host, from.port, deadline,
               [this, &from](std::vector<socket_address> addresses, const status& why) {
                 resolved(from, std::move(addresses), why);
               });
}

void bulk_client::resolved(peer& from, std::vector<socket_address> addresses, const status& problem) {
  from.resolving = false;
  from.addresses = std::move(addresses);
  if (from.addresses.empty()) {
    auto failed = std::exchange(from.waiting, {});
    for (auto& each : failed) finish(std::move(each), problem);
  }
  dispatch(from);
  forget_if_unused(from);
}

void bulk_client::dispatch(peer& from) {
  while (!from.waiting.empty()) {
    auto where = std::find_if(from.lines.begin(), from.lines.end(), [](const line& each) { return !each.open; });
    if (where == from.lines.end()) {
      if (from.lines.size() >= options_.connections_per_peer || from.resolving) return;
      if (from.addresses.empty()) return resolve_address(from);
      where = from.lines.emplace(from.lines.end());
      where->connection = std::make_unique<bulk_connection>(
          *loop_, from.address, from.offerer, from.addresses, words_,
          [this, &from, where](bulk_connection::ending how) { exchange_ended(from, where, std::move(how)); });
    }
    auto next = std::move(from.waiting.front());
    from.waiting.pop_front();
    run(where, std::move(next));
  }
}

void bulk_client::run(line_place where, std::unique_ptr<job> next) {
  loop_->cancel(where->idle_timer);
  const auto& wanted = next->wanted;
  const auto request =
      bulk_request{.secret = wanted.from.secret,
                   .number = wanted.number,
                   .size_bytes = wanted.size_bytes,
                   .part = {.offset_bytes = wanted.offset_bytes, .size_bytes = wanted.destination.size()}};
  where->connection->start(request, wanted.destination, next->deadline);
  where->open = std::move(next);
}

void bulk_client::exchange_ended(peer& from, line_place where, bulk_connection::ending how) {
  auto ended = std::move(where->open);
  const auto was_kept = where->connection->exchanges() > 1;
  if (how.reusable) {
    keep(from, where);
  } else {
    if (!was_kept) from.addresses.clear();
    close(from, where);
  }
  if (ended && how.unanswered && was_kept) {
    close_idle(from);  // they are most likely as dead as this one
    from.waiting.push_front(std::move(ended));
  }
  dispatch(from);
  forget_if_unused(from);
  if (ended) finish(std::move(ended), std::move(how.ended));
}

void bulk_client::keep(peer& from, line_place where) {
  // Half of what the peer allows, so that it is normally this end which closes.
  where->idle_timer = loop_->at(time_after(options_.stall_limit / 2), [this, &from, where] {
    close(from, where);
    forget_if_unused(from);
  });
}

void bulk_client::close(peer& from, line_place where) {
  loop_->cancel(where->idle_timer);
  from.lines.erase(where);
}

void bulk_client::close_idle(peer& from) {
  for (auto each = from.lines.begin(); each != from.lines.end();) {
    const auto where = each++;
    if (!where->open) close(from, where);
  }
}

void bulk_client::expired(peer& from, const job* late) {
  std::unique_ptr<job> ended;
  std::size_t received = 0;
  const auto queued =
      std::find_if(from.waiting.begin(), from.waiting.end(), [&](const auto& each) { return each.get() == late; });
  if (queued != from.waiting.end()) {
    ended = std::move(*queued);
    from.waiting.erase(queued);
  } else {
    const auto where =
        std::find_if(from.lines.begin(), from.lines.end(), [&](const line& each) { return each.open.get() == late; });
    ended = std::move(where->open);
    received = where->connection->received_bytes();
    close(from, where);
  }
  auto problem = status{status_code::deadline_exceeded,
                        fmt::format("{} of {} bytes of offer {} came from {} within {} ms; the peer hangs or the "
                                    "network is too slow for this limit",
                                    received, late->wanted.destination.size(), late->wanted.number, from.address,
                                    in_milliseconds(late->wanted.limit))};
  dispatch(from);
  forget_if_unused(from);
  finish(std::move(ended), std::move(problem));
}

void bulk_client::forget_if_unused(peer& from) {
  if (from.lines.empty() && from.waiting.empty() && !from.resolving) peers_.erase(std::string{from.key});
}

void bulk_client::finish(std::unique_ptr<job> ended, status how) {
  loop_->cancel(ended->timer);
  ended->wanted.done(std::move(how));
}

}  // namespace troupe
