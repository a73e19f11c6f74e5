#include <troupe/runtime/bulk/tcp_bulk.hpp>
#include <troupe/runtime/door/certified_party.hpp>

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace troupe {

namespace {

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
  require(options.connections_per_peer > 0, "connections_per_peer is 0; expected at least 1");
  require(options.served_connections_max > 0, "served_connections_max is 0; expected at least 1");
  require(options.stall_limit >= std::chrono::milliseconds{1} && options.stall_limit <= std::chrono::hours{24},
          "stall_limit must lie between a millisecond and a day");
  if (!options.with) options.with = credentials::of_process();
  options.self = introduced(std::move(options.self), *options.with);
  return options;
}

}  // namespace

tcp_bulk::tcp_bulk(tcp_bulk_options options)
    : options_(validated(std::move(options))), server_(options_), client_(options_) {}

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
  try {
    client_.fetch({bulk_endpoint::parse(ticket.endpoint), ticket.number, destination, limit, done});
  } catch (...) {
    done(status_of(std::current_exception()));
  }
}

}  // namespace troupe
