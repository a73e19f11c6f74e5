#include "bench_caf_reference.hpp"
#include "bench_harness.hpp"
#include "bench_process.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/system_config.hpp>

#include <caf/io/middleman.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace troupe::tools {

namespace {

constexpr auto loopback = "127.0.0.1";
/// Bounds what a reference process may outlive when its parent neither ends nor kills it.
constexpr auto serving_time = std::chrono::minutes{60};
constexpr auto start_limit = std::chrono::seconds{20};

struct driver_state {
  std::vector<caf::actor> servers;
  caf::actor report;
  std::int64_t window = 0;
  std::int64_t count = 0;
  std::int64_t sent = 0;
  std::int64_t answered = 0;
};

void request_next(caf::stateful_actor<driver_state>* self) {
  auto& state = self->state;
  const auto& server = state.servers[static_cast<std::size_t>(state.sent) % state.servers.size()];
  self->send(server, state.sent++);
}

/// Makes so many requests, and reports when all are answered. Requests are plain messages, and so are their answers:
/// what matches one with the other costs CAF more than they do.
caf::behavior driver(caf::stateful_actor<driver_state>* self, const std::vector<caf::actor>& servers,
                     std::int64_t window, const caf::actor& report) {
  self->state.window = window;
  self->state.servers = servers;
  self->state.report = report;
  return {[self](caf::put_atom, std::int64_t count) {
            auto& state = self->state;
            state.count = count;
            state.sent = state.answered = 0;
            const auto open = std::min(count, state.window * static_cast<std::int64_t>(state.servers.size()));
            for (std::int64_t i = 0; i < open; ++i) request_next(self);
          },
          [self](std::int64_t) {
            auto& state = self->state;
            if (++state.answered == state.count)
              self->send(state.report, caf::ok_atom_v);
            else if (state.sent < state.count)
              request_next(self);
          }};
}

std::uint16_t port_of(const std::string& line) {
  std::uint16_t port = 0;
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), port);
  if (problem != std::errc{} || end != line.data() + line.size() || port == 0)
    throw unavailable_error{fmt::format("a reference process should print its port, but printed \"{}\"", line)};
  return port;
}

caf::actor dial(caf::actor_system& system, std::uint16_t port) {
  const auto found = system.middleman().remote_actor(loopback, port);
  if (!found)
    throw unavailable_error{fmt::format("the reference process at {}:{} can't be reached: {}", loopback, port,
                                        system.render(found.error()))};
  return *found;
}

std::vector<std::string> arguments_for(std::uint16_t upstream_port) {
  std::vector<std::string> arguments{"--caf-reference"};
  if (upstream_port != 0) arguments.insert(arguments.end(), {"--caf-upstream", std::to_string(upstream_port)});
  return arguments;
}

}  // namespace

caf::behavior caf_echo(caf::event_based_actor*) {
  return {[](std::int64_t x) { return x; }, [](std::uint64_t bytes) { return std::vector<char>(bytes, 'x'); }};
}

caf::behavior caf_relay(caf::event_based_actor* self, caf::actor server) {
  return {[self, server = std::move(server)](std::int64_t x) {
    auto promise = self->make_response_promise<std::int64_t>();
    self->request(server, caf::infinite, x).then([self, server, promise](std::int64_t first) mutable {
      self->request(server, caf::infinite, first).then([promise](std::int64_t second) mutable {
        promise.deliver(second);
      });
    });
    return promise;
  }};
}

caf_stealing_system::config::config() {
  set("scheduler.max-threads", std::size_t{std::max(1U, std::thread::hardware_concurrency())});
}

caf_reference_process::caf_reference_process(caf::actor_system& system, std::uint16_t upstream_port)
    : child_(another_self(arguments_for(upstream_port))),
      port_(port_of(first_line(child_, start_limit))),
      handle_(dial(system, port_)) {}

int serve_caf_reference(std::uint16_t upstream_port) {
  system_config config{true};
  caf::actor_system system{config};
  const auto served =
      upstream_port == 0 ? system.spawn(caf_echo) : system.spawn(caf_relay, dial(system, upstream_port));
  const auto port = system.middleman().publish(served, 0, loopback, true);
  if (!port) {
    fmt::print(stderr, "troupe bench: no port for a reference process: {}\n", system.render(port.error()));
    return EXIT_FAILURE;
  }
  fmt::print("{}\n", *port);
  std::fflush(stdout);
  caf::scoped_actor { system } -> receive([](caf::ok_atom) {}, caf::after(serving_time) >> [] {});
  caf::anon_send_exit(served, caf::exit_reason::user_shutdown);
  return EXIT_SUCCESS;
}

double pipelined_requests(caf::actor_system& system, const std::vector<caf::actor>& servers,
                          std::chrono::nanoseconds slice, std::int64_t window) {
  constexpr std::int64_t round = 20'000;
  caf::scoped_actor self{system};
  const auto requester = self->spawn(driver, servers, window, caf::actor_cast<caf::actor>(self));
  const auto rate = items_per_second(slice, round, [&] {
    self->send(requester, caf::put_atom_v, round);
    self->receive([](caf::ok_atom) {});
  });
  self->send_exit(requester, caf::exit_reason::user_shutdown);
  return rate;
}

void blocking_request(caf::scoped_actor& self, const caf::actor& server) {
  self->request(server, caf::infinite, std::int64_t{1})
      .receive([](std::int64_t) {},
               [](caf::error&) { throw unavailable_error{"the reference actor of the benchmark has ended"}; });
}

}  // namespace troupe::tools
