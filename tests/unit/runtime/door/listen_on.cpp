// At which of a name's addresses a process listens, and what it says if it can't at any.
#include "support/refusal.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(listen_on_suite)

namespace {

/// As a name is resolved to. The first ones are reserved for documentation: no machine has them.
std::vector<socket_address> addresses(const std::vector<std::string>& numbers, std::uint16_t port) {
  std::vector<socket_address> all;
  for (const auto& each : numbers) all.push_back(resolve(each, port).front());
  return all;
}

const std::string name = "machine.example";

}  // namespace

BOOST_AUTO_TEST_CASE(addresses_that_this_machine_does_not_have_are_passed_over) {
  const auto all = addresses({"2001:db8::1", "198.51.100.1", "127.0.0.1"}, 0);
  const auto made = listen_on(name, 0, all);
  BOOST_TEST(bound_port(made.get()) != 0);
}

BOOST_AUTO_TEST_CASE(the_error_names_all_addresses_and_what_was_wrong_with_each) {
  const auto all = addresses({"198.51.100.1", "203.0.113.1"}, 0);
  const auto why = message_of<invalid_argument_error>([&] { listen_on(name, 0, all); });
  BOOST_TEST(
      contains(why, "198.51.100.1: Cannot assign requested address, 203.0.113.1: Cannot assign requested address"),
      why);
  BOOST_TEST(contains(why, "expected an address of this machine"), why);
}

// Who connects to the name tries the first address first, and reaches the process that has the port there.
BOOST_AUTO_TEST_CASE(a_port_that_is_taken_at_one_address_is_not_had_at_the_next) {
  const auto taken = listen_on("127.0.0.1", 0);
  const auto port = bound_port(taken.get());
  const auto all = addresses({"198.51.100.1", "127.0.0.1", "127.0.0.2"}, port);
  const auto why = message_of<already_exists_error>([&] { listen_on(name, port, all); });
  BOOST_TEST(contains(why, "198.51.100.1: Cannot assign requested address, 127.0.0.1: Address already in use"), why);
}

BOOST_AUTO_TEST_SUITE_END()
