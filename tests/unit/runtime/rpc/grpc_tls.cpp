// The layer "grpc" under TLS: who calls, and who does not.
#include "raw_connection.hpp"
#include "support/client_hellos.hpp"
#include "support/program_log_in_memory.hpp"
#include "support/refusal.hpp"
#include "tls_test.hpp"

#include <troupe/runtime/rpc/grpc_credentials.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(grpc_tls_suite)

namespace {

status call_of(const server& there, duration limit) {
  try {
    const auto client = client::create("grpc", "localhost:" + std::to_string(there.port()), {}, limit);
    return client.method<int()>("seven").blocking() == 7 ? status{} : status{status_code::internal, "not seven"};
  } catch (const error& failed) {
    return failed.get_status();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(who_has_a_certificate_of_the_cluster_calls) {
  const auto own = certificate("worker");
  const scoped_credentials worker{with(own)};
  const auto there = serving_seven();
  BOOST_TEST(call_of(there, patience).render() == "ok");
}

BOOST_AUTO_TEST_CASE(who_has_none_or_another_one_does_not) {
  using namespace std::chrono_literals;
  const auto of_server = certificate("ps");
  const auto other_authority = certificate_authority::make("blue");
  const certificate_files foreign{other_authority, {"blue", "client"}};
  const auto expired = certificate("client", {.valid_for = -1h, .valid_since = 48h});
  const program_log_in_memory log;
  auto there = [&] {
    const scoped_credentials server_process{with(of_server)};
    return serving_seven();
  }();
  BOOST_TEST(!call_of(there, 2s).ok());
  {
    const scoped_credentials client_process{with(foreign)};
    check_error(call_of(there, 2s), status_code::deadline_exceeded,
                "certificate verify failed; the server's certificate has expired, or another authority than that of");
  }
  {
    const scoped_credentials client_process{with(expired, yesterday)};
    check_error(call_of(there, 2s), status_code::deadline_exceeded,
                "the server may not accept this process's certificate, because it has expired");
  }
  BOOST_TEST(contains(log.text(), "gRPC (ssl_transport_security.cc"), log.text());
  const auto right = certificate("client");
  const scoped_credentials client_process{with(right)};
  BOOST_TEST(call_of(there, patience).render() == "ok");
}

BOOST_AUTO_TEST_CASE(a_server_under_another_name_than_in_its_certificate_is_left) {
  using namespace std::chrono_literals;
  const auto own = certificate("worker", {.hosts = {"elsewhere.example"}});
  const scoped_credentials worker{with(own)};
  const auto there = serving_seven();
  check_error(call_of(there, 2s), status_code::deadline_exceeded,
              "the server's certificate does not name the host that this process connects to: troupe certs --host");
}

BOOST_AUTO_TEST_CASE(the_error_of_a_client_that_reaches_no_server_has_the_cause) {
  using namespace std::chrono_literals;
  const auto there = std::make_unique<server>(serving_seven());
  const auto address = there->address();
  there->stop();
  const auto why = status_of_call([&] { client::create("grpc", address, {}, 500ms); });
  check_error(why, status_code::deadline_exceeded, "the list of methods at " + address + " did not end");
  check_error(why, status_code::deadline_exceeded, "caused by unavailable: failed to connect to all addresses");
  BOOST_TEST(mentions(why, "Connection refused"), why.render());
  BOOST_TEST(!mentions(why, "certificate"), why.render());
}

BOOST_AUTO_TEST_CASE(a_certificate_of_the_same_authority_for_another_cluster_calls_nothing) {
  using namespace std::chrono_literals;
  const auto own = certificate("worker");
  const certificate_files other{authority(), {"green", "worker"}, {.hosts = {"localhost"}}};
  auto there = [&] {
    const scoped_credentials worker{with(own)};
    return serving_seven();
  }();
  const scoped_credentials client_process{with(other)};
  // The client leaves first; grpc_clusters.cpp has what the server does.
  check_error(call_of(there, 2s), status_code::deadline_exceeded,
              "the server's certificate is of the cluster \"blue\", and the client's of \"green\"");
}

BOOST_AUTO_TEST_CASE(a_client_of_tls_1_2_is_closed_and_named_in_the_log) {
  const auto own = certificate("worker");
  const scoped_credentials worker{with(own)};
  const program_log_in_memory log;
  const auto there = serving_seven();
  const auto old = connected_to(there, openssl_client_hello(TLS1_2_VERSION, TLS1_2_VERSION));
  BOOST_TEST(next_bytes(old).empty());
  BOOST_TEST(contains(log.text(), "they do not offer TLS 1.3, which this port expects"), log.text());
  const auto other = connected_to(there, "\x16\x03 and no more of a ClientHello");
  BOOST_TEST(next_bytes(other).empty());
  BOOST_TEST(contains(log.text(), "what they sent first is no ClientHello of TLS"), log.text());
}

BOOST_AUTO_TEST_CASE(a_client_hello_in_parts_is_answered) {
  const auto own = certificate("worker");
  const scoped_credentials worker{with(own)};
  const auto there = serving_seven();
  const auto hello = openssl_client_hello(TLS1_2_VERSION, TLS1_3_VERSION);
  const auto client = connected_to(there, hello.substr(0, 100));
  BOOST_TEST(!is_closed_now(client));
  BOOST_REQUIRE(::send(client.get(), hello.data() + 100, hello.size() - 100, MSG_NOSIGNAL) > 0);
  BOOST_TEST(next_bytes(client).substr(0, 2) == "\x16\x03");
}

BOOST_AUTO_TEST_CASE(a_certificate_opens_a_port_beyond_loopback) {
  const auto own = certificate("worker");
  const scoped_credentials worker{with(own)};
  auto there = server::create("grpc", "0.0.0.0:0");
  BOOST_CHECK_NO_THROW(there.start());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
