// Remote procedure calls while either side is killed or frozen at a random moment, over both layers: nobody hangs,
// every call ends by its deadline, and whoever lives or wakes is served again by the same client objects. RPC-1, RPC-2,
// RPC-3; examples/reference/semantics.md 1.7. The processes, and what they watch by themselves: rpc_kill_program.hpp.
//
// TROUPE_KILL_ROUNDS: how many faults for each layer; TROUPE_KILL_SEED: the seed of their choice, which a failure
// prints.
#include "process_cluster.hpp"
#include "rpc_kill_program.hpp"
#include "test_program.hpp"

#include <troupe/runtime/rpc_client.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_kills_suite)

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

const task_id server_process = server_task(0);

/// What a test waits for happens within this time, however slow the machine.
constexpr auto patience = 30s;
/// What must happen by a limit is seen that much later at most.
constexpr auto grace = 2s;

// --- faults ---------------------------------------------------------------------------------------------------------

enum class harm { killed, told_to_end, frozen_until_noticed, frozen_shortly };

struct fault {
  task_id victim;
  harm how = harm::killed;
  milliseconds delay{};
  milliseconds frozen{};
};

std::string to_string(const fault& what) {
  constexpr std::array texts{"killed", "told to end", "frozen until it is missed", "frozen"};
  return fmt::format("{} is {} after {} ms, for {} ms", to_string(what.victim),
                     texts.at(static_cast<std::size_t>(what.how)), what.delay.count(), what.frozen.count());
}

/// The server is the victim in every other round.
fault draw(std::mt19937& random) {
  constexpr auto delay_max_ms = 300;
  constexpr auto frozen_max_ms = 1'200;  // less than the silence that is noticed
  fault what;
  what.victim = random() % 2 == 0 ? server_process : worker_task(static_cast<int>(random() % 2));
  what.how = static_cast<harm>(random() % 4);
  what.delay = milliseconds{random() % delay_max_ms};
  if (what.how == harm::frozen_shortly) what.frozen = milliseconds{1 + random() % frozen_max_ms};
  return what;
}

// --- a server and two clients ---------------------------------------------------------------------------------------

class company {
 public:
  explicit company(const std::string& layer) : cluster_(kill_program, {.arguments = {layer}}) {
    start(server_process);
    start(worker_task(0));
    start(worker_task(1));
    observer_.emplace(client::create(layer, to_string(cluster_.config(server_process).cluster.address(server_process)),
                                     "observer", patience));
    gone_.emplace(observer_->method<void(std::string)>("wait_until_gone"));
  }

  /// Returns how long it took until the one who was harmed was at work again.
  milliseconds suffer(const fault& what) {
    for (const auto& each : clients()) expect_served(each);
    cluster_.pass(what.delay);
    forget("served");
    forget("failed");
    const auto again = what.victim == server_process ? harm_server(what) : harm_client(what);
    BOOST_REQUIRE_MESSAGE(!cluster_.has("WRONG") && !cluster_.has("HANGS"), cluster_.output());
    return again;
  }

  /// All processes end by themselves, and the server has no open call but the one that asks.
  void end() {
    for (const auto& each : clients()) {
      cluster_.signal(each, SIGTERM);
      BOOST_TEST(to_string(cluster_.end_of(each, patience)) == "exit code 0");
      BOOST_TEST_MESSAGE(cluster_.wait_for(line_of(each, "closed")));
    }
    const auto open_calls = observer_->method<std::size_t()>("open_calls");
    const stopwatch waiting;
    while (open_calls.blocking() != 1) BOOST_REQUIRE(waiting.elapsed() < patience);
    cluster_.signal(server_process, SIGTERM);
    BOOST_TEST(to_string(cluster_.end_of(server_process, patience)) == "exit code 0");
    BOOST_TEST(!cluster_.has("WRONG"), cluster_.output());
  }

 private:
  static std::vector<task_id> clients() { return {worker_task(0), worker_task(1)}; }

  static std::string line_of(const task_id& task, std::string_view text) {
    return fmt::format("[{} {}] {}", task.job, task.index, text);
  }

  void start(const task_id& task) {
    cluster_.start(task);
    if (task == server_process) cluster_.wait_for("serving", patience);
  }

  /// So that what is waited for from now on is new.
  void forget(const std::string& text) {
    cluster_.pass(1ms);
    while (cluster_.has(text)) cluster_.wait_for(text);
  }

  /// The first line may stand for calls that were made before.
  void expect_served(const task_id& which) {
    forget(line_of(which, "served"));
    for (auto i = 0; i < 2; ++i) cluster_.wait_for(line_of(which, "served"), patience);
  }

