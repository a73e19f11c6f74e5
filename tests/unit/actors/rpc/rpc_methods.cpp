// The methods of a server: how they are made of functions, called with data, found by name, and counted against the
// limits; actors/rpc/rpc_method.hpp, rpc_limits.hpp, rpc_admission.hpp, rpc_call.hpp.
#include "support/refusal.hpp"

#include <troupe/actors/rpc/internal/rpc_admission.hpp>
#include <troupe/actors/rpc/rpc_call.hpp>
#include <troupe/actors/rpc/rpc_method.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_methods_suite)

namespace {

using namespace std::chrono_literals;

struct point {
  std::int32_t x = 0;
  double y = 0;
};

std::int32_t twice(std::int32_t x) { return 2 * x; }

std::string signature_of(const method& of) { return of.description.signature; }

struct known_methods {
  known_methods() {
    methods.add(make_method("add", [](std::int32_t a, std::int32_t b) { return a + b; }), 10);
    methods.add(make_method("greet", [](const std::string& name) { return "hello " + name; }), 10);
    methods.add(make_method("nothing", [] {}), 10);
    methods.add(make_method("rows", [](const tensor& x, const tensor&) { return x; },
                            {tensor_spec{dtype::float32, {tensor_spec::any, 2}}, tensor_spec{dtype::int32}}),
                10);
  }
  datum call(std::string_view name, std::vector<datum> arguments, std::uint64_t tag = 0) {
    return call_method(methods, name, tag, arguments);
  }
  method_table methods;
};

// --- signatures ------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_signature_is_made_of_the_types_of_parameters_and_result) {
  BOOST_TEST(signature_of(make_method("f", [] {})) == "() -> nothing");
  BOOST_TEST(signature_of(make_method("f", twice)) == "(int32) -> int32");
  BOOST_TEST(signature_of(make_method("f", &twice)) == "(int32) -> int32");
  BOOST_TEST(signature_of(make_method("f", [](const std::string&, std::vector<float>) -> const point& {
               static const point result;
               return result;
             })) == "(string, float32[]) -> {int32, float64}");
  BOOST_TEST(signature_of(make_method("f", std::function<datum(const datum&)>{[](const datum& x) { return x; }})) ==
             "(any) -> any");
  BOOST_TEST((detail::signature_of<std::int32_t(std::int32_t, const tensor&)>::text() == "(int32, tensor) -> int32"));
  BOOST_TEST(to_string(make_method("addition", twice).description) == "addition(int32) -> int32");
}

BOOST_AUTO_TEST_CASE(equal_signatures_have_equal_tags_and_no_tag_is_zero) {
  BOOST_TEST(make_method("f", twice).tag == signature_tag("(int32) -> int32"));
  BOOST_TEST(make_method("g", [](const std::int32_t& x) { return x; }).tag == make_method("f", twice).tag);
  BOOST_TEST(signature_tag("(int32) -> int32") != signature_tag("(int32) -> float32"));
  for (auto i = 0; i < 1000; ++i) BOOST_TEST_REQUIRE(signature_tag(std::to_string(i)) != 0u);
}

BOOST_AUTO_TEST_CASE(input_specs_are_shown_and_must_fit_the_parameters) {
  const auto one = make_method("f", [](const tensor&) {}, {tensor_spec{dtype::int32, {tensor_spec::any, 2}}});
  BOOST_TEST(one.description.input_specs == "int32 (?, 2)");
  const auto two = make_method("f", [](tensor, const tensor&) {}, {tensor_spec{}, tensor_spec{dtype::boolean}});
  BOOST_TEST(two.description.input_specs == "float32 (), boolean ()");
  BOOST_TEST(make_method("f", [](const tensor&) {}).description.input_specs.empty());

  const auto takes_tensor = [](const tensor&) {};
  BOOST_TEST(refuses<invalid_argument_error>(
      [&] {
        make_method("f", takes_tensor, {tensor_spec{}, tensor_spec{}});
      },
      "the input signature of f has 2 specs, but the method takes 1"));
  BOOST_TEST(refuses<invalid_argument_error>([] { make_method("f", [] {}, {tensor_spec{}}); }, "the method takes 0"));
  BOOST_TEST(refuses<invalid_argument_error>(
      [] {
        make_method("f", [](const tensor&, int) {}, {tensor_spec{}, tensor_spec{}});
      },
      "parameter 2 of (tensor, int32) -> nothing is none"));
  BOOST_TEST(refuses<invalid_argument_error>([] { make_method("", [] {}); }, "a method needs a name"));
}

