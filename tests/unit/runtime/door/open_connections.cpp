// Which connections count as open, and which one is closed for another.
#include "door_test.hpp"

#include <troupe/runtime/door/open_connections.hpp>

#include <boost/test/unit_test.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>

using namespace door_test;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(open_connections_suite)

namespace {

/// Both ends of a connection.
struct connection {
  explicit connection(const descriptor& listener)
      : dialled(start_connecting(resolve("127.0.0.1", bound_port(listener.get())).front())) {
    comes_true([&] {
      accepted = accept_next(listener.get());
      return static_cast<bool>(accepted);
    });
    BOOST_REQUIRE(accepted);
  }
  bool is_open() const {
    char byte = 0;
    return ::recv(dialled.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }
  std::chrono::milliseconds idle() const {
    tcp_info info = {};
    socklen_t length = sizeof(info);
    BOOST_REQUIRE(::getsockopt(accepted.get(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0);
    return std::chrono::milliseconds{std::min(info.tcpi_last_data_recv, info.tcpi_last_data_sent)};
  }

  descriptor dialled;
  descriptor accepted;
};

connection_owner client(std::string name) { return {connection_part::clients, std::move(name)}; }
connection_owner member(std::string name) { return {connection_part::members, std::move(name)}; }

/// A member and as many clients as there are places for.
struct full_of_clients {
  explicit full_of_clients(std::chrono::milliseconds idle_max)
      : open{{.most = 8, .per_peer_max = 8, .client_idle_max = idle_max}} {
    open.add(of_member.accepted.get(), member("first"));
    open.add(idle.accepted.get(), client("idle"));
    open.add(busy.accepted.get(), client("busy"));
    comes_true([&] { return idle.idle() > 50ms && of_member.idle() > 50ms; });
    BOOST_REQUIRE(::send(busy.dialled.get(), "x", 1, MSG_NOSIGNAL) == 1);
    BOOST_REQUIRE(comes_true([&] { return busy.idle() < 50ms; }));
  }

  descriptor listener = listen_on("127.0.0.1", 0);
  connection of_member{listener};
  connection idle{listener};
  connection busy{listener};
  open_connections open;
};

}  // namespace

// OC-4
BOOST_AUTO_TEST_CASE(the_client_that_has_been_idle_for_longest_gives_way) {
  full_of_clients here{0ms};
  BOOST_TEST(here.open.check_room(client("next")).ok());
  BOOST_TEST(comes_true([&] { return !here.idle.is_open(); }));
  BOOST_TEST(here.busy.is_open());
  BOOST_TEST(here.of_member.is_open());
  BOOST_TEST(here.open.size() == 2u);
}

// OC-4
BOOST_AUTO_TEST_CASE(a_client_that_has_not_been_idle_for_long_stays) {
  full_of_clients here{1h};
  BOOST_TEST((here.open.check_room(client("next")).code() == status_code::resource_exhausted));
  BOOST_TEST(here.open.check_room(member("next")).ok());
  BOOST_TEST(here.idle.is_open());
  BOOST_TEST(here.open.size() == 3u);
}

// OC-1, OC-2, OC-3: at least one for each part, and for each process, however few there are.
BOOST_AUTO_TEST_CASE(few_places_are_divided_too) {
  const auto listener = listen_on("127.0.0.1", 0);
  std::vector<connection> made;
  for (auto i = 0; i < 2; ++i) made.emplace_back(listener);
  open_connections open{{.most = 2, .per_peer_max = 8}};
  BOOST_TEST(open.check_room(client("a")).ok());
  open.add(made[0].accepted.get(), client("a"));
  BOOST_TEST(!open.check_room(client("a")).ok());
  BOOST_TEST(!open.check_room(client("b")).ok());
  BOOST_TEST(open.check_room(member("a")).ok());
  open.add(made[1].accepted.get(), member("a"));
  BOOST_TEST(!open.check_room(member("b")).ok());
  made[1].accepted.reset();
  BOOST_TEST(open.check_room(member("a")).ok());
}

BOOST_AUTO_TEST_SUITE_END()
