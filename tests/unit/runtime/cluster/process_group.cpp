// A group of processes gathers where a fiber asks for it; process_group.hpp.
#include "support/refusal.hpp"

#include <troupe/runtime/launch/port_reservation.hpp>
#include <troupe/runtime/multi_worker_mirrored_strategy.hpp>
#include <troupe/runtime/process_group.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>
#include <troupe/runtime/sockets/socket.hpp>
#include <troupe/runtime/system_config.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include <poll.h>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(process_group_suite)

namespace {

/// What another process of the group has.
struct process {
  system_config config{true};
  caf::actor_system system{config};
};

/// A group of two processes, both here.
struct pair_of_processes {
  explicit pair_of_processes(process_group_options options) {
    const port_reservation chief{"127.0.0.1"};
    const port_reservation worker{"127.0.0.1"};
    const cluster_spec cluster{
        .chief = {{"127.0.0.1", chief.port()}}, .worker = {{"127.0.0.1", worker.port()}}, .ps = {}};
    auto other = std::async(std::launch::async, [&] {
      return std::make_unique<process_group>(second.system, task_config{cluster, {"worker", 0}}, options);
    });
    chief_group.emplace(first.system, task_config{cluster, {"chief", 0}}, options);
    worker_group = other.get();
  }

  /// Each one's end.
  std::pair<std::shared_ptr<communicator>, std::shared_ptr<communicator>> connect() {
    auto other = std::async(std::launch::async, [&] { return worker_group->communicator_of_processes(); });
    auto mine = chief_group->communicator_of_processes();
    return {std::move(mine), other.get()};
  }