// --- calls -----------------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_call_takes_its_arguments_apart_and_makes_data_of_the_result, known_methods) {
  BOOST_TEST((call("add", {2, 3}) == datum{5}));
  BOOST_TEST((call("add", {tensor::scalar(2), std::uint64_t{3}}) == datum{5}));
  BOOST_TEST((call("greet", {"you"}) == datum{"hello you"}));
  BOOST_TEST(call("nothing", {}).empty());
  BOOST_TEST((call("add", {2, 3}, signature_tag("(int32, int32) -> int32")) == datum{5}));
}

BOOST_FIXTURE_TEST_CASE(wrong_calls_are_invalid_arguments_that_say_what_is_wrong, known_methods) {
  const auto is_refused = [&](std::string_view name, std::vector<datum> arguments, std::string_view part,
                              std::uint64_t tag = 0) {
    return refuses<invalid_argument_error>([&] { call(name, std::move(arguments), tag); }, part);
  };
  BOOST_TEST(is_refused("divide", {}, "\"divide\" is not registered; this server has: add, greet, nothing, rows"));
  BOOST_TEST(is_refused("add", {1}, "add takes 2 arguments, but got 1"));
  BOOST_TEST(is_refused("greet", {}, "greet takes 1 argument, but got 0"));
  BOOST_TEST(is_refused("nothing", {1}, "nothing takes 0 arguments, but got 1"));
  BOOST_TEST(is_refused("add", {"a", "b"}, "argument 1 of add: int32 was expected, but got text \"a\""));
  BOOST_TEST(is_refused("add", {1, 2.5}, "argument 2 of add: int32 was expected"));
  BOOST_TEST(is_refused("add", {1, 2}, "another signature than the server's add(int32, int32) -> int32",
                        signature_tag("(int32, int32) -> float32")));
}

BOOST_FIXTURE_TEST_CASE(input_specs_are_checked_before_the_function_is_called, known_methods) {
  const auto rows = tensor::zeros(dtype::float32, shape{3, 2});
  BOOST_TEST(call("rows", {rows, 1}).as<tensor>().bitwise_equal(rows));
  BOOST_TEST(refuses<invalid_argument_error>(
      [&] {
        call("rows", {tensor::of<float>({1, 2}), 1});
      },
      "argument 1 of rows must be float32 (?, 2), but is tensor float32 (2"));
  BOOST_TEST(refuses<invalid_argument_error>(
      [&] {
        call("rows", {rows, 1.5});
      },
      "argument 2 of rows must be int32 (), but is number 1.5"));
  BOOST_TEST(refuses<invalid_argument_error>([&] { call("rows", {rows}); }, "rows takes 2 arguments, but got 1"));
}

BOOST_AUTO_TEST_CASE(a_number_that_a_spec_allows_reaches_the_method_as_the_tensor_that_the_spec_names) {
  auto found = tensor::scalar(false);
  const auto f = make_method("f", [&](const tensor& x) { found = x; }, {tensor_spec{dtype::int32}});
  const std::vector<datum> arguments{2};
  f.call(arguments);
  BOOST_TEST(found.bitwise_equal(tensor::scalar(std::int32_t{2})), found.to_string());
}

BOOST_AUTO_TEST_CASE(what_a_method_throws_is_thrown_as_it_is) {
  method_table methods;
  methods.add(make_method("f", []() -> int { throw out_of_range_error{"row 7"}; }), 2);
  methods.add(make_method("g", []() -> int { throw 7; }), 2);
  BOOST_TEST(refuses<out_of_range_error>([&] { call_method(methods, "f", 0, {}); }, "row 7"));
  BOOST_CHECK_THROW(call_method(methods, "g", 0, {}), int);
}

