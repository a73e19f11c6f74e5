// Links that are slow, each direction by itself: how late a byte is, how many pass, and that all arrive, whatever else
// happens to the link. Lower bounds are what was asked for; upper ones are generous, since machines are busy.
#include "host_sockets.hpp"

#include <troupe/device/base/error.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(slow_links_suite, *boost::unit_test::precondition(links_can_be_slow))

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using bytes = std::vector<std::byte>;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

double in_ms(nanoseconds time) { return std::chrono::duration<double, std::milli>{time}.count(); }

void require_at_least(nanoseconds time, nanoseconds least) { BOOST_TEST(in_ms(time) >= in_ms(least)); }
void require_less(nanoseconds time, nanoseconds than) { BOOST_TEST(in_ms(time) < in_ms(than)); }

/// Of which no part is like another.
bytes numbered(std::size_t size) {
  bytes result(size);
  std::uint32_t state = 1;
  for (auto& each : result) {
    state = state * 1'664'525 + 1'013'904'223;
    each = static_cast<std::byte>(state >> 24);
  }
  return result;
}

/// Sends all while this thread does something else.
std::jthread sending(const descriptor& from, const bytes& content) {
  return std::jthread{[&] { send_all(from, content); }};
}

nanoseconds time_of(std::size_t size, const descriptor& from, const descriptor& to) {
  const auto content = numbered(size);
  bytes arrived(size);
  const auto begin = steady_clock::now();
  const auto sender = sending(from, content);
  BOOST_REQUIRE(receive_all(to, arrived) == size);
  const auto took = steady_clock::now() - begin;
  BOOST_TEST((arrived == content));
  return took;
}

bool has_come(const descriptor& socket, std::chrono::milliseconds within) {
  pollfd watched{socket.get(), POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(within.count())) == 1;
}

}  // namespace

// --- latency --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(each_direction_is_late_by_itself_until_it_is_healed) {
  host_network network{2};
  const auto [one, other] = connect_hosts(network, 0, 1);
  network.slow(0, 1, {.latency = 50ms});
  require_at_least(least_time_of_a_byte(one, other), 50ms);
  require_less(least_time_of_a_byte(one, other), 100ms);
  require_less(least_time_of_a_byte(other, one), 50ms);
  network.slow(1, 0, {.latency = 80ms});
  require_at_least(least_time_of_a_byte(one, other), 50ms);
  require_at_least(least_time_of_a_byte(other, one), 80ms);
  require_less(least_time_of_a_byte(other, one), 130ms);
  network.unslow(0, 1);
  require_less(least_time_of_a_byte(one, other), 50ms);
  require_at_least(least_time_of_a_byte(other, one), 80ms);
  network.unslow(1, 0);
  require_less(least_time_of_a_byte(other, one), 50ms);
}

BOOST_AUTO_TEST_CASE(links_with_other_hosts_are_as_fast_as_ever) {
  host_network network{3};
  network.slow(0, 1, {.latency = 200ms});
  const auto [one, other] = connect_hosts(network, 0, 2);
  require_less(least_time_of_a_byte(one, other), 200ms);
  const auto [third, second] = connect_hosts(network, 2, 1);
  require_less(least_time_of_a_byte(third, second), 200ms);
}

BOOST_AUTO_TEST_CASE(what_is_said_again_replaces_what_was_said_before) {
  host_network network{2};
  const auto [one, other] = connect_hosts(network, 0, 1);
  network.slow(0, 1, {.latency = 300ms});
  require_at_least(time_of_a_byte(one, other), 300ms);
  network.slow(0, 1, {.latency = 20ms});
  const auto less = least_time_of_a_byte(one, other);
  require_at_least(less, 20ms);
  require_less(less, 300ms);
  network.slow(0, 1, {});
  require_less(least_time_of_a_byte(one, other), 20ms);
}

BOOST_AUTO_TEST_CASE(jitter_is_drawn_anew_each_time) {
  host_network network{2};
  const auto [one, other] = connect_hosts(network, 0, 1);
  network.slow(0, 1, {.latency = 20ms, .jitter = 40ms});
  std::vector<nanoseconds> times;
  for (int i = 0; i < 30; ++i) times.push_back(time_of_a_byte(one, other));
  std::sort(times.begin(), times.end());
  BOOST_TEST_MESSAGE("from " << in_ms(times.front()) << " to " << in_ms(times.back()) << " ms");
  require_at_least(times.front(), 20ms);
  // That all draws are in one half has a probability of 2e-9.
  require_less(times.front(), 40ms);
  require_at_least(times.back(), 40ms);
  require_less(times[times.size() / 2], 100ms);
}

