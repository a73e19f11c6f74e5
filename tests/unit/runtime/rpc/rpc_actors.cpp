// Remote procedure calls where something else than a plain thread waits: event-based actors, methods that call other
// servers, closures, an application's own actor system. runtime/rpc_result.hpp, rpc_client.hpp, rpc_server.hpp.
#include "rpc_test.hpp"
#include "support/local_world.hpp"

#include <troupe/actors/messages/message_types.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_actors_suite)

namespace {

/// What an application's config looks like.
struct application_config : caf::actor_system_config {
  explicit application_config(bool networked) {
    add_troupe_types(*this);
    if (networked) load<caf::io::middleman>();
  }
};

std::string next_text(caf::scoped_actor& self) {
  std::string text = "nothing came";
  self->receive([&](const std::string& received) { text = received; }, caf::after(patience) >> [] {});
  return text;
}

void add_methods(server& to) {
  to.register_method("add", [](std::int32_t a, std::int32_t b) { return a + b; });
  to.register_method("nothing", [] {});
  to.register_method("fail", []() -> std::int32_t { throw not_found_error{"no such row"}; });
}

// --- then ------------------------------------------------------------------------------------------------------------

struct listening_application {
  application_config config{false};
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  caf::actor reply_to = caf::actor_cast<caf::actor>(self);