BOOST_AUTO_TEST_CASE(a_method_may_hold_what_can_be_neither_copied_nor_shared) {
  method_table methods;
  methods.add(make_method("next", [count = std::make_unique<int>(0)] { return ++*count; }), 1);
  auto copy = methods;
  BOOST_TEST((call_method(methods, "next", 0, {}) == datum{1}));
  BOOST_TEST((call_method(copy, "next", 0, {}) == datum{2}));
}

// --- the table -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_name_is_taken_once_and_the_number_of_methods_is_limited) {
  method_table methods;
  methods.add(make_method("b", [] {}), 2);
  methods.add(make_method("a", twice), 2);
  BOOST_TEST(refuses<invalid_argument_error>([&] { methods.add(make_method("a", [] {}), 10); },
                                             "\"a\" is registered already, as a(int32) -> int32"));
  BOOST_TEST(
      refuses<resource_exhausted_error>([&] { methods.add(make_method("c", [] {}), 2); },
                                        "\"c\" would be method 3 of this server, whose limit (methods_max) is 2"));
  const auto all = methods.describe();
  BOOST_REQUIRE(all.size() == 2u);
  BOOST_TEST(all[0].name == "a");
  BOOST_TEST(all[1].name == "b");
  const method_table empty;
  BOOST_TEST(refuses<invalid_argument_error>([&] { static_cast<void>(empty.find_or_throw("a")); }, "has: none"));
}

BOOST_FIXTURE_TEST_CASE(a_method_is_found_by_name_and_signature, known_methods) {
  const auto all = methods.describe();
  BOOST_TEST(find_method(all, "add", "(int32, int32) -> int32", "s:1").name == "add");
  BOOST_TEST(refuses<not_found_error>(
      [&] { static_cast<void>(find_method(all, "sub", "() -> int32", "s:1")); },
      "the server s:1 has no method \"sub\"; it has: add(int32, int32) -> int32, greet(string) -> string, "));
  BOOST_TEST(refuses<invalid_argument_error>(
      [&] { static_cast<void>(find_method(all, "add", "(int32) -> int32", "s:1")); },
      "add(int32) -> int32 was expected, but the server s:1 has add(int32, int32) -> int32"));
  BOOST_TEST(refuses<not_found_error>([&] { static_cast<void>(find_method({}, "f", "", "s:1")); }, "it has: none"));
}

// --- who may call ----------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_method_is_for_everybody_until_roles_are_named, known_methods) {
  BOOST_TEST(methods.check_caller("add", "").ok());
  BOOST_TEST((methods.find_permitted() == nullptr));
  methods.permit("add", {"worker", "chief"});
  BOOST_TEST(methods.find_permitted()->description.name == "add");
  for (const auto* const role : {"worker", "chief"}) BOOST_TEST(methods.check_caller("add", role).ok());
  for (const auto* const role : {"", "client", "work", "worker2"})
    BOOST_TEST((methods.check_caller("add", role).code() == status_code::permission_denied), role);
  BOOST_TEST(methods.check_caller("add", "client").message() ==
             "\"add\" is for processes of the roles worker, chief, and the caller's is client");
  BOOST_TEST(methods.check_caller("greet", "client").ok());
  methods.permit("add", {"client"});
  BOOST_TEST(methods.check_caller("add", "client").ok());
  BOOST_TEST(!methods.check_caller("add", "worker").ok());
  // Whether there is such a method, the call itself says.
  BOOST_TEST(methods.check_caller("subtract", "client").ok());
}

BOOST_FIXTURE_TEST_CASE(nothing_can_be_permitted_that_is_not_there_or_to_nobody, known_methods) {
  BOOST_TEST(refuses<invalid_argument_error>([&] { methods.permit("subtract", {"worker"}); },
                                             "\"subtract\" is not registered"));
  for (const auto& nobody : {std::vector<std::string>{}, {"worker", ""}})
    BOOST_TEST(
        refuses<invalid_argument_error>([&] { methods.permit("add", nobody); }, "expected jobs of certificates"));
  BOOST_TEST((methods.find_permitted() == nullptr));
}

