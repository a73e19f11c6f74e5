// Servers of the layer "grpc" among strangers: silent ones, too many, and more than the process has descriptors for.
#include "raw_connection.hpp"
#include "rpc_test.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(grpc_door_suite)

namespace {

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

server make_doubling_server(const std::string& address = "localhost:0") {
  auto result = server::create("grpc", address);
  result.register_method("double", [](int x) { return 2 * x; });
  result.start();
  return result;
}

int doubled(const client& by, int x) { return by.method<int(int)>("double").blocking(x); }

/// At most some more descriptors than are in use, for one scope.
class few_descriptors {
 public:
  explicit few_descriptors(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const descriptor next{::dup(STDIN_FILENO)};
    auto limited = before_;
    limited.rlim_cur = static_cast<rlim_t>(next.get()) + more;
    ::setrlimit(RLIMIT_NOFILE, &limited);
  }
  ~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  few_descriptors(const few_descriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

BOOST_AUTO_TEST_CASE(connections_that_do_not_begin_as_http2_are_closed_at_once) {
  const auto server = make_doubling_server();
  const auto other = connected_to(server, "GET / HTTP/1.1\r\n");
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(is_closed(other));
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 4s));
}

BOOST_AUTO_TEST_CASE(connections_that_say_too_little_are_closed_and_calls_go_on) {
  const auto server = make_doubling_server();
  const auto client = connect(server, "grpc");
  const auto silent = connected_to(server, "");
  const auto half = connected_to(server, preface.substr(0, 10));
  const auto no_settings = connected_to(server, preface);
  BOOST_TEST(is_closed(silent));
  BOOST_TEST(is_closed(half));
  BOOST_TEST(is_closed(no_settings));
  BOOST_TEST(doubled(client, 4) == 8);
}

BOOST_AUTO_TEST_CASE(clients_are_served_while_300_strangers_say_nothing) {
  const auto server = make_doubling_server();
  const auto before = connect(server, "grpc");
  std::vector<descriptor> silent;
  for (auto i = 0; i < 300; ++i) silent.push_back(connected_to(server, ""));
  const auto after = connect(server, "grpc");
  BOOST_TEST(doubled(before, 1) == 2);
  BOOST_TEST(doubled(after, 2) == 4);
}

// gRPC's own listener answers nobody after this.
BOOST_AUTO_TEST_CASE(a_server_that_has_run_out_of_descriptors_serves_again) {
  const auto server = make_doubling_server();
  const auto before = connect(server, "grpc");
  {
    const few_descriptors few{100};
    std::vector<descriptor> silent;
    while (auto next = connected_to(server.port())) silent.push_back(std::move(next));
    BOOST_TEST(silent.size() > 40u);
    // Those that have no descriptor at the server give theirs to newer ones.
    BOOST_TEST(is_closed(silent.front()));
    BOOST_TEST(doubled(before, 1) == 2);
  }
  BOOST_TEST(doubled(before, 2) == 4);
  BOOST_TEST(doubled(connect(server, "grpc"), 3) == 6);
}

BOOST_AUTO_TEST_CASE(where_it_cannot_listen_the_reason_is_told) {
  const auto first = make_doubling_server();
  const auto taken = fmt::format("127.0.0.1:{}", first.port());
  const auto in_use = status_of_call([&] { make_doubling_server(taken); });
  check_error(in_use, status_code::unavailable, "can't listen on " + taken);
  BOOST_TEST(mentions(in_use, "Address already in use"), in_use.render());
  const auto elsewhere = status_of_call([] { make_doubling_server("192.0.2.1:0"); });
  check_error(elsewhere, status_code::unavailable, "can't listen on 192.0.2.1:0");
  BOOST_TEST(mentions(elsewhere, "expected an address of this machine"), elsewhere.render());
}

BOOST_AUTO_TEST_CASE(a_server_at_all_addresses_is_refused_unless_all_may_call_it) {
  check_error(status_of_call([] { make_doubling_server("0.0.0.0:0"); }), status_code::permission_denied,
              "TROUPE_INSECURE=1");
}

BOOST_AUTO_TEST_CASE(a_server_at_all_addresses_takes_its_port_there_as_a_whole) {
  const open_to_all insecure;
  const auto everywhere = make_doubling_server("0.0.0.0:0");
  const auto again = fmt::format("0.0.0.0:{}", everywhere.port());
  check_error(status_of_call([&] { make_doubling_server(again); }), status_code::unavailable, "already in use");
  const auto one = fmt::format("127.0.0.1:{}", everywhere.port());
  check_error(status_of_call([&] { make_doubling_server(one); }), status_code::unavailable, "already in use");
  BOOST_TEST(doubled(client::create("grpc", one, "", patience), 5) == 10);
}

BOOST_AUTO_TEST_CASE(a_server_at_all_addresses_is_reached_by_ipv6_too, *boost::unit_test::precondition(there_is_ipv6)) {
  const open_to_all insecure;
  const auto server = make_doubling_server("0.0.0.0:0");
  const auto by_ipv6 = client::create("grpc", fmt::format("[::1]:{}", server.port()), "", patience);
  BOOST_TEST(doubled(by_ipv6, 6) == 12);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