  /// What an event-based actor hears of a typed call.
  template <class T>
  std::string heard_of(const status_or<T>& result) {
    system.spawn([result, to = reply_to](caf::event_based_actor* me) {
      const auto on_error = [=](const status& why) { me->send(to, to_string(why.code()) + ": " + why.message()); };
      if constexpr (std::is_void_v<T>)
        result.then(
            me, [=] { me->send(to, std::string{"done"}); }, on_error);
      else
        result.then(
            me, [=](const T& value) { me->send(to, fmt::format("value {}", value)); }, on_error);
    });
    return next_text(self);
  }
  std::string heard_of(const status_or_result& result) {
    system.spawn([result, to = reply_to](caf::event_based_actor* me) {
      result.then(
          me, [=](const datum& value) { me->send(to, value.to_string()); },
          [=](const status& why) { me->send(to, to_string(why.code()) + ": " + why.message()); });
    });
    return next_text(self);
  }
};

TROUPE_TEST_CASE_FOR_EACH_LAYER(then_calls_an_event_based_actor_with_the_value_or_the_error) {
  listening_application application;
  auto server = make_server(layer);
  add_methods(server);
  server.start();
  const auto client = connect(server, layer);
  BOOST_TEST(application.heard_of(client.method<std::int32_t(std::int32_t, std::int32_t)>("add")(2, 3)) == "value 5");
  BOOST_TEST(application.heard_of(client.method<void()>("nothing")()) == "done");
  BOOST_TEST(application.heard_of(client.method<std::int32_t()>("fail")()) == "not_found: no such row");
  BOOST_TEST(application.heard_of(client.call("add", {2, 3}, tensor_spec{dtype::int32})).find("5") !=
             std::string::npos);
  BOOST_TEST(application.heard_of(client.call("fail")) == "not_found: no such row");
  const auto misunderstood = application.heard_of(client.call("add", {2, 3}, tensor_spec{dtype::int32, {7}}));
  BOOST_TEST(misunderstood.find("invalid_argument: the result must be int32 (7,)") != std::string::npos, misunderstood);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(then_may_come_before_the_end_of_a_call_and_after_it) {
  listening_application application;
  auto server = make_server(layer);
  completion released;
  server.register_method("wait", [&] {
    released.wait_until(std::chrono::steady_clock::now() + patience, "the test");
    return std::int32_t{1};
  });
  server.start();
  const auto client = connect(server, layer);
  const auto result = client.method<std::int32_t()>("wait")();
  application.system.spawn([result, to = application.reply_to](caf::event_based_actor* me) {
    result.then(
        me, [=](std::int32_t value) { me->send(to, fmt::format("value {}", value)); }, [](const status&) {});
    me->send(to, std::string{"asked"});
  });
  BOOST_TEST(next_text(application.self) == "asked");
  released.set();
  BOOST_TEST(next_text(application.self) == "value 1");
  BOOST_TEST(application.heard_of(result) == "value 1");
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(an_actor_that_ends_before_its_call_does_hears_nothing_and_harms_nobody) {
  listening_application application;
  auto server = make_server(layer);
  completion released;
  gate started;
  server.register_method("wait", [&] {
    started.open();
    released.wait_until(std::chrono::steady_clock::now() + patience, "the test");
  });
  server.start();
  // The call is the last that holds its connection, since another client has taken the name.
  const auto replaced = connect(server, layer, "replaced");
  auto result = std::make_optional(replaced.method<void()>("wait")());
  BOOST_REQUIRE(started.wait());
  auto listener = application.system.spawn([result = *result](caf::event_based_actor* me) {
    result.then(
        me, [] { std::abort(); }, [](const status&) {});
    me->become([](int) {});
  });
  const auto client = connect(server, layer, "replaced");
  application.self->monitor(listener);
  caf::anon_send_exit(listener, caf::exit_reason::user_shutdown);
  listener = nullptr;
  application.self->receive([](const caf::down_msg&) {});
  result.reset();
  released.set();
  client.method<void()>("wait").blocking();
}

// --- methods that call others ----------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(two_servers_that_call_each_other_do_not_wait_for_each_other) {
  auto even = make_server(layer);
  auto odd = make_server(layer);
  using method = remote_method<std::int32_t(std::int32_t)>;
  std::optional<method> to_even;
  std::optional<method> to_odd;
  even.register_method("count", [&](std::int32_t n) { return n == 0 ? 0 : 1 + to_odd->blocking(n - 1); });
  odd.register_method("count", [&](std::int32_t n) { return n == 0 ? 0 : 1 + to_even->blocking(n - 1); });
  even.start();
  odd.start();
  to_even = connect(even, layer).method<std::int32_t(std::int32_t)>("count");
  to_odd = connect(odd, layer).method<std::int32_t(std::int32_t)>("count");
  BOOST_TEST(to_even->blocking(20) == 20);
  std::vector<status_or<std::int32_t>> open;
  for (auto i = 0; i < 20; ++i) open.push_back((*to_odd)(i));
  for (auto i = 0; i < 20; ++i) BOOST_TEST(open[static_cast<std::size_t>(i)].get_value() == i);
  // Methods hold them: they go before the servers.
  to_even.reset();
  to_odd.reset();
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_method_that_is_cancelled_takes_the_calls_that_it_waits_for_along) {
  auto back = make_server(layer);
  gate started;
  gate cancelled;
  back.register_method("wait", [&] {
    started.open();
    wait_for_cancellation(cancelled);
  });
  back.start();
  auto front = make_server(layer);
  const auto to_back = connect(back, layer).method<void()>("wait");
  front.register_method("forward", [&] { to_back.blocking(); });
  front.start();
  const auto client = connect(front, layer);
  const auto result = client.call("forward");
  BOOST_REQUIRE(started.wait());
  result.cancel();
  BOOST_TEST(cancelled.wait());
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_method_may_create_a_client_and_drop_it) {
  auto back = make_server(layer);
  add_methods(back);
  back.start();
  auto front = make_server(layer);
  front.register_method("forward", [address = back.address(), layer](std::int32_t x) {
    return client::create(layer, address, "", patience)
        .method<std::int32_t(std::int32_t, std::int32_t)>("add")
        .blocking(x, 1);
  });
  front.start();
  const auto forward = connect(front, layer).method<std::int32_t(std::int32_t)>("forward");
  for (auto i = 0; i < 5; ++i) BOOST_TEST(forward.blocking(i) == i + 1);
}

// --- with a cluster --------------------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_closure_may_call_a_server) {
  local_world world;
  auto server = make_server(layer);
  add_methods(server);
  server.start();
  std::vector<remote_value<std::int32_t>> open;
  for (auto i = 0; i < 8; ++i)
    open.push_back(world.coordinator.schedule(
        [](const std::string& over, const std::string& address, std::int32_t x) {
          const auto made = client::create(over, address, "", patience);
          return made.method<std::int32_t(std::int32_t, std::int32_t)>("add").blocking(x, 1) +
                 made.call("add", {x, 2}).get_value<std::int32_t>();
        },
        layer, server.address(), i));
  for (auto i = 0; i < 8; ++i) BOOST_TEST(open[static_cast<std::size_t>(i)].fetch() == 2 * i + 3);
  const auto failed = world.coordinator.schedule(
      [](const std::string& over, const std::string& address) {
        client::create(over, address, "", patience).method<std::int32_t()>("fail").blocking();
      },
      layer, server.address());
  BOOST_CHECK_THROW(failed.fetch(), not_found_error);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_method_may_use_a_variable_and_a_remote_value_of_a_cluster) {
  local_world world;
  const auto counter = world.strategy.variable("counter", 0.0f);
  const auto twenty = world.coordinator.schedule([] { return 20.0f; });
  auto server = make_server(layer);
  server.register_method("count", [counter](float by) {
    auto mine = counter;
    mine.assign_add(by);
    return mine.read();
  });
  server.register_method("twenty", [twenty] { return twenty.fetch(); });
  server.register_method(
      "scheduled", [&world](float x) { return world.coordinator.schedule([](float y) { return 2 * y; }, x).fetch(); });
  server.start();
  const auto client = connect(server, layer);
  const auto count = client.method<float(float)>("count");
  BOOST_TEST(count.blocking(1) == 1.0f);
  BOOST_TEST(count.blocking(2) == 3.0f);
  BOOST_TEST(counter.read() == 3.0f);
  BOOST_TEST(client.method<float()>("twenty").blocking() == 20.0f);
  BOOST_TEST(client.method<float(float)>("scheduled").blocking(4) == 8.0f);
}

// --- actor systems ---------------------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_thread_that_has_used_clients_and_servers_holds_up_nobody_who_ends_them) {
  // CAF remembers in each thread where it spawned last.
  gate done;
  gate over;
  std::optional<server> serving;
  std::thread user{[&] {
    serving = make_server(layer);
    add_methods(*serving);
    serving->start();
    connect(*serving, layer).call("nothing").is_ok();
    done.open();
    over.wait();
  }};
  BOOST_TEST(done.wait());
  serving.reset();
  over.open();
  user.join();
}