// --- limits ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_limit_of_zero_is_refused_by_name) {
  limits{}.check();
  const auto names = [](std::size_t limits::*which, std::string_view name) {
    limits bounds;
    bounds.*which = 0;
    return refuses<invalid_argument_error>([&] { bounds.check(); }, name);
  };
  BOOST_TEST(names(&limits::calls_per_server_max, "the limit calls_per_server_max is 0, but must be at least 1"));
  BOOST_TEST(names(&limits::calls_per_client_max, "calls_per_client_max"));
  BOOST_TEST(names(&limits::running_calls_max, "running_calls_max"));
  BOOST_TEST(names(&limits::request_bytes_max, "request_bytes_max"));
  BOOST_TEST(names(&limits::reply_bytes_max, "reply_bytes_max"));
  BOOST_TEST(names(&limits::methods_max, "methods_max"));
  BOOST_TEST(names(&limits::clients_max, "clients_max"));
}

bool refused_by(const status& why, std::string_view limit) {
  BOOST_TEST_MESSAGE(why.render());
  return why.code() == status_code::resource_exhausted && why.message().find(limit) != std::string::npos;
}

BOOST_AUTO_TEST_CASE(each_limit_of_open_calls_is_named_and_places_become_free_again) {
  admission admitted{{.calls_per_server_max = 4, .calls_per_client_max = 2, .clients_max = 3}};
  BOOST_TEST(admitted.enter(1).ok());
  BOOST_TEST(admitted.enter(1).ok());
  BOOST_TEST(refused_by(admitted.enter(1), "2 open calls, its limit (calls_per_client_max)"));
  BOOST_TEST(admitted.enter(2).ok());
  BOOST_TEST(admitted.enter(3).ok());
  BOOST_TEST(refused_by(admitted.enter(2), "4 open calls, its limit (calls_per_server_max)"));
  BOOST_TEST(admitted.calls() == 4u);
  BOOST_TEST(admitted.clients() == 3u);

  admitted.leave(1);
  BOOST_TEST(refused_by(admitted.enter(4), "3 clients, its limit (clients_max)"));
  BOOST_TEST(admitted.enter(1).ok());
  admitted.leave(2);
  BOOST_TEST(admitted.clients() == 2u);
  BOOST_TEST(admitted.enter(4).ok());
  for (const auto client : {1, 1, 3, 4}) admitted.leave(static_cast<std::uint64_t>(client));
  BOOST_TEST(admitted.calls() == 0u);
  BOOST_TEST(admitted.clients() == 0u);
  admitted.leave(7);  // nobody
  BOOST_TEST(admitted.calls() == 0u);
}

// --- one call --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(of_two_ends_the_first_one_counts) {  // RPC-1
  call one{"f", 0, {}, never};
  auto heard = 0;
  one.on_end([&] { ++heard; });
  BOOST_TEST(!one.ended());
  BOOST_TEST(one.finish({}, datum{7}));
  BOOST_TEST(!one.finish({status_code::cancelled, "too late"}));
  one.wait();
  BOOST_TEST(one.end_status().ok());
  BOOST_TEST((one.result() == datum{7}));
  BOOST_TEST(heard == 1);
  one.on_end([&] { ++heard; });
  BOOST_TEST(heard == 2);
}

BOOST_AUTO_TEST_CASE(of_many_threads_that_end_a_call_one_does_and_every_observer_hears_it_once) {  // RPC-1
  for (auto round = 0; round < 200; ++round) {
    call one{"f", 0, {}, never};
    std::atomic<int> ended{0};
    std::atomic<int> heard{0};
    std::atomic<bool> begin{false};
    std::vector<std::thread> threads;
    for (auto i = 0; i < 3; ++i)
      threads.emplace_back([&, i] {
        while (!begin) std::this_thread::yield();
        one.on_end([&] { ++heard; });
        if (one.finish({}, datum{i})) ++ended;
        one.wait();
      });
    begin = true;
    for (auto& each : threads) each.join();
    BOOST_TEST_REQUIRE(ended == 1);
    BOOST_TEST_REQUIRE(heard == 3);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
