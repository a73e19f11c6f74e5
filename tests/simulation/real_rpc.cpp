// Servers and clients of remote procedure calls on simulated hosts, over the layer "caf" and its real protocol.
#include "probe.hpp"
#include "support/certificate_files.hpp"
#include "support/refusal.hpp"
#include "support/sanitizer.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/remote_actors.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(real_rpc_suite)

using namespace troupe;

namespace {

/// Serves until its process ends.
void serve(simulated_host&) {
  auto server = rpc::server::create("caf", "server:4000");
  server.register_method("addition", [](int a, int b) { return a + b; });
  server.register_method("slow", [](int x) {
    sleep_for(1s);
    return x;
  });
  server.register_method("twice", [](tensor x) {
    for (auto& each : x.mutable_values<float>()) each *= 2;
    return x;
  });
  server.start();
  sleep_for(1h);
}

auto says(std::string text) {
  return [text](const error& failed) { return contains(failed.message(), text); };
}

/// What a client does, which must have come to its end.
void run_client(simulated_world& world, std::function<void()> body, duration limit = 1min) {
  const auto done = std::make_shared<bool>(false);
  world.host("client", [done, body = std::move(body)](simulated_host&) {
    body();
    *done = true;
  });
  BOOST_TEST(world.run_until([&] { return *done; }, limit),
             (world.end_of("client") ? world.end_of("client")->render() : std::string{"it hangs"}));
}

}  // namespace

