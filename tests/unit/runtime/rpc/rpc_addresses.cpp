// Under which addresses servers are reached, and their tensors fetched.
#include "rpc_test.hpp"

#include <troupe/runtime/bulk/bulk_protocol.hpp>
#include <troupe/runtime/cluster/own_address.hpp>
#include <troupe/runtime/rpc/rpc_transport.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <optional>
#include <string>

#include <unistd.h>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_addresses_suite)

namespace {

std::string name_of_this_machine() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

boost::test_tools::assertion_result the_name_is_known(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result answer{!own_numbers_of(name_of_this_machine()).empty()};
  answer.message() << "skipped: this machine's name \"" << name_of_this_machine() << "\" is not one of its addresses";
  return answer;
}

/// One that only the resolver knows for an address of this machine.
constexpr auto other_name_of_loopback = "0x7f000001";

/// The process dials itself.
void find_own_server_at(const std::string& host) {
  const open_to_all insecure;
  auto server = server::create("caf", "0.0.0.0:0");
  server.register_method("seven", [] { return 7; });
  server.start();
  const auto client = client::create("caf", host + ":" + std::to_string(server.port()), {}, patience);
  BOOST_TEST(client.method<int()>("seven").blocking() == 7);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_server_of_this_process_is_found_by_the_machines_own_name,
                     *boost::unit_test::precondition(the_name_is_known)) {
  find_own_server_at(name_of_this_machine());
}

BOOST_AUTO_TEST_CASE(a_server_of_this_process_is_found_by_a_name_that_nobody_knows_for_its_own) {
  find_own_server_at(other_name_of_loopback);
}

BOOST_AUTO_TEST_CASE(a_ticket_is_redirected_to_the_address_that_was_dialled) {
  const bulk_endpoint before{.host = "a-container", .port = 4711, .secret = {std::byte{1}, std::byte{2}}};
  bulk_ticket ticket{before.to_string(), 5, 70'000};
  redirect(ticket, {"192.0.2.7", 443});
  const auto after = bulk_endpoint::parse(ticket.endpoint);
  BOOST_TEST(after.host == "192.0.2.7");
  BOOST_TEST(after.port == 443);
  BOOST_TEST((after.secret == before.secret));
  BOOST_TEST(ticket.number == 5U);
}

BOOST_AUTO_TEST_CASE(a_ticket_that_says_why_there_are_no_bytes_keeps_saying_so) {
  bulk_ticket refused{refusal_endpoint({status_code::resource_exhausted, "too much"}), 0, 1};
  bulk_ticket malformed{"nonsense", 0, 1};
  redirect(refused, {"192.0.2.7", 443});
  redirect(malformed, {"192.0.2.7", 443});
  BOOST_TEST((refusal_in(refused.endpoint).code() == status_code::resource_exhausted));
  BOOST_TEST(malformed.endpoint == "nonsense");
}

BOOST_AUTO_TEST_CASE(what_a_process_offers_is_fetched_by_its_servers_door_as_long_as_that_is_open) {
  const auto transport = transport_at({"127.0.0.1", 0});
  const auto port = [&] { return bulk_endpoint::parse(transport->offer(buffer::allocate(1), 10s).endpoint).port; };
  std::optional<tensor_door> open{std::in_place, transport, task_address{"localhost", 4711}};
  BOOST_TEST(port() == 4711);
  open.reset();
  BOOST_TEST(port() != 4711);
}

BOOST_AUTO_TEST_CASE(who_is_reached_by_other_machines_offers_nothing_by_a_door_on_loopback) {
  const open_to_all insecure;
  const auto transport = transport_at({"127.0.0.1", 0});
  const auto endpoint = [&] { return bulk_endpoint::parse(transport->offer(buffer::allocate(1), 10s).endpoint); };
  const tensor_door early{transport, {"127.0.0.1", 4711}};
  BOOST_TEST(endpoint().port == 4711);
  BOOST_TEST((transport_at({"0.0.0.0", 0}) == transport));
  BOOST_TEST(endpoint().port != 4711);
  const tensor_door late{transport, {"127.0.0.1", 4712}};
  BOOST_TEST(endpoint().port != 4712);
  const tensor_door reached{transport, {"0.0.0.0", 4713}};
  BOOST_TEST(endpoint().port == 4713);
  BOOST_TEST(is_numeric_host(endpoint().host), endpoint().host);
  const tensor_door named{transport, {other_name_of_loopback, 4714}};
  BOOST_TEST(endpoint().port == 4714);
  BOOST_TEST(is_numeric_host(endpoint().host), endpoint().host);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
