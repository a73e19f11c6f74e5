#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/publish.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/rpc/grpc_credentials.hpp>
#include <troupe/runtime/rpc/grpc_door.hpp>
#include <troupe/runtime/rpc/grpc_messages.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace troupe::rpc {

namespace {

using external_connection = ::grpc::ServerBuilder::experimental_type::ExternalConnectionType;

/// With this every client of HTTP/2 begins (RFC 9113, 3.4).
constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// A record of TLS that begins a handshake (RFC 8446, 5.1).
constexpr std::string_view handshake_record = "\x16\x03";
/// How long a client may take from there to its settings.
constexpr std::chrono::seconds settings_limit{5};

first_words::verdict judge(std::span<const std::byte> peeked, std::string_view expected) {
  const auto compared = std::min(peeked.size(), expected.size());
  if (std::memcmp(peeked.data(), expected.data(), compared) != 0) return first_words::verdict::refuse;
  return compared == expected.size() ? first_words::verdict::welcome : first_words::verdict::wait_for_more;
}

first_words::verdict judge_preface(std::span<const std::byte> peeked) { return judge(peeked, preface); }

/// gRPC's own handshake, which has a limit, judges the rest.
first_words::verdict judge_client_hello(std::span<const std::byte> peeked) { return judge(peeked, handshake_record); }

}  // namespace

grpc_door::grpc_door(::grpc::ServerBuilder& builder)
    : with_(credentials::of_process()),
      server_end_(builder.experimental().AddExternalConnectionAcceptor(external_connection::FROM_FD,
                                                                       grpc_server_credentials(*with_))) {
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, grpc_milliseconds(settings_limit));
}

void grpc_door::open(const task_address& at, std::chrono::nanoseconds silence_max) {
  silence_max_ms_ = static_cast<unsigned>(grpc_milliseconds(silence_max));
  const auto host = at.host == "localhost" ? "127.0.0.1" : listen_address(at.host);
  check_may_listen_for_grpc(*with_, host);
  try {
    acceptor_ =
        open_acceptor(host, at.port,
                      first_words::receive(with_->tls ? judge_client_hello : judge_preface,
                                           [this](descriptor connection) { hand_over(std::move(connection)); }));
  } catch (const error& failed) {
    throw unavailable_error{fmt::format("can't listen on {}: {}", to_string(at), failed.message())};
  }
}

void grpc_door::hand_over(descriptor connection) {
  // As gRPC does with what it accepts itself.
  ::setsockopt(connection.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_max_ms_, sizeof(silence_max_ms_));
  ::grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters accepted;
  accepted.fd = connection.release();
  server_end_->HandleNewConnection(&accepted);
}

}  // namespace troupe::rpc
