// What becomes of one connection at a door: handed over, refused, or closed because it does not speak in time.
#include "door_test.hpp"
#include "support/program_log_in_memory.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/door/refusals.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <semaphore>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

using namespace door_test;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(acceptor_suite)

namespace {

std::string read_some(const descriptor& connection) {
  std::array<char, 100> bytes{};
  const auto count = ::recv(connection.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

/// The threads of this process with this name.
int threads_named(const std::string& name) {
  auto count = 0;
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::string found;
    std::getline(std::ifstream{thread.path() / "comm"}, found);
    if (found == name) ++count;
  }
  return count;
}

first_words::verdict wait_for_ever(std::span<const std::byte>) { return first_words::verdict::wait_for_more; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_connection_is_handed_over_non_blocking_with_its_first_words_unread) {
  host open;
  visitor guest{open, "HELLO\nand more"};
  BOOST_REQUIRE(comes_true([&] { return open.taken() == 1; }));
  const auto taken = open.first();
  BOOST_TEST(read_some(taken) == "HELLO\nand more");
  BOOST_TEST((::fcntl(taken.get(), F_GETFL) & O_NONBLOCK) != 0);
  BOOST_TEST((::fcntl(taken.get(), F_GETFD) & FD_CLOEXEC) != 0);
  BOOST_TEST(guest.is_open());
  BOOST_TEST(open.counts().accepted == 1u);
  BOOST_TEST(open.counts().welcomed == 1u);
}

BOOST_AUTO_TEST_CASE(both_ends_of_a_connection_find_out_that_the_other_host_has_gone) {
  const auto option = [](const descriptor& of, int level, int name) {
    auto value = 0;
    socklen_t length = sizeof(value);
    BOOST_TEST(::getsockopt(of.get(), level, name, &value, &length) == 0);
    return value;
  };
  const auto check = [&](const descriptor& of) {
    BOOST_TEST(option(of, SOL_SOCKET, SO_KEEPALIVE) == 1);
    BOOST_TEST(option(of, IPPROTO_TCP, TCP_KEEPIDLE) == 60);
    BOOST_TEST(option(of, IPPROTO_TCP, TCP_KEEPINTVL) * option(of, IPPROTO_TCP, TCP_KEEPCNT) == 60);
    BOOST_TEST(option(of, IPPROTO_TCP, TCP_USER_TIMEOUT) == 120'000);
    BOOST_TEST(option(of, IPPROTO_TCP, TCP_NODELAY) == 1);
  };
  host open;
  const auto dialled = start_connecting(resolve("127.0.0.1", open.port()).front());
  check(dialled);
  ::pollfd writable{dialled.get(), POLLOUT, 0};
  BOOST_REQUIRE(::poll(&writable, 1, static_cast<int>(std::chrono::milliseconds{patience}.count())) == 1);
  BOOST_REQUIRE(::send(dialled.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL) > 0);
  BOOST_REQUIRE(comes_true([&] { return open.taken() == 1; }));
  const auto accepted = open.first();
  check(accepted);
  end_when_unreachable(accepted.get(), 4s);
  BOOST_TEST(option(accepted, IPPROTO_TCP, TCP_USER_TIMEOUT) == 4'000);
  BOOST_TEST(option(accepted, IPPROTO_TCP, TCP_KEEPIDLE) == 2);
  allow_unread_bytes(accepted.get());
  BOOST_TEST(option(accepted, IPPROTO_TCP, TCP_USER_TIMEOUT) == 0);
  BOOST_TEST(option(accepted, SOL_SOCKET, SO_KEEPALIVE) == 1);
}

BOOST_AUTO_TEST_CASE(first_words_may_come_byte_by_byte) {
  host open;
  visitor guest{open};
  for (std::size_t i = 0; i < greeting.size(); ++i) {
    BOOST_TEST(open.taken() == 0u);
    guest.say(greeting.substr(i, 1));
    BOOST_REQUIRE(comes_true([&] { return open.judged() == static_cast<int>(i) + 1; }));
  }
  BOOST_REQUIRE(comes_true([&] { return open.taken() == 1; }));
  BOOST_TEST(read_some(open.first()) == greeting);
}

BOOST_AUTO_TEST_CASE(wrong_words_are_refused_at_the_first_wrong_byte) {
  host open;
  visitor at_once{open, "X"};
  visitor later{open, "HE"};
  BOOST_TEST(at_once.is_closed());
  later.say("X");
  BOOST_TEST(later.is_closed());
  BOOST_TEST(open.counts().refused == 2u);
  BOOST_TEST(open.taken() == 0u);
}

BOOST_AUTO_TEST_CASE(first_words_that_never_end_are_refused) {
  host open{{}, wait_for_ever};
  visitor guest{open, std::string(first_words::bytes_max, 'x')};
  BOOST_TEST(guest.is_closed());
  BOOST_TEST(open.counts().refused == 1u);
}

BOOST_AUTO_TEST_CASE(who_does_not_speak_in_time_is_closed_whether_silent_or_slow) {
  host open{{.first_words_limit = 300ms}, wait_for_ever};
  const auto begin = std::chrono::steady_clock::now();
  visitor silent{open};
  visitor slow{open};
  BOOST_TEST(comes_true([&] { return !slow.say("x"); }));
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= 300ms));
  BOOST_TEST(silent.is_closed());
  BOOST_TEST(open.counts().timed_out == 2u);
}

BOOST_AUTO_TEST_CASE(half_words_are_looked_at_once_and_cost_no_time) {
  constexpr auto count = 100;
  host open{{.first_words_limit = 1s}};
  std::vector<visitor> guests(count);
  for (auto& each : guests) {
    each.visit(open);
    each.say("HEL");
  }
  BOOST_REQUIRE(comes_true([&] { return open.judged() == count; }));
  const auto before = computing_time();
  for (auto& each : guests) BOOST_TEST(each.is_closed());
  const auto computed = computing_time() - before;
  BOOST_TEST((computed < 100ms), computed.count() << " us");
  BOOST_TEST(open.judged() == count);
  BOOST_TEST(open.counts().timed_out == static_cast<std::size_t>(count));
}

// An urgent byte is counted as there, but can't be looked at.
BOOST_AUTO_TEST_CASE(urgent_bytes_in_half_words_cost_no_time_either) {
  host open{{.first_words_limit = 500ms}};
  visitor guest{open, "HE"};
  guest.say("L", MSG_OOB);
  guest.say("L");
  BOOST_TEST(guest.is_closed());
  BOOST_TEST(open.judged() <= 4);
}

BOOST_AUTO_TEST_CASE(who_leaves_before_its_first_words_are_complete_is_forgotten) {
  host open;
  visitor half{open, "HEL"}, nothing{open}, broken{open, "HE"};
  BOOST_REQUIRE(comes_true([&] { return open.counts().accepted == 3; }));
  half.finish();
  nothing.finish();
  broken.break_off();
  BOOST_TEST(half.is_closed());
  BOOST_TEST(nothing.is_closed());
  BOOST_TEST(comes_true([&] { return open.counts().left == 3; }));
}

BOOST_AUTO_TEST_CASE(who_has_said_all_and_finished_is_handed_over) {
  host open;
  visitor guest{open, greeting};
  guest.finish();
  BOOST_TEST(comes_true([&] { return open.taken() == 1; }));
}

BOOST_AUTO_TEST_CASE(the_end_closes_strangers_and_port_and_leaves_the_others) {
  host open;
  visitor guest{open, greeting};
  BOOST_REQUIRE(comes_true([&] { return open.taken() == 1; }));
  visitor stranger{open, "HEL"};
  BOOST_REQUIRE(comes_true([&] { return open.counts().accepted == 2; }));
  open.close_door();
  BOOST_TEST(stranger.is_closed());
  BOOST_TEST(guest.is_open());
  // The port is free.
  BOOST_TEST(bound_port(listen_on("127.0.0.1", open.port()).get()) == open.port());
}

BOOST_AUTO_TEST_CASE(no_callback_runs_after_the_end) {
  for (auto round = 0; round < 200; ++round) {
    host open;
    visitor guest{open}, other{open, "HE"};
    guest.say(greeting);
    open.close_door();
    const auto judged = open.judged();
    other.say("LLO\n");
    BOOST_TEST(open.judged() == judged);
  }
}

BOOST_AUTO_TEST_CASE(all_doors_of_a_process_share_one_thread_which_ends_with_the_last) {
  {
    const host one, two, three;
    BOOST_TEST(threads_named("door") == 1);
  }
  BOOST_TEST(threads_named("door") == 0);
}

BOOST_AUTO_TEST_CASE(it_calls_for_upkeep_again_and_again_while_it_is_open) {
  std::counting_semaphore<> called{0};
  {
    const host open{{.upkeep = [&] { called.release(); }}, wait_for_ever};
    for (auto i = 0; i < 2; ++i) BOOST_TEST(called.try_acquire_for(10s));
  }
  // None after its end: what it calls is gone then (ASan would say so).
}

BOOST_AUTO_TEST_CASE(where_it_cannot_listen_it_says_why) {
  const host open;
  const auto listen = [](const std::string& at, std::uint16_t port, acceptor_options options = {}) {
    const acceptor failing{at, port, first_words::receive(judge_greeting, [](descriptor) {}), options};
  };
  BOOST_CHECK_THROW(listen("127.0.0.1", open.port()), already_exists_error);
  BOOST_CHECK_THROW(listen("192.0.2.1", 0), invalid_argument_error);
  BOOST_CHECK_THROW(listen("127.0.0.1", 0, {.strangers_max = 0}), invalid_argument_error);
  BOOST_CHECK_THROW(listen("127.0.0.1", 0, {.handshakes_max = 0}), invalid_argument_error);
  BOOST_CHECK_THROW(listen("127.0.0.1", 0, {.peer_connections_max = 0}), invalid_argument_error);
  BOOST_CHECK_THROW(listen("127.0.0.1", 0, {.first_words_limit = 0ns}), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(refusals_are_one_line_of_the_log_for_each_reason_and_never_content) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("troupe-door-{}", ::getpid());
  open_program_log({.file = file.string()});
  host open{{.first_words_limit = 100ms}};
  for (auto i = 0; i < 20; ++i) BOOST_TEST(visitor(open, "secret").is_closed());
  for (auto i = 0; i < 2; ++i) BOOST_TEST(visitor(open).is_closed());
  open.close_door();
  open_program_log({.level = "off"});
  std::ifstream in{file};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 2, text);
  const auto where = fmt::format("\"127.0.0.1\" port {}: connections were closed (1 of them)", open.port());
  BOOST_TEST(text.find(where) != std::string::npos, text);
  BOOST_TEST(text.find("secret") == std::string::npos, text);
  std::filesystem::remove(file);
}

BOOST_AUTO_TEST_CASE(a_reason_that_quotes_a_peer_forges_no_line_of_the_log_and_keeps_no_place) {
  const program_log_in_memory log;
  auto now = std::chrono::steady_clock::now();
  refusals closed{"port 1", [&now] { return now; }};
  closed.add(refusal::wrong_words,
             "it says \"x\n09:99:99.999 troupe error: forged\x1b[31m\"" + std::string(10'000, 'x'));
  BOOST_TEST(std::ranges::count(log.text(), '\n') == 1);
  BOOST_TEST(log.text().find('\x1b') == std::string::npos);
  BOOST_TEST(log.text().size() < 1000u);
  for (auto i = 0; i < 1000; ++i) closed.add(refusal::wrong_words, "made up " + std::to_string(i));
  BOOST_TEST(std::ranges::count(log.text(), '\n') == 65);
  BOOST_TEST(closed.count(refusal::wrong_words) == 1001u);
  closed.add(refusal::silent);
  BOOST_TEST(log.text().find("did not say in time") != std::string::npos);
  now += 1min;
  closed.add(refusal::wrong_words, "the secret is another one");
  BOOST_TEST(log.text().find("(1 of them): the secret is another one") != std::string::npos, log.text());
}

BOOST_AUTO_TEST_SUITE_END()