BOOST_AUTO_TEST_CASE(a_direction_keeps_its_order_also_when_its_slowness_changes) {  // L-1
  // So few that all of them, which may arrive at once, have room in the receiver's queue.
  constexpr int all = 100;
  constexpr std::uint16_t port = 7200;
  host_network network{2};
  const auto from = socket_on(network, 0, SOCK_DGRAM);
  const auto to = bound_socket_on(network, 1, SOCK_DGRAM, port);
  network.slow(0, 1, {.latency = 100ms, .jitter = 50ms});
  connect_to(from, host_network::address(1), port);
  for (int number = 0; number < all; ++number) {
    if (number == all / 2) network.slow(0, 1, {.jitter = 1ms});
    BOOST_REQUIRE(::send(from.get(), &number, sizeof(number), 0) == sizeof(number));
  }
  for (int expected = 0; expected < all; ++expected) {
    int number = -1;
    BOOST_REQUIRE(::recv(to.get(), &number, sizeof(number), 0) == sizeof(number));
    BOOST_REQUIRE(number == expected);
  }
}

// --- bytes per second -----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(no_more_passes_than_that_and_not_much_less) {
  constexpr std::uint64_t rate = 4'000'000;
  host_network network{2};
  const auto [one, other] = connect_hosts(network, 0, 1);
  network.slow(0, 1, {.bytes_per_second = rate});
  const auto took = time_of(2 * mebibyte, one, other);
  BOOST_TEST_MESSAGE("at 4 MB/s 2 MiB took " << in_ms(took) << " ms");
  require_at_least(took, 524ms);
  require_less(took, 3s);
  // The other direction only lacks speed for what says that all has come.
  require_less(std::min(time_of(2 * mebibyte, other, one), time_of(2 * mebibyte, other, one)), 524ms);
  network.unslow(0, 1);
  require_less(std::min(time_of(2 * mebibyte, one, other), time_of(2 * mebibyte, one, other)), 524ms);
}

