// Dials at listeners on loopback that are no troupe: what becomes of the connections; basp_dialer.hpp.
#include <troupe/runtime/cluster/dialer.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/door/conversation.hpp>
#include <troupe/runtime/sockets/socket.hpp>
#include <troupe/runtime/system_config.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include <poll.h>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(basp_dialer_suite)

namespace {

/// Longer than anything here takes, so that a hang fails instead of hanging.
constexpr auto patience = 20s;

dialer_actor::behavior_type impatient_dialer(dialer_actor::stateful_pointer<network_dialer_state> self) {
  auto& dials = self->state.dials.emplace(self, links_of(self->system()), dial_options{.dial_limit = 200ms});
  return {
      [self, &dials](dial_atom, const std::string& host, std::uint16_t port) {
        return answer_dial<member_actor>(self, dials, {host, port}, "member");
      },
      [](hang_up_atom, const caf::node_id&) {},
  };
}

bool becomes_readable(const descriptor& socket) {
  pollfd watched{socket.get(), POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(std::chrono::milliseconds{patience}.count())) > 0;
}

/// True when the peer ends the connection; what it says before that does not matter.
bool is_closed_by_peer(const descriptor& connection) {
  std::array<std::byte, 1024> said{};
  while (becomes_readable(connection))
    if (receive_some(connection.get(), said).broken) return true;
  return false;
}

struct world {
  system_config config{true};
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  dialer_actor dials = system.spawn(impatient_dialer);
  descriptor listener = listen_on("127.0.0.1", 0);

  /// How a dial ends while the listener, with the connection in hand, does `meanwhile`.
  template <class Work>
  status dial(Work meanwhile) {
    auto asked = self->request(dials, patience, dial_atom_v, std::string{"127.0.0.1"}, bound_port(listener.get()));
    const auto connected = becomes_readable(listener);
    BOOST_TEST_REQUIRE(connected);
    meanwhile(accept_next(listener.get()));
    status outcome;
    asked.receive([](const member_actor&) {}, [&](const caf::error& failed) { outcome = status_of(failed); });
    return outcome;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_connection_to_a_listener_that_says_nothing_is_closed_when_the_limit_has_passed, world) {
  // More than one, as each new attempt to reach a member is.
  for (auto attempt = 0; attempt < 3; ++attempt) {
    descriptor silent;
    const auto outcome = dial([&](descriptor connection) { silent = std::move(connection); });
    BOOST_TEST(to_string(outcome.code()) == "deadline_exceeded", outcome.render());
    BOOST_TEST_REQUIRE(is_closed_by_peer(silent));
  }
}

/// Lets a visitor in.
void talk_as_host(const descriptor& connection) {
  conversation talk{
      std::make_unique<host_handshake>(peer_identity{}, nullptr, [](const door_hello&) { return status{}; }),
      tls_session::side::host, nullptr};
  while (talk.go_on(connection.get()) == conversation::progress::waits)
    BOOST_TEST_REQUIRE(becomes_readable(connection));
  BOOST_TEST(talk.side().result().ok());
}

// Behind a door, too, nobody is believed.
BOOST_FIXTURE_TEST_CASE(a_greeting_that_announces_nothing_or_too_much_ends_the_connection_and_not_the_process, world) {
  for (const auto size : {std::uint32_t{0}, std::uint32_t{0xffffffff}})
    for (char operation = 0; operation <= 5; ++operation) {
      std::array<std::byte, 32> header{};
      header[0] = static_cast<std::byte>(operation);
      for (auto i = 0; i < 4; ++i) header[static_cast<std::size_t>(4 + i)] = static_cast<std::byte>(size >> 24);
      header[15] = std::byte{3};  // of the protocol
      descriptor other;
      const auto outcome = dial([&](descriptor connection) {
        other = std::move(connection);
        talk_as_host(other);
        send_some(other.get(), header);
      });
      BOOST_TEST(!outcome.ok());
      BOOST_TEST_REQUIRE(is_closed_by_peer(other));
    }
}

BOOST_AUTO_TEST_SUITE_END()
