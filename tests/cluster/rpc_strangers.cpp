// Strangers and remote procedure calls: whoever can reach a server's port can write to it, a client may dial whatever
// answers, and clients share neither the binary nor the cluster with their server. examples/reference/semantics.md 1.7.
#include "loopback_port.hpp"
#include "process_cluster.hpp"
#include "rpc_kill_program.hpp"
#include "test_program.hpp"
#include "watched_program.hpp"

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>
#include <troupe/runtime/cluster/reach.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>
#include <troupe/runtime/system_config.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <array>
#include <csignal>
#include <mutex>
#include <random>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_strangers_suite)

namespace {

using namespace std::chrono_literals;

const std::array<std::string, 2> layers{"caf", "grpc"};

// --- strangers at a server's port -----------------------------------------------------------------------------------

/// What a client of this layer says to its server, for those who say half of it.
std::string words_of_a_client(const std::string& layer, std::uint16_t server) {
  std::mutex mutex;
  std::string words;
  {
    const loopback_port between{[&](const std::stop_token& enough, const descriptor& from) {
      const auto to = connect_to_loopback(server);
      if (!to) return;
      relay(enough, from, to, [&](std::string_view part) {
        const std::scoped_lock lock{mutex};
        words += part;
      });
    }};
    const auto client = client::create(layer, between.address(), "recorded", 30s);
    const auto add = client.method<int(int, int)>("add");
    for (auto i = 0; i < 10; ++i) BOOST_TEST(add.blocking(i, 1) == i + 1);
  }
  BOOST_REQUIRE(words.size() > 100u);
  return words;
}

/// A header of CAF's protocol that announces this much; its version, and the numbers of two actors.
std::string announcement(std::mt19937& random, std::uint32_t size_bytes) {
  std::string header(32, '\0');
  header[15] = 3;
  header[23] = static_cast<char>(random() % 2);
  header[31] = static_cast<char>(random() % 2);
  header[0] = static_cast<char>(random() % 8);
  for (auto i = 0; i < 4; ++i) header[static_cast<std::size_t>(4 + i)] = static_cast<char>(size_bytes >> (24 - 8 * i));
  return header;
}

/// HTTP/2's greeting, and a frame of the largest size that it can announce.
std::string large_frame() { return std::string{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\1\4\0\0\0\1", 33}; }

std::string noise(std::mt19937& random, std::size_t size_bytes) {
  std::string result(size_bytes, '\0');
  for (auto& byte : result) byte = static_cast<char>(random());
  return result;
}

std::string words_of_a_stranger(std::mt19937& random, const std::string& client) {
  switch (random() % 8) {
    case 0:
      return {};
    case 1:
      return "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    case 2:
      return announcement(random, 8 << 20);
    case 3:
      return large_frame();
    case 4:
      return client.substr(0, random() % client.size());
    case 5:
      return announcement(random, 0);
    case 6:
      return announcement(random, 1'000) + noise(random, 1'000);
    default:
      return noise(random, 1 + random() % 5'000);
  }
}

/// Forgets what has come, so that the line means calls that were made from now on.
void expect_served(process_cluster& cluster) {
  cluster.pass(1ms);
  while (cluster.has("served")) cluster.wait_for("served");
  for (auto i = 0; i < 2; ++i) cluster.wait_for("served");
}

BOOST_DATA_TEST_CASE(noise_and_half_requests_at_a_servers_port_disturb_nobody, layers, layer) {
  process_cluster cluster{kill_program, {.workers = 1, .arguments = {layer}}};
  cluster.start(server_task(0));
  cluster.wait_for("serving");
  cluster.start(worker_task(0));
  expect_served(cluster);
  const auto server = cluster.config(server_task(0)).cluster.address(server_task(0)).port;
  const auto client = words_of_a_client(layer, server);
  std::mt19937 random{20240608};
  std::vector<descriptor> left_open;
  for (auto i = 0; i < 300; ++i) {
    auto file = connect_to_loopback(server);
    BOOST_REQUIRE(static_cast<bool>(file));
    write_to(file, words_of_a_stranger(random, client));
    if (random() % 2 == 0) left_open.push_back(std::move(file));
  }
  expect_served(cluster);
  left_open.clear();
  expect_served(cluster);
  for (const auto* text : {"failed", "WRONG", "HANGS"}) BOOST_TEST(!cluster.has(text), cluster.output());
  cluster.signal(worker_task(0), SIGTERM);
  BOOST_TEST(to_string(cluster.end_of(worker_task(0))) == "exit code 0");
  cluster.signal(server_task(0), SIGTERM);
  BOOST_TEST(to_string(cluster.end_of(server_task(0))) == "exit code 0");
}

connection_actor::behavior_type idle_client(connection_actor::pointer) {
  return {
      [](alive_atom, std::uint64_t number) { return number; },
      [](suspect_atom, std::uint64_t, const wire<status>&) {},
      [](dismiss_atom, std::uint64_t) {},
      [](submit_atom) {},
  };
}

reply_sink::behavior_type idle_inbox(reply_sink::pointer) {
  return {[](outcome_atom, std::uint64_t, const wire<call_replies>&) {}};
}

BOOST_AUTO_TEST_CASE(actors_that_send_wrong_messages_or_speak_another_version_are_told_so_and_disturb_nobody) {
  process_cluster cluster{kill_program, {.workers = 1, .arguments = {"caf"}}};
  cluster.start(server_task(0));
  cluster.wait_for("serving");
  cluster.start(worker_task(0));
  expect_served(cluster);

  system_config config{true};
  caf::actor_system system{config};
  const auto where = cluster.config(server_task(0)).cluster.address(server_task(0));
  const auto door = reach_as<door_actor>(system, where, 20s, "a stranger", "RPC server");
  const auto anything = caf::actor_cast<caf::actor>(door);
  const caf::scoped_actor self{system};
  for (auto i = 0; i < 100; ++i) {
    self->send(anything, std::string{"what is this?"}, i);
    self->send(anything, run_atom_v, std::uint64_t{1}, std::uint64_t{1}, wire<call_orders>{});
    self->send(anything, dismiss_atom_v, static_cast<std::uint64_t>(i));
  }
  const auto newcomer = system.spawn(idle_client);
  const auto inbox = system.spawn(idle_inbox);
  status refused;
  self->request(door, 20s, admit_atom_v, newcomer, inbox,
                wire<client_hello>{{.version = protocol_version + 1, .name = "newcomer"}})
      .receive([](const std::vector<executor_actor>&, const wire<server_welcome>&) {},
               [&](caf::error& failed) { refused = status_of(failed, "admission"); });
  self->send_exit(newcomer, caf::exit_reason::user_shutdown);
  self->send_exit(inbox, caf::exit_reason::user_shutdown);
  BOOST_TEST(to_string(refused.code()) == "failed_precondition", refused.render());
  for (const auto& text :
       {fmt::format("version {}", protocol_version), fmt::format("version {}", protocol_version + 1)})
    BOOST_TEST(refused.render().find(text) != std::string::npos, refused.render());
  expect_served(cluster);
  for (const auto* text : {"failed", "WRONG", "HANGS"}) BOOST_TEST(!cluster.has(text), cluster.output());
}

BOOST_AUTO_TEST_CASE(wrong_messages_over_grpc_get_an_error_of_grpc) {
  auto here = server::create("grpc", "127.0.0.1:0");
  here.register_method("f", [] { return 1; });
  here.start();
  constexpr auto script = R"(
import grpc, sys
channel = grpc.insecure_channel(sys.argv[1])
for method, words in (("Nothing", b""), ("Call", b"\xff\xff\xff"), ("Call", b"\x0a\x7f"), ("Call", b"\x0a\x01g")):
    try:
        channel.unary_unary("/troupe.rpc.v1.Rpc/" + method)(words, timeout=20)
    except grpc.RpcError as error:
        print("error" if words else error.code().name)
)";
  watched_program python{"/usr/bin/python3", {"-c", script, here.address()}};
  BOOST_TEST(python.output() == "UNIMPLEMENTED\nerror\nerror\nerror\n");
  BOOST_TEST(client::create("grpc", here.address(), "", 20s).method<int()>("f").blocking() == 1);
}

// --- a client at a stranger's port ----------------------------------------------------------------------------------

/// The client's error comes by its timeout and names the address.
status error_of_dialling(const std::string& layer, const std::string& address) {
  const stopwatch waiting;
  const auto why = status_of_call([&] { client::create(layer, address, "", 500ms); });
  BOOST_TEST(waiting.elapsed() < 3s);
  BOOST_TEST(why.render().find(address) != std::string::npos, why.render());
  BOOST_TEST_MESSAGE(why.render());
  return why;
}

BOOST_DATA_TEST_CASE(a_port_where_something_else_answers_is_an_error_within_the_timeout, layers, layer) {
  const loopback_port silent{[](const std::stop_token& enough, const descriptor& file) {
    while (!read_from(file, enough).empty()) {
    }
  }};
  const loopback_port web{[](const std::stop_token& enough, const descriptor& file) {
    if (!read_from(file, enough).empty()) write_to(file, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  }};
  const loopback_port mail{[](const std::stop_token& enough, const descriptor& file) {
    write_to(file, "220 localhost ESMTP ready, and says so at some length\r\n");
    read_from(file, enough);
  }};
  for (const auto* each : {&silent, &web, &mail}) {
    const auto why = error_of_dialling(layer, each->address());
    BOOST_TEST(to_string(why.code()) == "deadline_exceeded", why.render());
  }
}

void do_nothing(cluster&) {}
const chief_program does_nothing{"does nothing", do_nothing};

BOOST_AUTO_TEST_CASE(a_member_of_a_cluster_is_no_server_and_says_so) {
  process_cluster cluster{does_nothing.name(), {.workers = 1}};
  cluster.start(worker_task(0));
  const auto address = to_string(cluster.config(worker_task(0)).cluster.address(worker_task(0)));
  // Until the worker listens, nobody is there.
  auto why = status_of_call([&] { client::create("caf", address, "", 30s); });
  BOOST_TEST(to_string(why.code()) == "failed_precondition", why.render());
  BOOST_TEST(why.render().find(address + " answers, but it is no RPC server") != std::string::npos, why.render());
  why = error_of_dialling("grpc", address);
  BOOST_TEST(to_string(why.code()) == "deadline_exceeded", why.render());
}

BOOST_AUTO_TEST_CASE(a_server_of_the_other_layer_is_an_error_within_the_timeout) {
  for (const auto& layer : layers) {
    auto here = server::create(layer, "127.0.0.1:0");
    here.start();
    const auto why = error_of_dialling(layer == "caf" ? "grpc" : "caf", here.address());
    BOOST_TEST(to_string(why.code()) == "deadline_exceeded", why.render());
  }
}

// --- another program ------------------------------------------------------------------------------------------------

/// Its argument is the layer.
void offer_variable(cluster& here) {
  parameter_server_strategy strategy{here};
  const auto total = strategy.variable<std::int64_t>("total", 0);
  auto offers = server::create(here.arguments().at(1), "127.0.0.1:0");
  completion ended;
  offers.register_method("add_to_total", [total](std::int64_t x) {
    total.assign_add(x);
    return total.read();
  });
  offers.register_method("end", [&] { ended.set(); });
  offers.start();
  say("offers at {}", offers.address());
  ended.wait_until(std::chrono::steady_clock::now() + 60s, "the client");
  say("the variable is {}", total.read());
}

const chief_program offers_variable{"offers a variable", offer_variable};

BOOST_DATA_TEST_CASE(a_program_of_another_binary_and_no_cluster_calls_a_member_of_one, layers, layer) {
  process_cluster cluster{offers_variable.name(), {.workers = 1, .arguments = {layer}}};
  cluster.start();
  const auto line = cluster.wait_for("offers at ");
  watched_program other{RPC_OTHER_PROGRAM, {layer, line.substr(line.rfind(' ') + 1)}};
  BOOST_TEST(other.output() == "total 40\ntotal 42\n");
  BOOST_TEST(other.end() == "exit code 0");
  cluster.wait_for("the variable is 42");
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
