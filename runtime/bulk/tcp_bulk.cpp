#include <troupe/device/base/printable_text.hpp>
#include <troupe/runtime/bulk/dialled_host.hpp>
#include <troupe/runtime/bulk/tcp_bulk.hpp>
#include <troupe/runtime/door/certified_party.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace troupe {

namespace {

constexpr std::size_t threads_max = 64;
/// Of a part that is worth a thread, and what the beginnings of parts are a multiple of.
constexpr std::size_t part_min_bytes = std::size_t{4} << 20;
constexpr std::size_t part_step_bytes = 4096;

/// Some cores are for the job itself.
std::size_t threads_under_tls() { return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 4, 1, 4); }

/// A process may not have this one look up names of its choice: each can occupy the name service for half a minute.
status name_in_a_ticket(const bulk_endpoint& from) {
  constexpr std::size_t shown_bytes_max = 128;
  return {status_code::invalid_argument,
          fmt::format("the bulk ticket has the host \"{}\"; expected an IP address in numbers, since names that other "
                      "processes send are not looked up: the sender must advertise an address in numbers",
                      printable_text(from.host, shown_bytes_max))};
}

void require(bool holds, std::string_view what) {
  if (!holds) throw invalid_argument_error{fmt::format("tcp_bulk_options: {}", what)};
}

tcp_bulk_options validated(tcp_bulk_options options) {
  const auto& host = options.listen_host;
  const auto is_wildcard = host == "0.0.0.0" || host == "::" || host == "*";
  require(!host.empty() && host != "*",
          "listen_host must be an address or a name of this machine, such as \"127.0.0.1\", or \"0.0.0.0\" for all");
  require(!is_wildcard || !options.advertised_host.empty(),
          "a wildcard as listen_host needs an advertised_host, by which the other processes reach this one");
  require(is_numeric_host(advertised_host(options)),
          "advertised_host, or listen_host without one, is a name; tickets hold addresses in numbers");
  require(options.threads <= threads_max, "threads is over 64; expected a number of cores, or 0 to have it chosen");
  require(options.connections_per_peer > 0, "connections_per_peer is 0; expected at least 1");
  require(options.served_connections_max > 0, "served_connections_max is 0; expected at least 1");
  require(options.stall_limit >= std::chrono::milliseconds{1} && options.stall_limit <= std::chrono::hours{24},
          "stall_limit must lie between a millisecond and a day");
  if (!options.with) options.with = credentials::of_process();
  options.self = introduced(std::move(options.self), *options.with);
  if (!options.self.system.process) options.self.system.process = process_id::of_this_process();
  if (options.threads == 0) options.threads = options.with->tls ? threads_under_tls() : 1;
  return options;
}

/// What ends each of these parts; the last one ends the whole, with the first problem. Before, some are still written.
std::function<void(status)> joined(std::size_t parts, std::function<void(status)> done) {
  struct whole {
    std::mutex mutex;
    std::size_t open = 0;
    status ended;
    std::function<void(status)> done;
  };
  const auto all = std::make_shared<whole>();
  all->open = parts;
  all->done = std::move(done);
  return [all](status how) {
    std::unique_lock lock{all->mutex};
    if (all->ended.ok()) all->ended = std::move(how);
    if (--all->open > 0) return;
    lock.unlock();
    all->done(std::move(all->ended));
  };
}

}  // namespace

tcp_bulk::tcp_bulk(tcp_bulk_options options) : options_(validated(std::move(options))), server_(options_) {
  for (std::size_t i = 0; i < options_.threads; ++i) clients_.push_back(std::make_unique<bulk_client>(options_));
}

tcp_bulk::~tcp_bulk() {
  // Before any of them goes: what ends may fetch again.
  for (const auto& client : clients_) client->stop();
}

bulk_ticket tcp_bulk::offer(buffer content, duration lifetime) {
  const auto size_bytes = static_cast<std::uint64_t>(content.size_bytes());
  try {
    auto place = server_.offer(std::move(content), lifetime);
    return {std::move(place.endpoint), place.number, size_bytes};
  } catch (...) {
    return {refusal_endpoint(status_of(std::current_exception())), 0, size_bytes};
  }
}

void tcp_bulk::fetch(const bulk_ticket& ticket, std::span<std::byte> destination, duration limit,
                     std::function<void(status)> done) {
  if (auto refusal = refusal_in(ticket.endpoint); !refusal.ok()) return done(std::move(refusal));
  if (destination.size() != ticket.size_bytes)
    return done({status_code::invalid_argument,
                 fmt::format("a destination of {} bytes for a ticket of {}; pass one of the ticket's size",
                             destination.size(), ticket.size_bytes)});
  bulk_endpoint from;
  try {
    from = bulk_endpoint::parse(ticket.endpoint);
  } catch (const invalid_argument_error& malformed) {
    return done(malformed.get_status());
  }
  if (!is_numeric_host(from.host) && !dialled_host::is_one(from.host)) return done(name_in_a_ticket(from));
  const auto parts = std::clamp<std::size_t>(destination.size() / part_min_bytes, 1, clients_.size());
  const auto part_bytes = (destination.size() / parts + part_step_bytes - 1) / part_step_bytes * part_step_bytes;
  auto end_part = parts == 1 ? std::move(done) : joined(parts, std::move(done));
  for (std::size_t i = 0; i < parts; ++i) {
    const auto offset = i * part_bytes;
    const auto part = i + 1 < parts ? destination.subspan(offset, part_bytes) : destination.subspan(offset);
    try {
      clients_[i]->fetch({.from = from,
                          .number = ticket.number,
                          .size_bytes = ticket.size_bytes,
                          .offset_bytes = offset,
                          .destination = part,
                          .limit = limit,
                          .done = end_part});
    } catch (...) {
      end_part(status_of(std::current_exception()));
    }
  }
}

}  // namespace troupe
