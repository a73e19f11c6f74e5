// What server, client and calls promise, over both layers; examples/reference/semantics.md 1.7 and 5.1.
#include "rpc_test.hpp"

#include <troupe/device/kernels/elementwise.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <map>
#include <optional>
#include <thread>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_calls_suite)

namespace {

struct point {
  int x = 0;
  double y = 0;
  bool operator==(const point&) const = default;
};

int multiply(int a, int b) { return a * b; }

tensor sum(tensor a, const tensor& b) {
  add_in_place(a, b);
  return a;
}

// --- the example of TensorFlow's page --------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(the_example_of_the_seed_gives_the_sum) {
  auto server = make_server(layer);
  server.register_method("addition", [](const tensor& a, const tensor& b) { return sum(a, b); },
                         {tensor_spec{dtype::int32}, tensor_spec{dtype::int32}});
  server.start();

  const auto client = connect(server, layer, "test_client");
  const auto a = tensor::scalar(2);
  const auto b = tensor::scalar(3);
  const auto result = client.call("addition", {a, b}, tensor_spec{dtype::int32});
  BOOST_TEST(result.is_ok(), result.get_error().render());
  BOOST_TEST(result.get_value().as<int>() == 5);

  const auto addition = client.method<tensor(tensor, tensor)>("addition");
  const auto again = addition(a, b);
  BOOST_TEST(again.is_ok());
  BOOST_TEST(again.get_value().item<int>() == 5);
  BOOST_TEST(addition.documentation() == "RPC Call for addition method to server " + server.address());
}

