// The machine's own addresses, and whether two processes are on one host; own_address.hpp, host_identity.hpp.
#include <troupe/runtime/cluster/host_identity.hpp>
#include <troupe/runtime/cluster/own_address.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(own_address_suite)

namespace {

using numbers = std::vector<std::string>;

/// What a machine has in /proc/self, as host_identity() says it.
std::string identity(const std::string& boot, int network, int processes, int user) {
  return boot + " net:[" + std::to_string(network) + "] pid:[" + std::to_string(processes) + "] " +
         std::to_string(user);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_machine_knows_which_names_are_its_own) {
  BOOST_TEST((own_numbers_of("127.0.0.1") == numbers{"127.0.0.1"}));
  BOOST_TEST(!own_numbers_of("localhost").empty());
  BOOST_TEST(own_numbers_of("192.0.2.1").empty());
  BOOST_TEST(own_numbers_of("no such host").empty());
}

BOOST_AUTO_TEST_CASE(the_way_to_this_machine_is_loopback_and_there_is_none_to_an_unknown_name) {
  BOOST_TEST(number_towards("127.0.0.1") == "127.0.0.1");
  BOOST_TEST(number_towards("no such host") == "");
}

BOOST_AUTO_TEST_CASE(other_processes_are_given_an_address_in_numbers_whatever_this_one_is_called) {
  BOOST_TEST(advertised_number("10.1.2.3") == "10.1.2.3");
  BOOST_TEST(advertised_number("::1") == "::1");
  BOOST_TEST(advertised_number("localhost") == "127.0.0.1");
  // Nobody knows the name: this machine's number on the way to the others, or its default route.
  for (const auto& others : {numbers{}, numbers{"127.0.0.1"}, numbers{"no such host", "no such host"}}) {
    const auto chosen = advertised_number("no such host", others);
    BOOST_TEST(!own_numbers_of(chosen).empty(), chosen);
    BOOST_TEST(is_numeric_host(chosen), chosen);
  }
}

BOOST_AUTO_TEST_CASE(processes_that_differ_in_anything_that_sharing_needs_are_on_different_hosts_and_told_why) {
  const auto one = identity("8f2c", 1, 2, 0);
  BOOST_TEST(difference_of_hosts(one, one) == "");
  BOOST_TEST(difference_of_hosts(one, identity("77aa", 1, 2, 0)) == "they are on different machines");
  BOOST_TEST(difference_of_hosts(one, identity("8f2c", 9, 2, 0)) == "they are in different network namespaces");
  BOOST_TEST(difference_of_hosts(one, identity("8f2c", 1, 9, 0)) ==
             "they are in different namespaces of process numbers, as containers are");
  BOOST_TEST(difference_of_hosts(one, identity("8f2c", 1, 2, 9)) == "they belong to different users");
  BOOST_TEST(difference_of_hosts(one, one + " more") == "they are of different versions");
  BOOST_TEST(difference_of_hosts(host_identity(), host_identity()) == "");
  BOOST_TEST(host_identity().find("pid:[") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
