#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/publish.hpp>
#include <troupe/runtime/door/client_hello.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/rpc/grpc_credentials.hpp>
#include <troupe/runtime/rpc/grpc_door.hpp>
#include <troupe/runtime/rpc/grpc_messages.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace troupe::rpc {

namespace {

using external_connection = ::grpc::ServerBuilder::experimental_type::ExternalConnectionType;

/// With this every client of HTTP/2 begins (RFC 9113, 3.4).
constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

first_words::judgement judge_preface(std::span<const std::byte> peeked) {
  const auto compared = std::min(peeked.size(), preface.size());
  if (std::memcmp(peeked.data(), preface.data(), compared) != 0) return first_words::verdict::refuse;
  return compared == preface.size() ? first_words::verdict::welcome : first_words::verdict::wait_for_more;
}

first_words::judgement judge_client_hello(std::span<const std::byte> peeked) {
  switch (read_client_hello(peeked)) {
    case client_hello_kind::incomplete:
      return first_words::verdict::wait_for_more;
    case client_hello_kind::with_tls_1_3:
      return first_words::verdict::welcome;
    case client_hello_kind::without_tls_1_3:
      return {first_words::verdict::refuse, "they do not offer TLS 1.3, which this port expects"};
    case client_hello_kind::malformed:
      break;
  }
  return {first_words::verdict::refuse, "what they sent first is no ClientHello of TLS, which this port expects"};
}

}  // namespace

grpc_door::grpc_door(::grpc::ServerBuilder& builder)
    : with_(credentials::of_process()),
      server_end_(builder.experimental().AddExternalConnectionAcceptor(external_connection::FROM_FD,
                                                                       grpc_server_credentials(*with_))) {
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, grpc_milliseconds(grpc_handshakes::timeout));
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 1);  // for the list that grpc_handshakes reads
}

void grpc_door::open(const task_address& at, std::chrono::nanoseconds silence_max) {
  silence_max_ms_ = static_cast<unsigned>(grpc_milliseconds(silence_max));
  const auto host = at.host == "localhost" ? "127.0.0.1" : listen_address(at.host);
  check_may_listen_for_grpc(*with_, host);
  if (with_->tls) handshakes_.emplace(fmt::format("gRPC at {}", to_string(at)));
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
  if (handshakes_ && !handshakes_->add(connection.get())) return;
  // As gRPC does with what it accepts itself.
  end_when_unreachable(connection.get(), std::chrono::milliseconds{silence_max_ms_});
  ::grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters accepted;
  accepted.fd = connection.release();
  server_end_->HandleNewConnection(&accepted);
}

}  // namespace troupe::rpc