// --- what methods take and return ------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(numbers_texts_containers_and_structs_travel_bit_for_bit) {
  auto server = make_server(layer);
  const auto echo = [&]<class T>(const char* name, std::type_identity<T>) {
    server.register_method(name, [](const T& x) { return x; });
  };
  echo("float", std::type_identity<float>{});
  echo("double", std::type_identity<double>{});
  echo("uint64", std::type_identity<std::uint64_t>{});
  echo("text", std::type_identity<std::string>{});
  echo("numbers", std::type_identity<std::vector<float>>{});
  echo("points", std::type_identity<std::map<std::string, std::vector<point>>>{});
  echo("maybe", std::type_identity<std::optional<int>>{});
  echo("any", std::type_identity<datum>{});
  server.start();
  const auto client = connect(server, layer);

  const auto same = [&]<class T>(const char* name, const T& x) {
    BOOST_TEST((datum{client.method<T(T)>(name).blocking(x)} == datum{x}), name);
  };
  same("float", -0.0f);
  same("float", std::bit_cast<float>(0x7fc12345u));
  same("double", std::numeric_limits<double>::infinity());
  same("double", 5e-324);
  same("uint64", std::numeric_limits<std::uint64_t>::max());
  same("text", std::string{"a\0b\xc3\xa9", 5});
  same("numbers", std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), 3});
  same("points", std::map<std::string, std::vector<point>>{{"a", {{1, 2.5}, {3, 4}}}, {"", {}}});
  same("maybe", std::optional<int>{});
  same("maybe", std::optional<int>{7});
  same("any", datum{datum::list{datum{}, datum{true}, datum{"x"}, datum{tensor::of<std::int8_t>({1, 2})}}});
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(large_tensors_arrive_whole_in_both_directions) {
  auto server = make_server(layer);
  server.register_method("twice", [](const tensor& x) { return sum(x, x); });
  server.start();
  const auto twice = connect(server, layer).method<tensor(tensor)>("twice");
  auto x = tensor::uninitialised(dtype::float32, shape{1 << 20});
  auto next = 0.0f;
  for (auto& each : x.mutable_values<float>()) each = next++;
  for (auto round = 0; round < 3; ++round) BOOST_TEST(twice.blocking(x).bitwise_equal(sum(x, x)));
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(methods_without_arguments_or_results_and_named_functions_work) {
  auto server = make_server(layer);
  std::atomic<int> calls = 0;
  server.register_method("count", [&] { ++calls; });
  server.register_method<multiply>("multiply");
  server.start();
  const auto client = connect(server, layer);
  client.method<void()>("count").blocking();
  BOOST_TEST(client.method<void()>("count")().is_ok());
  BOOST_TEST(calls == 2);
  BOOST_TEST(client.call("count").get_value().empty());
  BOOST_TEST(client.method<int(int, int)>("multiply").blocking(6, 7) == 42);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(what_a_lambda_holds_is_shared_by_all_clients) {
  auto server = make_server(layer);
  server.register_method("next", [count = std::make_unique<int>(0)] { return ++*count; });
  server.start();
  const auto first = connect(server, layer, "first").method<int()>("next");
  const auto second = connect(server, layer, "second").method<int()>("next");
  BOOST_TEST(first.blocking() == 1);
  BOOST_TEST(second.blocking() == 2);
  BOOST_TEST(first.blocking() == 3);
}

// --- results ---------------------------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(without_output_specs_the_result_is_the_flat_list_of_its_leaves) {
  auto server = make_server(layer);
  server.register_method("nested", [] {
    return std::tuple{1, std::tuple{tensor::of<float>({1, 2}), std::string{"text"}},
                      std::map<std::string, double>{{"a", 2}}};
  });
  server.start();
  const auto client = connect(server, layer);
  const auto leaves = client.call("nested").get_value().as<std::vector<datum>>();
  BOOST_REQUIRE(leaves.size() == 4u);
  BOOST_TEST(leaves[0].get_if<tensor>() != nullptr);
  BOOST_TEST(leaves[0].as<int>() == 1);
  BOOST_TEST(leaves[1].as<tensor>().bitwise_equal(tensor::of<float>({1, 2})));
  BOOST_TEST(leaves[2].as<std::string>() == "text");
  BOOST_TEST(leaves[3].as<double>() == 2.0);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(output_specs_give_the_result_its_structure_or_say_what_differs) {
  auto server = make_server(layer);
  server.register_method("pair", [] { return std::pair{7, tensor::zeros(dtype::float32, shape{2, 3})}; });
  server.start();
  const auto client = connect(server, layer);
  const output_specs good{tensor_spec{dtype::int32}, tensor_spec{dtype::float32, {tensor_spec::any, 3}}};
  const auto value = client.call("pair", {}, good).get_value().as<std::vector<tensor>>();
  BOOST_TEST(value.at(0).item<int>() == 7);
  BOOST_TEST((value.at(1).get_shape() == shape{2, 3}));

  const auto wrong =
      client.call("pair", {}, output_specs{tensor_spec{dtype::int32}, tensor_spec{dtype::float64, {2, 3}}});
  BOOST_TEST(!wrong.is_ok());
  check_error(wrong.get_error(), status_code::invalid_argument, "part 1 of the result must be float64 (2, 3)");
  BOOST_CHECK_THROW(wrong.get_value(), invalid_argument_error);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_call_returns_at_once_and_its_result_waits) {
  auto server = make_server(layer);
  completion released;
  server.register_method("wait", [&] {
    released.wait_until(std::chrono::steady_clock::now() + patience, "the test");
    return 1;
  });
  server.start();
  const auto client = connect(server, layer);
  const auto result = client.call("wait");
  BOOST_TEST(!result.ended());
  released.set();
  BOOST_TEST(result.is_ok());
  BOOST_TEST(result.ended());
  BOOST_TEST(result.get_value<int>() == 1);
  BOOST_TEST(result.get_value<int>() == 1);  // as often as one likes
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(what_a_method_throws_reaches_the_caller_with_its_code_and_causes) {
  auto server = make_server(layer);
  server.register_method("fail", [](int) -> int {
    throw out_of_range_error{status{status_code::not_found, "no such row"}.wrap(status_code::out_of_range, "row 7")};
  });
  server.register_method("other", []() -> int { throw std::runtime_error{"what it says"}; });
  server.start();
  const auto client = connect(server, layer);
  const auto result = client.call("fail", {1});
  BOOST_TEST(!result.is_ok());
  check_error(result.get_error(), status_code::out_of_range, "row 7");
  check_error(result.get_error(), status_code::out_of_range, "no such row");
  BOOST_CHECK_THROW(result.get_value(), out_of_range_error);
  BOOST_CHECK_THROW(client.method<int(int)>("fail").blocking(1), out_of_range_error);
  check_error(client.call("other").get_error(), status_code::unknown, "std::runtime_error: what it says");
  // Between programs of troupe's over CAF it is the same exception; gRPC has codes and texts.
  if (layer == "caf") {
    BOOST_CHECK_EXCEPTION(client.call("other").get_value(), std::runtime_error,
                          [](const auto& thrown) { return thrown.what() == std::string_view{"what it says"}; });
    BOOST_CHECK_THROW(client.method<int()>("other").blocking(), std::runtime_error);
  } else {
    BOOST_CHECK_THROW(client.call("other").get_value(), unknown_error);
  }
}

// --- wrong calls -----------------------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(wrong_calls_are_invalid_arguments_that_name_what_was_expected) {
  auto server = make_server(layer);
  server.register_method("add", [](int a, int b) { return a + b; });
  server.register_method("sum", [](const tensor& x) { return x; }, {tensor_spec{dtype::float32, {tensor_spec::any}}});
  server.start();
  const auto client = connect(server, layer);
  const auto why = [&](const std::string& name, std::vector<datum> arguments) {
    return client.call(name, std::move(arguments)).get_error();
  };
  check_error(why("subtract", {1, 2}), status_code::invalid_argument, "\"subtract\" is not registered");
  check_error(why("add", {1}), status_code::invalid_argument, "add takes 2 arguments, but got 1");
  check_error(why("add", {1, "two"}), status_code::invalid_argument, "argument 2 of add: int32 was expected");
  check_error(why("add", {1, std::int64_t{1} << 40}), status_code::invalid_argument, "can't hold");
  check_error(why("sum", {tensor::of<int>({1})}), status_code::invalid_argument, "must be float32 (?,)");
  BOOST_TEST(client.call("add", {1, 2}).get_value<int>() == 3);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_typed_method_is_compared_with_the_servers_signature_once) {
  auto server = make_server(layer);
  server.register_method("add", [](int a, int b) { return a + b; });
  server.start();
  const auto client = connect(server, layer);
  BOOST_TEST(client.methods().size() == 1u);
  BOOST_TEST(to_string(client.methods().front()) == "add(int32, int32) -> int32");
  check_error(status_of_call([&] { client.method<float(int, int)>("add"); }), status_code::invalid_argument,
              "add(int32, int32) -> float32 was expected");
  check_error(status_of_call([&] { client.method<float(int, int)>("add"); }), status_code::invalid_argument,
              "has add(int32, int32) -> int32");
  check_error(status_of_call([&] { client.method<int()>("missing"); }), status_code::not_found,
              "it has: add(int32, int32) -> int32");
}

BOOST_AUTO_TEST_CASE(another_layer_is_an_error_that_lists_the_two) {
  check_error(status_of_call([] { server::create("http", "localhost:0"); }), status_code::invalid_argument,
              "the layers are \"caf\" and \"grpc\"");
  check_error(status_of_call([] { client::create("", "localhost:1"); }), status_code::invalid_argument,
              "the layers are \"caf\" and \"grpc\"");
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(malformed_addresses_and_negative_timeouts_are_refused) {
  check_error(status_of_call([&] { server::create(layer, "localhost"); }), status_code::invalid_argument, "no port");
  check_error(status_of_call([&] { client::create(layer, "localhost:0"); }), status_code::invalid_argument, "port");
  check_error(status_of_call([&] { client::create(layer, "localhost:1", "", -1s); }), status_code::invalid_argument,
              "negative");
  auto server = make_server(layer);
  server.register_method("f", [] {});
  server.start();
  const auto client = connect(server, layer);
  check_error(status_of_call([&] { client.call("f", {}, {}, -1ms); }), status_code::invalid_argument, "negative");
  check_error(status_of_call([&] { client.method<void()>("f").with_timeout(-1ms); }), status_code::invalid_argument,
              "negative");
}

// --- the server's life -----------------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(methods_are_registered_once_and_before_the_start) {
  auto server = make_server(layer);
  server.register_method("f", [] {});
  check_error(status_of_call([&] { server.register_method("f", [](int) {}); }), status_code::invalid_argument,
              "\"f\" is registered already");
  check_error(status_of_call([&] { server.register_method("", [] {}); }), status_code::invalid_argument,
              "needs a name");
  check_error(status_of_call([&] {
                server.register_method("g", [](const tensor&) {}, {tensor_spec{}, tensor_spec{}});
              }),
              status_code::invalid_argument, "has 2 specs, but the method takes 1");
  check_error(status_of_call([&] { server.register_method("g", [](int) {}, {tensor_spec{}}); }),
              status_code::invalid_argument, "is for tensors");
  server.start();
  check_error(status_of_call([&] { server.permit("late", {"worker"}); }), status_code::failed_precondition,
              "say it before");
  check_error(status_of_call([&] { server.register_method("late", [] {}); }), status_code::failed_precondition,
              "has been started");
  check_error(status_of_call([&] { server.start(); }), status_code::failed_precondition, "started already");
  server.stop();
  server.stop();
  check_error(status_of_call([&] { server.start(); }), status_code::failed_precondition, "was stopped");
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_port_in_use_is_an_error_that_names_it_and_the_start_can_be_tried_again) {
  auto first = make_server(layer);
  first.start();
  auto second = server::create(layer, first.address());
  second.register_method("f", [] { return 2; });
  check_error(status_of_call([&] { second.start(); }), status_code::unavailable, first.address());
  first.stop();
  second.start();
  BOOST_TEST(connect(second, layer).method<int()>("f").blocking() == 2);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(stopping_ends_open_calls_with_unavailable_and_cancels_their_methods) {
  gate started;
  gate cancelled;
  auto server = make_waiting_server(layer, started, cancelled);
  const auto client = connect(server, layer);
  const auto result = client.call("wait");
  BOOST_REQUIRE(started.wait());
  BOOST_TEST(server.open_calls() == 1u);
  server.stop();
  BOOST_TEST(cancelled.is_open());
  check_error(result.get_error(), status_code::unavailable, "");
  BOOST_TEST(server.open_calls() == 0u);
}

// --- the client's life -----------------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_client_waits_for_its_server_until_its_timeout) {
  auto later_server = make_server(layer);
  later_server.register_method("f", [] { return 1; });
  later_server.start();
  const auto address = later_server.address();
  later_server.stop();

  const auto before = std::chrono::steady_clock::now();
  check_error(status_of_call([&] { client::create(layer, address, "", 200ms); }), status_code::deadline_exceeded,
              address);
  BOOST_TEST((std::chrono::steady_clock::now() - before < patience));

  auto server = server::create(layer, address);
  server.register_method("f", [] { return 2; });
  std::thread waits{[&] {
    const auto client = client::create(layer, address, "", patience);
    if (client.method<int()>("f").blocking() != 2) std::abort();
  }};
  server.start();
  waits.join();
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_method_for_some_roles_needs_a_server_that_asks_for_certificates) {
  auto server = server::create(layer, "localhost:0");
  server.register_method("train", [] {});
  server.permit("train", {"worker"});
  check_error(status_of_call([&] { server.start(); }), status_code::failed_precondition,
              "\"train\" is for processes of the roles worker only, and this process asks nobody for a certificate");
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_call_waits_for_a_server_that_is_away_until_its_deadline) {
  auto first = make_server(layer);
  first.register_method("f", [] { return 1; });
  first.start();
  const auto client = connect(first, layer);
  const auto f = client.method<int()>("f");
  BOOST_TEST(f.blocking() == 1);
  first.stop();
  check_error(f.with_timeout(100ms)().get_error(), status_code::deadline_exceeded, "f");
  const auto waiting = f();
  auto second = server::create(layer, client.address());
  second.register_method("f", [] { return 2; });
  second.start();
  BOOST_TEST(waiting.is_ok(), waiting.get_error().render());
  BOOST_TEST(waiting.get_value() == 2);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_new_server_with_another_signature_refuses_the_old_one) {
  auto first = make_server(layer);
  first.register_method("f", [](int x) { return x; });
  first.start();
  const auto client = connect(first, layer);
  const auto f = client.method<int(int)>("f");
  first.stop();
  auto second = server::create(layer, client.address());
  second.register_method("f", [](double x) { return x; });
  second.start();
  check_error(f(1).get_error(), status_code::invalid_argument, "f(float64) -> float64");
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_timeout_of_zero_is_the_clients_and_another_one_overrides_it) {
  gate cancelled;
  gate cancelled_again;
  auto server = make_server(layer);
  server.register_method("wait", [&](bool again) { wait_for_cancellation(again ? cancelled_again : cancelled); });
  server.start();
  const auto patient = connect(server, layer, "patient");
  check_error(patient.call("wait", {false}, {}, 50ms).get_error(), status_code::deadline_exceeded, "wait");
  BOOST_TEST(cancelled.wait());  // the deadline ends the method, too
  const auto hasty = connect(server, layer, "hasty", 300ms);
  check_error(hasty.call("wait", {true}).get_error(), status_code::deadline_exceeded, "wait");
  BOOST_TEST(cancelled_again.wait());
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_call_may_take_longer_than_its_client_usually_waits) {
  // Before the server: the call that is over may still begin there.
  gate may_end;
  auto server = make_server(layer);
  server.register_method("wait", [&] { return may_end.wait(); });
  server.start();
  const auto hasty = connect(server, layer, "hasty", 300ms);
  const auto patient = hasty.call("wait", {}, {}, patience);
  // Begun later, and over before.
  check_error(hasty.call("wait").get_error(), status_code::deadline_exceeded, "wait");
  BOOST_TEST(!patient.ended());
  may_end.open();
  BOOST_TEST(patient.is_ok());
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(no_timeout_waits_as_long_as_the_server_lives) {
  gate started;
  gate cancelled;
  auto server = make_waiting_server(layer, started, cancelled);
  const auto client = connect(server, layer);
  const auto result = client.call("wait", {}, {}, no_timeout);
  BOOST_REQUIRE(started.wait());
  BOOST_TEST(!result.ended());
  server.stop();
  check_error(result.get_error(), status_code::unavailable, "");
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_cancelled_call_ends_at_once_and_its_method_is_cancelled) {
  gate started;
  gate cancelled;
  auto server = make_waiting_server(layer, started, cancelled);
  const auto client = connect(server, layer);
  const auto result = client.call("wait");
  BOOST_REQUIRE(started.wait());
  result.cancel();
  BOOST_TEST(result.ended());
  check_error(result.get_error(), status_code::cancelled, "");
  BOOST_TEST(cancelled.wait());
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_client_that_goes_takes_its_calls_along) {
  gate started;
  gate cancelled;
  auto server = make_waiting_server(layer, started, cancelled);
  std::optional<status_or_result> result;
  {
    const auto client = connect(server, layer);
    result = client.call("wait");
    BOOST_REQUIRE(started.wait());
  }
  check_error(result->get_error(), status_code::cancelled, "closed");
  BOOST_TEST(cancelled.wait());
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_closed_client_ends_calls_at_once) {
  auto server = make_server(layer);
  server.register_method("f", [] { return 1; });
  server.start();
  auto client = connect(server, layer);
  const auto f = client.method<int()>("f");
  client.close();
  check_error(f().get_error(), status_code::cancelled, "closed");
  check_error(client.call("f").get_error(), status_code::cancelled, "closed");
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(results_may_be_dropped_without_waiting) {
  auto server = make_server(layer);
  std::atomic<int> calls = 0;
  server.register_method("count", [&] { ++calls; });
  server.start();
  const auto client = connect(server, layer);
  for (auto i = 0; i < 100; ++i) client.call("count");
  client.method<void()>("count").blocking();
  while (calls < 101) std::this_thread::yield();
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_client_of_the_same_name_replaces_the_living_one) {
  auto server = make_server(layer);
  gate started;
  completion released;
  server.register_method("wait", [&] {
    started.open();
    released.wait_until(std::chrono::steady_clock::now() + patience, "the test");
    return 1;
  });
  server.register_method("f", [] { return 2; });
  server.start();
  const auto older = connect(server, layer, "same");
  const auto open = older.call("wait");
  BOOST_REQUIRE(started.wait());
  const auto newer = connect(server, layer, "same", 10s);
  released.set();
  BOOST_TEST(open.get_value<int>() == 1);  // as if nothing had happened
  BOOST_TEST(older.call("f").get_value<int>() == 2);
  BOOST_TEST(newer.call("f").get_value<int>() == 2);
  auto closing = newer;
  closing.close();
  check_error(older.call("f").get_error(), status_code::cancelled, "closed");  // both are one client
  const auto other = connect(server, layer, "other");
  BOOST_TEST(other.call("f").get_value<int>() == 2);
}

// --- many at once ----------------------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(methods_that_wait_let_others_run_and_answers_come_in_any_order) {
  auto server = make_server(layer);
  completion second_has_run;
  server.register_method("first", [&] {
    second_has_run.wait_until(std::chrono::steady_clock::now() + patience, "the second");
    return 1;
  });
  server.register_method("second", [&] {
    second_has_run.set();
    return 2;
  });
  server.start();
  const auto client = connect(server, layer);
  const auto first = client.call("first");
  const auto second = client.call("second");
  BOOST_TEST(first.get_value<int>() == 1);
  BOOST_TEST(second.get_value<int>() == 2);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(many_threads_and_clients_call_at_the_same_time) {
  auto server = make_server(layer, {.threads = 2});
  server.register_method("add", [](int a, int b) { return a + b; });
  server.start();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  const auto shared = connect(server, layer);
  for (auto t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const auto own = connect(server, layer, fmt::format("client {}", t));
      const auto mine = own.method<int(int, int)>("add");
      const auto common = shared.method<int(int, int)>("add");
      std::vector<std::pair<status_or<int>, int>> open;
      for (auto i = 0; i < 200; ++i) open.emplace_back((i % 2 ? mine : common)(t, i), t + i);
      for (const auto& [result, expected] : open)
        if (!result.is_ok() || result.get_value() != expected) ++wrong;
    });
  for (auto& thread : threads) thread.join();
  BOOST_TEST(wrong == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