BOOST_AUTO_TEST_CASE(a_bottleneck_far_away_is_filled_nevertheless) {
  host_network network{2};
  const link_slowness far{.latency = 30ms, .jitter = 5ms, .bytes_per_second = 4'000'000};
  network.slow(0, 1, far);
  network.slow(1, 0, far);
  // TCP that has seen a short way to the other host sends little at once over a long one.
  const auto [one, other] = connect_hosts(network, 0, 1);
  const auto took = time_of(4 * mebibyte, one, other);
  BOOST_TEST_MESSAGE("at 4 MB/s and 65 ms to and fro 4 MiB took " << in_ms(took) << " ms");
  require_at_least(took, 1'048ms);
  require_less(took, 6s);
}

BOOST_AUTO_TEST_CASE(what_a_bottleneck_can_not_keep_is_lost) {  // L-3
  constexpr std::uint16_t port = 7200;
  constexpr int sent = 200;
  const bytes datagram(1'400);
  host_network network{2};
  const auto from = socket_on(network, 0, SOCK_DGRAM);
  const auto to = bound_socket_on(network, 1, SOCK_DGRAM, port);
  network.slow(0, 1, {.bytes_per_second = 100'000});
  connect_to(from, host_network::address(1), port);
  const auto begin = steady_clock::now();
  for (int i = 0; i < sent; ++i) BOOST_REQUIRE(::send(from.get(), datagram.data(), datagram.size(), 0) == 1'400);
  bytes arrived(2'000);
  auto count = 0;
  while (has_come(to, 1s)) {
    BOOST_REQUIRE(::recv(to.get(), arrived.data(), arrived.size(), 0) == 1'400);
    ++count;
  }
  const auto took = steady_clock::now() - begin - 1s;
  BOOST_TEST_MESSAGE(count << " of " << sent << " datagrams arrived within " << in_ms(took) << " ms");
  // 64 KiB wait, and more go on meanwhile if the machine is slow.
  BOOST_TEST(count >= 40);
  BOOST_TEST(count < sent);
  require_at_least(took, nanoseconds{count * 14ms});
}

// --- connections, and other faults of the link ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_connection_goes_on_with_all_its_bytes_when_its_link_becomes_slow_and_is_healed) {
  host_network network{2};
  const auto [one, other] = connect_hosts(network, 0, 1);
  const auto content = numbered(16 * mebibyte);
  bytes arrived(content.size());
  const std::span into{arrived};
  const auto sender = sending(one, content);
  const auto receive_quarter = [&, other_end = &other](std::size_t number) {
    const auto size = content.size() / 4;
    BOOST_REQUIRE(receive_all(*other_end, into.subspan(number * size, size)) == size);
  };
  receive_quarter(0);
  network.slow(0, 1, {.latency = 20ms, .jitter = 10ms});
  network.slow(1, 0, {.latency = 20ms});
  receive_quarter(1);
  network.slow(0, 1, {.latency = 5ms, .bytes_per_second = 20'000'000});
  receive_quarter(2);
  network.unslow(0, 1);
  network.unslow(1, 0);
  receive_quarter(3);
  BOOST_TEST((arrived == content));
  require_less(least_time_of_a_byte(one, other), 20ms);
}

BOOST_AUTO_TEST_CASE(a_slow_link_is_cut_and_is_slow_again_after_it_is_healed) {
  host_network network{2};
  const auto [one, other] = connect_hosts(network, 0, 1);
  network.slow(0, 1, {.latency = 60ms});
  network.slow(1, 0, {.latency = 60ms});
  const auto require_cut = [&, from = &one, to = &other](auto cut, auto heal) {
    cut();
    send_all(*from, bytes(1));
    BOOST_TEST(!has_come(*to, 400ms));
    heal();
    bytes late(1);
    BOOST_TEST(receive_all(*to, late) == 1);
    require_at_least(least_time_of_a_byte(*from, *to), 60ms);
    require_at_least(least_time_of_a_byte(*to, *from), 60ms);
  };
  require_cut([&] { network.drop(0, 1); }, [&] { network.pass(0, 1); });
  require_cut([&] { network.cut(1); }, [&] { network.heal(1); });
  require_cut([&] { network.switch_off(0); }, [&] { network.switch_on(0); });
  network.drop(0, 1);
  network.unslow(0, 1);
  send_all(one, bytes(1));
  BOOST_TEST(!has_come(other, 300ms));
  network.pass(0, 1);
  bytes late(1);
  BOOST_TEST(receive_all(other, late) == 1);
  require_less(least_time_of_a_byte(one, other), 60ms);
}

BOOST_AUTO_TEST_CASE(connections_over_a_slow_link_are_reset_and_silenced) {
  host_network network{2};
  network.slow(0, 1, {.latency = 30ms});
  network.slow(1, 0, {.latency = 30ms});
  {
    const auto [one, other] = connect_hosts(network, 0, 1);
    network.reset(0, 1);
    for (const auto* end : {&one, &other}) {
      bytes nothing(1);
      BOOST_TEST(::recv(end->get(), nothing.data(), 1, 0) == -1);
      BOOST_TEST((errno == ECONNRESET || errno == ECONNABORTED));
    }
  }
  const auto [one, other] = connect_hosts(network, 0, 1);
  network.silence(0, 1);
  send_all(one, bytes(1));
  send_all(other, bytes(1));
  BOOST_TEST(!has_come(other, 500ms));
  BOOST_TEST(!has_come(one, 0ms));
  const auto anew = connect_hosts(network, 1, 0);
  require_at_least(least_time_of_a_byte(anew.one, anew.other), 30ms);
}

BOOST_AUTO_TEST_CASE(a_slow_link_hangs_on_a_cable_that_is_narrow) {
  host_network network{2};
  network.limit(0, "40mbit");
  network.slow(0, 1, {.latency = 10ms});
  const auto [one, other] = connect_hosts(network, 0, 1);
  require_at_least(time_of(2 * mebibyte, one, other), 380ms);
  require_at_least(least_time_of_a_byte(one, other), 10ms);
}

BOOST_AUTO_TEST_CASE(a_host_that_mistrusts_answers_from_elsewhere_takes_them_over_slow_links) {
  host_network network{2};
  for (int host = 0; host < 2; ++host)
    run_on_host(network, host, "for each in all uplink; do echo 1 >/proc/sys/net/ipv4/conf/$each/rp_filter; done");
  network.slow(0, 1, {.latency = 10ms});
  network.slow(1, 0, {.latency = 10ms});
  const auto [one, other] = connect_hosts(network, 0, 1);
  require_at_least(least_time_of_a_byte(one, other), 10ms);
  require_at_least(least_time_of_a_byte(other, one), 10ms);
}

BOOST_AUTO_TEST_CASE(a_link_behind_a_translation_of_addresses_is_slow) {
  host_network network{2};
  if (!translates(network, 1, 0)) return;
  network.slow(1, 0, {.latency = 30ms});
  network.slow(0, 1, {.latency = 30ms});
  const auto [one, other] = connect_hosts(network, 1, 0, host_network::outer_address(0));
  require_at_least(least_time_of_a_byte(one, other), 30ms);
  require_at_least(least_time_of_a_byte(other, one), 30ms);
  time_of(mebibyte, one, other);
}

// --- limits ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_no_link_can_be_is_refused) {
  host_network network{2};
  BOOST_CHECK_THROW(network.slow(0, 1, {.latency = -1ms}), invalid_argument_error);
  BOOST_CHECK_THROW(network.slow(0, 1, {.jitter = -1ms}), invalid_argument_error);
  BOOST_CHECK_THROW(network.slow(1, 1, {}), invalid_argument_error);
  BOOST_CHECK_THROW(network.unslow(0, 1), internal_error);
}

BOOST_AUTO_TEST_CASE(the_end_waits_for_nothing_that_is_under_way) {
  const auto begin = steady_clock::now();
  {
    host_network network{2};
    const auto [one, other] = connect_hosts(network, 0, 1);
    for (const auto latency : {duration{10min}, duration::max()}) {
      network.slow(0, 1, {.latency = latency, .jitter = latency});
      send_all(one, bytes(1));
    }
    BOOST_TEST(!has_come(other, 200ms));
  }
  require_less(steady_clock::now() - begin, 10s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