BOOST_AUTO_TEST_CASE(calls_pass_the_network_with_small_and_large_arguments) {
  simulated_world world{{.seed = 1}};
  world.host("server", serve);
  run_client(world, [&] {
    const auto client = rpc::client::create("caf", "server:4000", "a client", 10s);
    const auto add = client.method<int(int, int)>("addition");
    for (int i = 0; i < 20; ++i) BOOST_TEST(add.blocking(i, 1) == i + 1);
    auto large = tensor::zeros(dtype::float32, {100'000});
    large.mutable_values<float>()[99'999] = 21;
    const auto doubled = client.method<tensor(tensor)>("twice").blocking(large);
    BOOST_TEST(doubled.values<float>()[99'999] == 42);
    BOOST_CHECK_THROW(client.method<int(int)>("addition"), invalid_argument_error);
  });
  BOOST_TEST(world.bytes_sent("client") > 1000u);
  // A few latencies each, and 0.4 MB there and back.
  BOOST_TEST((world.now() < 100ms));
}

BOOST_AUTO_TEST_CASE(methods_are_called_by_the_roles_that_may) {
  const auto authority = certificate_authority::make("blue");
  const auto certified = [&](const std::string& job) {
    const auto files = std::make_shared<certificate_files>(authority, certified_role{"blue", job});
    return std::pair{files,
                     credentials{.cluster = "blue", .tls = std::make_shared<const tls_identity>(files->files())}};
  };
  const auto of_server = certified("store");
  const auto of_client = certified("client");
  const auto of_worker = certified("worker");
  simulated_world world{{.seed = 1}};
  world.host("server", [&](simulated_host& here) {
    here.enter_with(of_server.second);
    auto server = rpc::server::create("caf", "server:4000");
    server.register_method("get", [] { return 1; });
    server.register_method("put", [] { return 2; });
    server.permit("put", {"worker"});
    server.start();
    sleep_for(1h);
  });
  std::string as_client;
  int as_worker = 0;
  world.host("client", [&](simulated_host& here) {
    here.enter_with(of_client.second);
    const auto client = rpc::client::create("caf", "server:4000", "a client", 10s);
    BOOST_TEST(client.method<int()>("get").blocking() == 1);
    as_client = client.method<int()>("put")().get_error().render();
  });
  world.host("worker", [&](simulated_host& here) {
    here.enter_with(of_worker.second);
    as_worker = rpc::client::create("caf", "server:4000", "a worker", 10s).method<int()>("put").blocking();
  });
  BOOST_TEST(world.run_until([&] { return !as_client.empty() && as_worker != 0; }, 1min));
  BOOST_TEST(contains(as_client, "permission_denied: \"put\" is for processes of the roles worker"), as_client);
  BOOST_TEST(as_worker == 2);
}

/// Its role would be another's.
BOOST_AUTO_TEST_CASE(nobody_comes_in_as_an_actor_of_another_process) {
  simulated_world world{{.seed = 1}};
  world.host("server", serve);
  status why;
  world.host("intruder", [&](simulated_host& here) {
    const auto door = remote_actor<rpc::door_actor>(here.system(), "server", 4000, 2s);
    const auto inbox = here.spawn([](rpc::reply_sink::pointer) -> rpc::reply_sink::behavior_type {
      return {[](outcome_atom, std::uint64_t, const wire<rpc::call_replies>&) {}};
    });
    const auto of_the_server = caf::actor_cast<rpc::connection_actor>(door);
    why = problem_of([&] {
      ask(
          here.system(), door, 2s, "coming in",
          [](const std::vector<rpc::executor_actor>&, const wire<rpc::server_welcome>&) {}, admit_atom_v, of_the_server,
          inbox, wire<rpc::client_hello>{{.name = "intruder"}});
    });
  });
  BOOST_TEST(world.run_until([&] { return !why.ok(); }, 10s));
  BOOST_TEST((why.code() == status_code::permission_denied), why.render());
}

BOOST_AUTO_TEST_CASE(a_client_waits_for_its_server_and_hears_of_its_loss) {
  simulated_world world{{.seed = 1}};
  world.host("server", [](simulated_host& here) {
    if (here.start() == 1) sleep_for(2s);
    serve(here);
  });
  run_client(world, [&] {
    const auto client = rpc::client::create("caf", "server:4000", "a client", 30s);
    BOOST_TEST((world.now() > 2s && world.now() < 5s));
    const auto slow = client.method<int(int)>("slow");
    const auto open = slow(1);
    sleep_for(100ms);
    world.kill("server");
    world.restart("server");
    // The method may have run: it is not called again.
    BOOST_TEST(to_string(open.get_error().code()) == "unavailable");
    BOOST_TEST(slow.blocking(7) == 7);
  });
}

BOOST_AUTO_TEST_CASE(a_cut_ends_calls_within_their_limit) {
  simulated_world world{{.seed = 1}};
  world.host("server", serve);
  run_client(world, [&] {
    const auto client = rpc::client::create("caf", "server:4000", "a client", 3s);
    world.cut("client", "server");
    const auto began = world.now();
    BOOST_CHECK_THROW((client.method<int(int, int)>("addition").blocking(1, 2)), error);
    BOOST_TEST((world.now() - began <= 3s));
    world.heal("client", "server");
    sleep_for(5s);
    BOOST_TEST((client.method<int(int, int)>("addition").blocking(1, 2)) == 3);
  });
}

BOOST_AUTO_TEST_CASE(servers_that_die_and_links_that_break_leave_no_call_open) {
  const auto result = explore(
      [](simulated_world& world) {
        world.host("server", serve);
        auto& ended = world.keep<int>(0);
        world.host("client", [&world, &ended](simulated_host&) {
          const auto client = rpc::client::create("caf", "server:4000", "a client", 30s);
          for (int i = 0; i < 20; ++i) {
            const auto sum = client.call("addition", {i, 1}, rpc::tensor_spec{dtype::int32}, 5s);
            const auto slow = client.call("slow", {i}, rpc::tensor_spec{dtype::int32}, 5s);
            if (sum.is_ok()) world.require(sum.get_value().as<int>() == i + 1, "a wrong sum");
            static_cast<void>(slow.is_ok());
            ++ended;
          }
        });
        world.require(world.run_until([&] { return ended == 20; }, 10min), "a call is open");
      },
      {.runs = runs_here(100),
       .faults = fault_rates{.hosts = {"server", "client"}, .faults_per_second = 2, .until = 10s, .kills = 0}});
  BOOST_TEST(!result.found.has_value(), (result.found ? result.found->report() : std::string{}));
  const auto with_kills = explore(
      [](simulated_world& world) {
        world.host("server", serve);
        auto& ended = world.keep<int>(0);
        world.host("client", [&ended](simulated_host&) {
          const auto client = rpc::client::create("caf", "server:4000", "a client", 30s);
          for (int i = 0; i < 20; ++i, ++ended)
            static_cast<void>(client.call("slow", {i}, rpc::tensor_spec{dtype::int32}, 5s).is_ok());
        });
        world.require(world.run_until([&] { return ended == 20; }, 10min), "a call is open");
      },
      {.runs = runs_here(100), .faults = fault_rates{.hosts = {"server"}, .faults_per_second = 2, .until = 10s}});
  BOOST_TEST(!with_kills.found.has_value(), (with_kills.found ? with_kills.found->report() : std::string{}));
}

BOOST_AUTO_TEST_CASE(a_server_of_its_own_process_is_found_by_its_own_clients_only) {
  simulated_world world{{.seed = 1}};
  for (const auto* const name : {"one", "other"})
    world.host(name, [name](simulated_host&) {
      auto server = rpc::server::create("caf", "localhost:4000");
      server.register_method("name", [name] { return std::string{name}; });
      server.start();
      const auto client = rpc::client::create("caf", "localhost:4000", {}, 5s);
      BOOST_TEST(client.method<std::string()>("name").blocking() == name);
      server.stop();
      BOOST_CHECK_THROW(client.method<std::string()>("name").with_timeout(1s).blocking(), error);
    });
  world.advance(10s);
  for (const auto* const name : {"one", "other"}) BOOST_TEST(!world.end_of(name).has_value());
}

BOOST_AUTO_TEST_CASE(the_layer_grpc_and_a_port_in_use_are_refused) {
  simulated_world world{{.seed = 1}};
  bool refused = false;
  world.host("server", [&](simulated_host&) {
    auto first = rpc::server::create("caf", "server:4000");
    first.start();
    auto second = rpc::server::create("caf", "server:4000");
    BOOST_CHECK_EXCEPTION(second.start(), unavailable_error, says("can't listen on server:4000"));
    auto over_grpc = rpc::server::create("grpc", "server:4001");
    BOOST_CHECK_EXCEPTION(over_grpc.start(), failed_precondition_error, says("can't be simulated"));
    BOOST_CHECK_EXCEPTION(rpc::client::create("grpc", "server:4001"), failed_precondition_error,
                          says("can't be simulated"));
    refused = true;
  });
  world.advance(1s);
  BOOST_TEST(refused);
}

BOOST_AUTO_TEST_SUITE_END()
