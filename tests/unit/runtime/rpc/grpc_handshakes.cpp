// Many TLS handshakes at a server of the layer "grpc": GH-1.
#include "raw_connection.hpp"
#include "support/client_hellos.hpp"
#include "support/program_log_in_memory.hpp"
#include "support/refusal.hpp"
#include "tls_test.hpp"

#include <troupe/runtime/rpc/grpc_handshakes.hpp>
#include <troupe/runtime/rpc/grpc_library.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/ssl.h>
#include <sys/time.h>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(grpc_handshakes_suite)

namespace {

/// A client of HTTP/2 under TLS that makes no call.
class idle_client {
 public:
  idle_client(const server& whom, const tls_files& files, const std::string& host = "127.0.0.1")
      : socket_(connected_to(whom.port(), host)) {
    const timeval limit{std::chrono::seconds{patience}.count(), 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    ::SSL_CTX_use_certificate_chain_file(context_.get(), files.certificate.c_str());
    ::SSL_CTX_use_PrivateKey_file(context_.get(), files.key.c_str(), SSL_FILETYPE_PEM);
    session_.reset(::SSL_new(context_.get()));
    ::SSL_set_fd(session_.get(), socket_.get());
    ::SSL_set_alpn_protos(session_.get(), reinterpret_cast<const unsigned char*>("\2h2"), 3);
    BOOST_REQUIRE(::SSL_connect(session_.get()) == 1);
    send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    send({"\0\0\0\4\0\0\0\0\0", 9});  // settings
    BOOST_REQUIRE(answers());
  }

  /// Whether the server answers a ping.
  bool answers() {
    pollfd watched{socket_.get(), POLLRDHUP, 0};
    if (::poll(&watched, 1, 0) != 0) return false;  // it is closed, and OpenSSL would raise SIGPIPE
    send({"\0\0\10\6\0\0\0\0\0any data", 17});
    constexpr std::string_view answer{"\0\0\10\6\1\0\0\0\0any data", 17};
    for (std::string received;;) {
      std::array<char, 4096> bytes{};
      const auto count = ::SSL_read(session_.get(), bytes.data(), bytes.size());
      if (count <= 0) return false;
      received.append(bytes.data(), static_cast<std::size_t>(count));
      if (received.find(answer) != std::string::npos) return true;
    }
  }

 private:
  void send(std::string_view bytes) { ::SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size())); }

  const descriptor socket_;
  const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_{::SSL_CTX_new(::TLS_client_method()),
                                                                     &::SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&::SSL_free)> session_{nullptr, &::SSL_free};
};

/// Connections whose handshakes the server has answered, and which send nothing more.
std::vector<descriptor> begin_handshakes(const server& whom, std::size_t count) {
  const auto hello = openssl_client_hello(TLS1_3_VERSION, TLS1_3_VERSION);
  std::vector<descriptor> result;
  for (; count > 0; --count) {
    result.push_back(connected_to(whom, hello));
    BOOST_REQUIRE(!next_bytes(result.back()).empty());
  }
  return result;
}

constexpr auto most = grpc_handshakes::handshakes_max;

/// A server at all addresses sees an address of IPv4 inside one of IPv6.
void check_that_it_is_not_replaced(const std::string& listens_at, const std::string& host) {
  const auto own = certificate("worker");
  const scoped_credentials worker{with(own)};
  const auto there = serving_seven(listens_at);
  idle_client idle{there, own.files(), host};
  begin_handshakes(there, most + 20);
  BOOST_TEST(idle.answers(), listens_at << " and " << host);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_oldest_of_too_many_handshakes_is_closed_and_clients_are_served) {
  const auto own = certificate("worker");
  const scoped_credentials worker{with(own)};
  const program_log_in_memory log;
  const auto there = serving_seven();
  const auto begin = std::chrono::steady_clock::now();
  const auto handshakes = begin_handshakes(there, most + 20);
  BOOST_TEST(is_closed(handshakes.front()));
  BOOST_TEST(is_closed(handshakes.at(19)));
  const auto newest_is_closed = is_closed_now(handshakes.back());
  if (std::chrono::steady_clock::now() - begin < grpc_handshakes::timeout) BOOST_TEST(!newest_is_closed);
  BOOST_TEST(contains(log.text(), "their TLS handshakes were not over when others needed their places"), log.text());
  BOOST_TEST(connect(there, "grpc").method<int()>("seven").blocking() == 7);
}

BOOST_AUTO_TEST_CASE(a_connection_whose_handshake_is_over_is_not_closed_for_a_new_one) {
  check_that_it_is_not_replaced("127.0.0.1:0", "127.0.0.1");
  check_that_it_is_not_replaced("0.0.0.0:0", "127.0.0.1");
}

BOOST_AUTO_TEST_CASE(nor_is_one_by_ipv6, *boost::unit_test::precondition(there_is_ipv6)) {
  check_that_it_is_not_replaced("0.0.0.0:0", "::1");
}

// gRPC has no part in this: the sockets stay open until the test closes them.
BOOST_AUTO_TEST_CASE(while_replaced_connections_are_not_closed_a_new_one_is_refused) {
  keep_grpc_started();
  grpc_handshakes handshakes{"a port"};
  std::vector<descriptor> sockets;
  const auto add = [&] {
    sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return handshakes.add(sockets.back().get());
  };
  for (std::size_t i = 0; i < 2 * most; ++i) BOOST_TEST_REQUIRE(add());
  BOOST_TEST(!add());
  sockets.front().reset();
  BOOST_TEST(add());
  BOOST_TEST(!add());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