  milliseconds expect_all_served() {
    const stopwatch waiting;
    for (const auto& each : clients()) expect_served(each);
    return waiting.elapsed();
  }

  milliseconds harm_server(const fault& what) {
    switch (what.how) {
      case harm::killed:
        cluster_.signal(server_process, SIGKILL);
        cluster_.end_of(server_process, patience);
        start(server_process);
        break;
      case harm::told_to_end:
        cluster_.signal(server_process, SIGTERM);
        BOOST_TEST(to_string(cluster_.end_of(server_process, patience)) == "exit code 0");
        start(server_process);
        break;
      case harm::frozen_until_noticed:
        cluster_.signal(server_process, SIGSTOP);
        // Calls that the frozen server has, or is sent before it is missed, end long before their deadlines.
        for (const auto& each : clients()) {
          const auto line = cluster_.wait_for(line_of(each, "failed: blocking"), watchful_limit());
          BOOST_TEST(line.find("unavailable") != std::string::npos, line);
        }
        cluster_.signal(server_process, SIGCONT);
        break;
      case harm::frozen_shortly:
        freeze(what);
        break;
    }
    return expect_all_served();
  }

  milliseconds harm_client(const fault& what) {
    const auto& other = what.victim == worker_task(0) ? worker_task(1) : worker_task(0);
    switch (what.how) {
      case harm::killed:
      case harm::told_to_end:
        cluster_.signal(what.victim, what.how == harm::killed ? SIGKILL : SIGTERM);
        cluster_.end_of(what.victim, patience);
        expect_gone(what.victim, grace);
        expect_served(other);
        break;
      case harm::frozen_until_noticed:
        cluster_.signal(what.victim, SIGSTOP);
        expect_gone(what.victim, parked_limit + grace);
        expect_served(other);
        break;
      case harm::frozen_shortly:
        freeze(what);
        break;
    }
    return bring_back(what.victim, other);
  }

  milliseconds bring_back(const task_id& victim, const task_id& other) {
    if (cluster_.runs(victim))
      cluster_.signal(victim, SIGCONT);
    else
      start(victim);
    const stopwatch waiting;
    expect_served(victim);
    const auto again = waiting.elapsed();
    expect_served(other);
    BOOST_TEST(!cluster_.has(line_of(other, "failed")), cluster_.output());
    return again;
  }

  void freeze(const fault& what) {
    cluster_.signal(what.victim, SIGSTOP);
    cluster_.pass(what.frozen);
    cluster_.signal(what.victim, SIGCONT);
  }

  static milliseconds watchful_limit() {
    return std::chrono::duration_cast<milliseconds>(watchful.silence_max + duration{grace});
  }

  /// The server's methods that waited for the client have been cancelled.
  void expect_gone(const task_id& which, duration limit) {
    const auto why = status_of_call([&] { gone_->with_timeout(limit).blocking(client_name(which.index)); });
    BOOST_REQUIRE_MESSAGE(why.ok(), "the server still works for " << to_string(which) << ": " << why.render() << "\n"
                                                                  << cluster_.output());
  }

  process_cluster cluster_;
  std::optional<client> observer_;
  std::optional<remote_method<void(std::string)>> gone_;
};

int number_from_environment(const char* name, int otherwise) {
  const auto* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoi(text);
}

void run_rounds(const std::string& layer) {
  const auto rounds = number_from_environment("TROUPE_KILL_ROUNDS", 8);
  const auto seed = number_from_environment("TROUPE_KILL_SEED", static_cast<int>(std::random_device{}() >> 1));
  BOOST_TEST_MESSAGE("TROUPE_KILL_SEED=" << seed);
  std::mt19937 random{static_cast<std::mt19937::result_type>(seed)};
  company all{layer};
  for (auto round = 0; round < rounds; ++round) {
    const auto what = draw(random);
    BOOST_TEST_CONTEXT("TROUPE_KILL_SEED=" << seed << ", round " << round << ": " << to_string(what)) {
      const auto again = all.suffer(what);
      BOOST_TEST_MESSAGE(to_string(what) << "; served again after " << again.count() << " ms");
    }
  }
  all.end();
}

BOOST_AUTO_TEST_CASE(killing_or_freezing_either_side_at_any_moment_hangs_nobody_over_caf) { run_rounds("caf"); }
BOOST_AUTO_TEST_CASE(killing_or_freezing_either_side_at_any_moment_hangs_nobody_over_grpc) { run_rounds("grpc"); }

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
