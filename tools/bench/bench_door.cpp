// What it costs to come in by a door, and what it costs members that strangers come to theirs.
#include "bench_case.hpp"
#include "bench_socket.hpp"

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/door/door.hpp>
#include <troupe/runtime/launch/credentials_for_children.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace troupe::tools {

namespace {

using namespace std::chrono_literals;

// --- coming in ------------------------------------------------------------------------------------------------------

const auto right = std::make_shared<const cluster_secret>("the secret of a benchmark");
const auto wrong = std::make_shared<const cluster_secret>("a stranger's guess at it");

struct visit_outcome {
  completion ended;
  status why;
};

void visit(const task_address& where, const visitor_words& words) {
  const auto outcome = std::make_shared<visit_outcome>();
  tcp_connector::of_process().connect(where, 10s, words,
                                      [outcome](const channel&, const door_hello&, const status& why) {
                                        outcome->why = why;
                                        outcome->ended.set();
                                      });
  if (!outcome->ended.block_for(20s)) throw deadline_exceeded_error{"a visit does not end"};
  if (!outcome->why.ok()) throw_status(outcome->why);
}

/// Answers each byte of one connection after the other.
class echo_of_bytes {
 public:
  echo_of_bytes()
      : listener_(listen_on_loopback()), answering_([this](const std::stop_token& stop) { answer(stop); }) {}
  ~echo_of_bytes() {
    answering_.request_stop();
    connect_to_loopback(port());
  }
  std::uint16_t port() const { return port_of(listener_); }

 private:
  void answer(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      const auto accepted = accept_one(listener_);
      std::array<std::byte, 1> byte{};
      while (receive_all(accepted, byte) && send_all(accepted, byte)) {
      }
    }
  }

  descriptor listener_;
  std::jthread answering_;
};

/// By a door where both sides show this.
std::vector<figure> enter(const measuring_plan& plan, const std::shared_ptr<const cluster_secret>& secret,
                          const std::shared_ptr<const tls_identity>& tls) {
  const peer_identity party{.task = {tls ? "worker" : "", 0}};
  door host{"127.0.0.1", 0, {.self = party, .secret = secret, .tls = tls, .strangers = {}}};
  host.open_for(door_service::tensors, [](const channel&, const door_hello&) {});
  const task_address where{"127.0.0.1", host.port()};
  const auto words = words_for(door_service::tensors, party, secret, tls);
  const echo_of_bytes echo;
  auto row = compare_latencies(
      plan, "us", 0.5,
      [&](std::chrono::nanoseconds slice) { return latencies<std::micro>(slice, [&] { visit(where, words); }); },
      "a connection and two bytes there and back, blocking",
      [&](std::chrono::nanoseconds slice) {
        return latencies<std::micro>(slice, [&] {
          const auto connection = connect_to_loopback(echo.port());
          std::array<std::byte, 1> byte{};
          for (auto round_trips = 2; round_trips > 0; --round_trips)
            require_socket(send_all(connection, byte) && receive_all(connection, byte), "recv");
        });
      });
  return {row};
}

std::vector<figure> enter_by_secret(const measuring_plan& plan, cluster&) { return enter(plan, right, nullptr); }

std::vector<figure> enter_by_tls(const measuring_plan& plan, cluster&) {
  const certificates_for_children certificates{"bench", {"worker"}, {}};
  auto own = certificates.environment_of("worker");
  return enter(plan, nullptr,
               std::make_shared<const tls_identity>(
                   tls_files{own[tls_certificate_variable], own[tls_key_variable], own[tls_authority_variable]}));
}

// --- strangers ------------------------------------------------------------------------------------------------------

/// Come to all workers in turn while it lives, with another secret than theirs.
class strangers {
 public:
  static constexpr auto per_second = 1000;

  explicit strangers(const std::vector<task_address>& doors)
      : knocking_([this, doors](const std::stop_token& stop) { knock(doors, stop); }) {}
  ~strangers() {
    knocking_.request_stop();
    knocking_.join();
    while (open_ != 0) std::this_thread::sleep_for(1ms);
  }

  static std::int64_t refused() { return refused_; }

 private:
  void knock(const std::vector<task_address>& doors, const std::stop_token& stop) {
    const auto words = words_for(door_service::messages, {}, wrong);
    auto next = std::chrono::steady_clock::now();
    for (std::size_t i = 0; !stop.stop_requested(); ++i) {
      ++open_;
      tcp_connector::of_process().connect(doors[i % doors.size()], 5s, words,
                                          [this](const channel&, const door_hello&, const status& why) {
                                            if (why.code() == status_code::unauthenticated) ++refused_;
                                            --open_;
                                          });
      next += std::chrono::nanoseconds{1s} / per_second;
      std::this_thread::sleep_until(next);
    }
  }

  static inline std::atomic<std::int64_t> refused_ = 0;
  std::atomic<std::int64_t> open_ = 0;
  std::jthread knocking_;
};

std::vector<figure> while_strangers_knock(const measuring_plan& plan, cluster& cluster) {
  constexpr auto closures = 1000;
  cluster_coordinator coordinator{parameter_server_strategy{cluster}};
  const auto doors = tf_config_from_environment()->cluster.worker;
  const auto rate = [&](std::chrono::nanoseconds slice) {
    return items_per_second(slice, closures, [&] {
      for (auto i = 0; i < closures; ++i) coordinator.schedule([] {});
      coordinator.join();
    });
  };
  auto row = compare(
      plan, {.unit = "/s"},
      [&](std::chrono::nanoseconds slice) {
        const strangers others{doors};
        return rate(slice);
      },
      "the same closures without such connections", rate);
  row.details.push_back({"refused", strangers::refused()});
  return {row};
}

}  // namespace

std::vector<bench_case> door_cases() {
  return {{.bench = "door",
           .name = "enter",
           .summary = "a connection whose sides authenticate each other with a shared secret",
           .size = {.workers = 1, .servers = 0},
           .measure = enter_by_secret},
          {.bench = "door",
           .name = "enter-tls",
           .summary = "the same with certificates of both sides",
           .size = {.workers = 1, .servers = 0},
           .measure = enter_by_tls},
          {.bench = "door",
           .name = "strangers",
           .summary = "closures on 2 worker processes, beside 1,000 connections a second that fail to authenticate",
           .where = placement_of_members::processes,
           .size = {.workers = 2, .servers = 1},
           .measure = while_strangers_knock}};
}

}  // namespace troupe::tools