BOOST_AUTO_TEST_CASE(an_application_serves_and_calls_in_its_own_actor_system) {
  application_config config{true};
  caf::actor_system system{config};
  application_config other_config{true};
  caf::actor_system other{other_config};
  {
    auto server = server::create(system, "localhost:0");
    add_methods(server);
    server.start();
    const auto inside = client::create(system, server.address(), "", patience);
    BOOST_TEST(inside.call("add", {1, 2}).get_value<std::int32_t>() == 3);
    const auto from_other = client::create(other, server.address(), "", patience);
    BOOST_TEST(from_other.call("add", {1, 3}).get_value<std::int32_t>() == 4);
    const auto from_shared = client::create("caf", server.address(), "", patience);
    BOOST_TEST(from_shared.call("add", {1, 4}).get_value<std::int32_t>() == 5);
  }
}

BOOST_AUTO_TEST_CASE(an_actor_system_without_the_middleman_is_refused_with_the_way_out) {
  application_config config{false};
  caf::actor_system system{config};
  check_error(status_of_call([&] { server::create(system, "localhost:0"); }), status_code::failed_precondition,
              "load<caf::io::middleman>()");
  check_error(status_of_call([&] { client::create(system, "localhost:1", "", 5s); }), status_code::failed_precondition,
              "load<caf::io::middleman>()");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