  process first;
  process second;
  std::optional<process_group> chief_group;
  std::unique_ptr<process_group> worker_group;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_method_that_waits_for_its_group_lets_other_methods_run) {
  const port_reservation chief{"127.0.0.1"};
  const port_reservation worker{"127.0.0.1"};
  const cluster_spec cluster{
      .chief = {{"127.0.0.1", chief.port()}}, .worker = {{"127.0.0.1", worker.port()}}, .ps = {}};

  process first;
  auto server = rpc::server::create("caf", "127.0.0.1:0", {.threads = 1});
  server.register_method("gather", [&] {
    return process_group{first.system, {cluster, {"chief", 0}}, {.start_limit = 20s}}.size();
  });
  server.register_method("other", [] { return 7; });
  server.start();
  const auto client = rpc::client::create("caf", server.address(), {}, 30s);

  const auto size = client.method<int()>("gather")();
  // While it waits for the worker, which has not begun.
  BOOST_TEST(client.method<int()>("other").blocking() == 7);
  BOOST_TEST(!size.ended());

  process second;
  const process_group group{second.system, {cluster, {"worker", 0}}, {.start_limit = 20s}};
  BOOST_TEST(group.size() == 2);
  BOOST_TEST(size.get_value() == 2);
}

BOOST_AUTO_TEST_CASE(a_process_that_leaves_in_order_breaks_the_group_but_no_connection_that_others_may_still_read) {
  for (const auto transport : {process_transport_choice::shared_memory, process_transport_choice::tcp}) {
    pair_of_processes both{{.start_limit = 20s, .transport = transport}};
    auto [mine, theirs] = both.connect();
    theirs = nullptr;
    both.worker_group = nullptr;
    for (const auto until = current_time() + 20s; !both.chief_group->broken() && current_time() < until;)
      std::this_thread::yield();
    BOOST_TEST_REQUIRE(both.chief_group->broken().has_value());
    BOOST_TEST(contains(both.chief_group->broken()->render(), "/job:worker/task:0 is lost"));
    BOOST_TEST(!mine->broken().has_value());
    // Who needs the one that left hears so at once.
    BOOST_TEST(refuses<unavailable_error>([&, end = mine] { end->barrier(20s); }, "rank 1"));
  }
}

BOOST_AUTO_TEST_CASE(a_connection_that_outlives_its_group_is_ended_on_all_processes) {
  pair_of_processes both{{.start_limit = 20s, .transport = process_transport_choice::tcp}};
  const auto [mine, theirs] = both.connect();
  both.worker_group = nullptr;
  BOOST_TEST(refuses<cancelled_error>([end = mine] { end->barrier(20s); }, "process_group was destroyed"));
}

// examples/reference/semantics.md 3.4: the mean is that of all replicas.
BOOST_AUTO_TEST_CASE(the_mean_of_scattered_rows_divides_by_the_replicas_of_all_processes) {
  pair_of_processes both{{.start_limit = 20s}};
  const auto scatter = [](process_group& group) {
    const multi_worker_mirrored_strategy strategy{group, {"CPU:0", "CPU:1"}};
    const auto v = strategy.variable("v", tensor::of({0.0f, 0.0f}), {.aggregation = variable_aggregation::mean});
    strategy.run([&] {
      const auto id = replica_context::current().replica_id_in_sync_group();
      v.scatter(scatter_update::add, std::vector<std::int64_t>{id % 2}, tensor::of({static_cast<float>(id + 1)}));
    });
    return v.read();
  };
  auto other = std::async(std::launch::async, [&] { return scatter(*both.worker_group); });
  const auto mine = scatter(*both.chief_group);
  // Replicas 0 and 2 have written 1 and 3 to the first row, 1 and 3 have written 2 and 4 to the second.
  BOOST_TEST(mine.bitwise_equal(tensor::of({1.0f, 1.5f})), mine.to_string());
  BOOST_TEST(other.get().bitwise_equal(mine));
}

BOOST_AUTO_TEST_CASE(what_connects_the_processes_can_be_chosen) {
  pair_of_processes automatic{{.start_limit = 20s}};
  BOOST_TEST((automatic.chief_group->connection().over == process_transport::shared_memory));
  pair_of_processes chosen{{.start_limit = 20s, .transport = process_transport_choice::tcp}};
  BOOST_TEST((chosen.worker_group->connection().over == process_transport::tcp));
  BOOST_TEST(chosen.worker_group->connection().reason == "it was asked for");
}

BOOST_AUTO_TEST_CASE(a_process_may_start_before_its_chief) {
  const port_reservation chief{"127.0.0.1"};
  const port_reservation worker{"127.0.0.1"};
  const cluster_spec cluster{
      .chief = {{"127.0.0.1", chief.port()}}, .worker = {{"127.0.0.1", worker.port()}}, .ps = {}};
  const process_group_options options{.start_limit = 10s};
  // Not the chief, but it tells when the worker has knocked.
  auto nobody = listen_on("127.0.0.1", chief.port());
  process second;
  auto early = std::async(std::launch::async, [&] {
    process_group group{second.system, {cluster, {"worker", 0}}, options};
    return group.size();
  });
  pollfd knocked{nobody.get(), POLLIN, 0};
  BOOST_TEST_REQUIRE(::poll(&knocked, 1, 10'000) == 1);
  nobody.reset();
  process first;
  const process_group group{first.system, {cluster, {"chief", 0}}, options};
  BOOST_TEST(group.size() == 2);
  BOOST_TEST(early.get() == 2);
}

BOOST_AUTO_TEST_CASE(a_chief_that_accepts_and_says_nothing_ends_the_start_within_its_limit) {
  const auto silent = listen_on("127.0.0.1", 0);
  const cluster_spec cluster{
      .chief = {{"127.0.0.1", bound_port(silent.get())}}, .worker = {{"127.0.0.1", 1}}, .ps = {}};
  process worker;
  const auto start = [&] { process_group{worker.system, {cluster, {"worker", 0}}, {.start_limit = 1s}}; };
  const auto begin = current_time();
  BOOST_TEST(refuses<unavailable_error>(start, "the chief at 127.0.0.1:" + std::to_string(bound_port(silent.get()))));
  BOOST_TEST((current_time() - begin < 10s));
}

BOOST_AUTO_TEST_SUITE_END()
