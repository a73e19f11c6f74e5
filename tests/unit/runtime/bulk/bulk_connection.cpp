// One connection of the receiving side, to peers that have more than one address.
#include "bulk_peers.hpp"

#include <troupe/runtime/bulk/bulk_connection.hpp>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace bulk_test;

BOOST_AUTO_TEST_SUITE(bulk_connection_suite)

namespace {

/// Where nobody listens.
socket_address address_that_refuses() {
  const auto nobody = listen_on("127.0.0.1", 0);
  return resolve("127.0.0.1", bound_port(nobody.get())).front();
}

}  // namespace

/// F13: whoever has a credential and is in the way could serve any bytes.
BOOST_AUTO_TEST_CASE(bytes_are_taken_from_the_process_that_offers_them_only) {
  tcp_bulk sender;
  tcp_bulk receiver;
  const auto ticket = sender.offer(patterned(100), patience);
  auto from = bulk_endpoint::parse(ticket.endpoint);
  BOOST_TEST((from.offerer.process == process_id::of_this_process()));
  const auto end_of_fetch = [&] {
    auto destination = buffer::allocate(100);
    std::promise<status> promise;
    auto ended = promise.get_future();
    receiver.fetch({from.to_string(), ticket.number, 100}, {destination.mutable_data(), 100}, patience,
                   [&](status how) { promise.set_value(std::move(how)); });
    BOOST_REQUIRE(ended.wait_for(patience) == std::future_status::ready);
    return ended.get();
  };
  const auto true_one = from.offerer;
  from.offerer.process.bytes[3] ^= 1;
  BOOST_TEST(end_of_fetch().render().find("belongs to another process now") != std::string::npos);
  from.offerer = true_one;
  from.offerer.certified_role = "worker";
  BOOST_TEST((end_of_fetch().code() == status_code::permission_denied));
  from.offerer = true_one;
  BOOST_TEST(end_of_fetch().ok());
}

BOOST_AUTO_TEST_CASE(a_peer_of_several_addresses_is_reached_by_the_one_that_answers) {
  tcp_bulk sender;
  const auto ticket = sender.offer(patterned(100), patience);
  const auto peer = bulk_endpoint::parse(ticket.endpoint);
  auto destination = buffer::allocate(100);
  std::promise<status> promise;
  auto ended = promise.get_future();
  event_loop loop;
  bulk_connection connection{loop,
                             "the peer",
                             peer.offerer,
                             {address_that_refuses(), address_that_refuses(), resolve(peer.host, peer.port).front()},
                             words_for(door_service::tensors, {}, nullptr),
                             [&](bulk_connection::ending how) { promise.set_value(std::move(how.ended)); }};
  connection.start({.secret = peer.secret, .number = ticket.number, .size_bytes = 100, .part = {0, 100}},
                   {destination.mutable_data(), 100}, time_after(patience));
  loop.start("test");
  BOOST_REQUIRE(ended.wait_for(patience) == std::future_status::ready);
  loop.stop();
  const auto how = ended.get();
  BOOST_TEST(how.ok(), how.render());
  BOOST_TEST(is_patterned(destination));
}

BOOST_AUTO_TEST_SUITE_END()
