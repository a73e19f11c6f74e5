// Each limit of remote procedure calls, over both layers: beyond it a call ends with resource_exhausted that names the
// limit, the others are served meanwhile, and the place becomes free again. And methods that compute, or end otherwise
// than they should. actors/rpc/rpc_limits.hpp, runtime/rpc_server.hpp.
#include "rpc_test.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_limits_suite)

namespace {

/// A list in a list in a list.
datum nested(int depth) {
  datum result{1};
  for (auto level = 0; level < depth; ++level) result = datum::of(datum::list{std::move(result)});
  return result;
}

/// A server whose methods wait until the test lets them go.
struct holding_server {
  explicit holding_server(const std::string& layer, limits bounds, int threads = 1)
      : serving(make_server(layer, {.bounds = bounds, .threads = threads})) {
    serving.register_method("hold", [this] {
      const auto now = ++running;
      auto most = most_running.load();
      while (most < now && !most_running.compare_exchange_weak(most, now)) {
      }
      started.open();
      try {
        released.wait_until(std::chrono::steady_clock::now() + patience, "the test");
      } catch (...) {
        --running;
        throw;
      }
      --running;
      return ++done;
    });
    serving.register_method("echo", [](const datum& x) { return x; });
    serving.register_method("nested", nested);
    serving.register_method("text", [](std::int32_t size) { return std::string(static_cast<std::size_t>(size), 'x'); });
    serving.start();
  }

  std::atomic<int> running{0};
  std::atomic<int> most_running{0};
  std::atomic<int> done{0};
  gate started;
  completion released;
  server serving;
};

client_options own(limits bounds) {
  client_options options;
  options.bounds = bounds;
  return options;
}

/// Until the condition holds, at most as long as a test waits; whether it does.
template <class Condition>
bool comes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// --- open calls ------------------------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_client_refuses_calls_beyond_its_own_limit_until_one_has_ended) {
  holding_server server{layer, {}};
  const auto client = connect(server.serving, layer, "", patience, own({.calls_per_client_max = 2}));
  const auto first = client.call("hold");
  const auto second = client.call("hold");
  const auto third = client.call("echo", {1});
  check_error(third.get_error(), status_code::resource_exhausted, "calls_per_client_max");
  const auto other = connect(server.serving, layer);
  BOOST_TEST(other.call("echo", {1}).get_value<int>() == 1);
  server.released.set();
  BOOST_TEST(first.is_ok(), first.get_error().render());
  BOOST_TEST(second.is_ok(), second.get_error().render());
  BOOST_TEST(client.call("echo", {1}).get_value<int>() == 1);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_server_holds_each_client_to_its_limit_and_serves_the_others) {
  holding_server server{layer, {.calls_per_client_max = 2}};
  const auto client = connect(server.serving, layer);
  const auto first = client.call("hold");
  const auto second = client.call("hold");
  BOOST_TEST(comes_true([&] { return server.running == 2; }));
  check_error(client.call("echo", {1}).get_error(), status_code::resource_exhausted, "calls_per_client_max");
  const auto other = connect(server.serving, layer);
  BOOST_TEST(other.call("echo", {1}).get_value<int>() == 1);
  first.cancel();
  BOOST_TEST(comes_true([&] { return client.call("echo", {1}).is_ok(); }));
  server.released.set();
  BOOST_TEST(second.is_ok(), second.get_error().render());
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_server_refuses_calls_beyond_its_limit_whoever_makes_them) {
  holding_server server{layer, {.calls_per_server_max = 3}, 2};
  const auto one = connect(server.serving, layer);
  const auto other = connect(server.serving, layer);
  std::vector<status_or_result> open{one.call("hold"), one.call("hold"), other.call("hold")};
  BOOST_TEST(comes_true([&] { return server.serving.open_calls() == 3; }));
  check_error(one.call("echo", {1}).get_error(), status_code::resource_exhausted, "calls_per_server_max");
  check_error(other.call("echo", {1}).get_error(), status_code::resource_exhausted, "calls_per_server_max");
  server.released.set();
  for (const auto& each : open) BOOST_TEST(each.is_ok());
  BOOST_TEST(comes_true([&] { return server.serving.open_calls() == 0; }));
  BOOST_TEST(other.call("echo", {1}).get_value<int>() == 1);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(calls_beyond_those_that_may_run_wait_and_none_is_lost) {
  holding_server server{layer, {.running_calls_max = 3}};
  const auto client = connect(server.serving, layer);
  std::vector<status_or_result> open;
  for (auto i = 0; i < 50; ++i) open.push_back(client.call("hold"));
  BOOST_TEST(comes_true([&] { return server.serving.open_calls() == 50; }));
  BOOST_TEST(comes_true([&] { return server.running == 3; }));
  // A call that is over before its turn comes never runs.
  open.back().cancel();
  BOOST_TEST(comes_true([&] { return server.serving.open_calls() == 49; }));
  open.pop_back();
  server.released.set();
  std::vector<int> results;
  for (const auto& each : open) results.push_back(each.get_value<int>());
  std::sort(results.begin(), results.end());
  for (auto i = 0; i < 49; ++i) BOOST_TEST(results[static_cast<std::size_t>(i)] == i + 1);
  BOOST_TEST(server.most_running == 3);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_call_that_waits_for_its_turn_ends_at_its_deadline) {
  holding_server server{layer, {.running_calls_max = 1}};
  const auto client = connect(server.serving, layer);
  const auto first = client.call("hold");
  BOOST_REQUIRE(server.started.wait());
  check_error(client.call("echo", {1}, {}, 50ms).get_error(), status_code::deadline_exceeded, "echo");
  BOOST_TEST(comes_true([&] { return server.serving.open_calls() == 1; }));
  server.released.set();
  BOOST_TEST(first.is_ok(), first.get_error().render());
  BOOST_TEST(client.call("echo", {1}).get_value<int>() == 1);
}

// --- sizes -----------------------------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_request_beyond_the_limit_of_client_or_server_is_refused_with_its_size) {
  holding_server strict{layer, {.request_bytes_max = 10'000}};
  const auto client = connect(strict.serving, layer);
  const std::string large(20'000, 'x');
  check_error(client.call("echo", {large}).get_error(), status_code::resource_exhausted, "");
  check_error(client.call("echo", {large}).get_error(), status_code::resource_exhausted, "10000");
  BOOST_TEST(client.call("echo", {std::string(5'000, 'x')}).is_ok());

  holding_server generous{layer, {}};
  const auto modest = connect(generous.serving, layer, "", patience, own({.request_bytes_max = 10'000}));
  check_error(modest.call("echo", {large}).get_error(), status_code::resource_exhausted, "request_bytes_max");
  BOOST_TEST(modest.call("echo", {std::string(5'000, 'x')}).is_ok());
  BOOST_TEST(connect(generous.serving, layer).call("echo", {large}).is_ok());
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_result_beyond_the_limit_is_refused_and_the_next_one_is_sent) {
  holding_server server{layer, {.reply_bytes_max = 10'000}};
  const auto client = connect(server.serving, layer);
  check_error(client.call("text", {20'000}).get_error(), status_code::resource_exhausted, "reply_bytes_max");
  BOOST_TEST(client.call("text", {5'000}).get_value<std::string>().size() == 5'000u);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(large_tensors_count_with_all_their_bytes) {
  holding_server server{layer, {.request_bytes_max = 1 << 20, .reply_bytes_max = 1 << 19}};
  const auto client = connect(server.serving, layer);
  const auto large = tensor::zeros(dtype::float32, shape{1 << 19});
  const auto middle = tensor::zeros(dtype::float32, shape{200'000});
  const auto small = tensor::zeros(dtype::float32, shape{100'000});
  check_error(client.call("echo", {large}).get_error(), status_code::resource_exhausted, "");
  check_error(client.call("echo", {middle}).get_error(), status_code::resource_exhausted, "reply_bytes_max");
  BOOST_TEST(client.call("echo", {small}).get_value<tensor>().bitwise_equal(small));
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(data_nested_too_deep_end_their_own_call_and_no_other) {
  holding_server server{layer, {}};
  const auto client = connect(server.serving, layer);
  for (const auto depth : {datum::nesting_max + 1, 200})
    check_error(client.call("nested", {depth}).get_error(), status_code::invalid_argument, "nested more than 12 deep");
  const auto deepest = nested(datum::nesting_max);
  BOOST_TEST((client.call("nested", {int{datum::nesting_max}}).get_value<datum>() == deepest));
  BOOST_TEST((client.call("echo", {deepest}).get_value<datum>() == deepest));
  BOOST_TEST(client.call("echo", {1}).get_value<int>() == 1);
  BOOST_TEST(client.call("nested", {3}).get_value<datum>().flatten().size() == 1u);
}

// --- methods and clients ---------------------------------------------------------------------------------------------

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_server_has_as_many_methods_as_its_limit_allows) {
  auto server = make_server(layer, {.bounds = {.methods_max = 2}});
  server.register_method("f", [] { return 1; });
  server.register_method("g", [] { return 2; });
  check_error(status_of_call([&] { server.register_method("h", [] {}); }), status_code::resource_exhausted,
              "methods_max");
  server.start();
  BOOST_TEST(connect(server, layer).call("g").get_value<int>() == 2);
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_client_beyond_the_limit_is_refused_until_another_one_goes) {
  holding_server server{layer, {.clients_max = 2}};
  auto first = connect(server.serving, layer);
  const auto second = connect(server.serving, layer);
  // Over "grpc" a client counts while it has calls.
  const auto open_of_first = first.call("hold");
  const auto open_of_second = second.call("hold");
  BOOST_TEST(comes_true([&] { return server.running == 2; }));
  check_error(status_of_call([&] { connect(server.serving, layer); }), status_code::resource_exhausted, "clients_max");
  BOOST_TEST(second.call("echo", {1}).get_value<int>() == 1);
  first.close();
  std::optional<client> third;
  BOOST_TEST(comes_true([&] {
    try {
      third = connect(server.serving, layer);
      return true;
    } catch (const resource_exhausted_error&) {
      return false;  // the server has not heard of it yet
    }
  }));
  BOOST_TEST(third->call("echo", {1}).get_value<int>() == 1);
  server.released.set();
  BOOST_TEST(open_of_second.is_ok());
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(limits_of_zero_are_refused_on_both_sides) {
  check_error(status_of_call([&] { make_server(layer, {.bounds = {.clients_max = 0}}); }),
              status_code::invalid_argument, "clients_max");
  check_error(status_of_call([&] { client::create(layer, "localhost:1", "", 1s, own({.calls_per_client_max = 0})); }),
              status_code::invalid_argument, "calls_per_client_max");
  check_error(status_of_call([&] { make_server(layer, {.threads = 0}); }), status_code::invalid_argument, "0 threads");
}

// --- methods that compute --------------------------------------------------------------------------------------------

/// Computes until it is cancelled, or for as long as a test waits.
void compute(gate& cancelled) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  try {
    while (std::chrono::steady_clock::now() < limit) fiber_host::throw_if_cancelled();
  } catch (const cancelled_error&) {
    cancelled.open();
    throw;
  }
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_method_that_computes_and_looks_is_cancelled_by_the_deadline_of_its_call) {
  gate cancelled;
  auto server = make_server(layer);
  server.register_method("compute", [&] { compute(cancelled); });
  server.register_method("f", [] { return 1; });
  server.start();
  const auto client = connect(server, layer);
  check_error(client.call("compute", {}, {}, 50ms).get_error(), status_code::deadline_exceeded, "compute");
  BOOST_TEST(client.call("f").get_value<int>() == 1);
  BOOST_TEST(cancelled.wait());
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(a_method_that_computes_and_looks_is_cancelled_with_its_call_or_its_client) {
  gate cancelled[2];
  auto server = make_server(layer);
  gate started[2];
  server.register_method("compute", [&](std::int32_t which) {
    started[which].open();
    compute(cancelled[which]);
  });
  server.register_method("f", [] { return 1; });
  server.start();
  auto client = connect(server, layer);
  const auto open = client.call("compute", {0});
  BOOST_REQUIRE(started[0].wait());
  open.cancel();
  BOOST_TEST(cancelled[0].wait());
  client.call("compute", {1});
  BOOST_REQUIRE(started[1].wait());
  // Others are served meanwhile.
  BOOST_TEST(connect(server, layer).call("f").get_value<int>() == 1);
  BOOST_TEST(!cancelled[1].is_open());
  client.close();
  BOOST_TEST(cancelled[1].wait());
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(stopping_waits_for_a_method_that_never_looks_no_longer_than_its_limit) {
  constexpr auto stop_limit = 400ms;
  const auto over = std::make_shared<gate>();
  const auto running = std::make_shared<std::atomic<int>>(0);
  const auto ended = std::make_shared<std::atomic<int>>(0);
  auto server = make_server(layer, {.threads = 3, .stop_limit = stop_limit});
  server.register_method("block", [=] {
    ++*running;
    over->wait();
    ++*ended;
  });
  server.start();
  const auto client = connect(server, layer);
  std::vector<status_or_result> open;
  for (auto i = 0; i < 6; ++i) open.push_back(client.call("block"));
  BOOST_TEST(comes_true([&] { return *running == 3; }));
  const auto before = std::chrono::steady_clock::now();
  server.stop();
  const auto took = std::chrono::steady_clock::now() - before;
  BOOST_TEST_MESSAGE(layer << ": stopping took " << took / 1ms << " ms");
  // Half a second more for a port and a thread, on a machine that does other things.
  BOOST_TEST((took < stop_limit + 1500ms), took / 1ms);
  for (const auto& each : open) check_error(each.get_error(), status_code::unavailable, "");
  over->open();
  BOOST_TEST(comes_true([&] { return *ended == 3; }));
}

TROUPE_TEST_CASE_FOR_EACH_LAYER(whatever_a_method_throws_is_an_error_and_the_server_goes_on) {
  auto server = make_server(layer);
  server.register_method("number", []() -> int { throw 7; });
  server.register_method("text", []() -> int { throw "text"; });
  server.register_method("memory", []() -> int { throw std::bad_alloc{}; });
  server.register_method("cancelled", []() -> int { throw cancelled_error{"of its own accord"}; });
  server.register_method("f", [] { return 1; });
  server.start();
  const auto client = connect(server, layer);
  check_error(client.call("number").get_error(), status_code::unknown, "");
  check_error(client.call("text").get_error(), status_code::unknown, "");
  check_error(client.call("memory").get_error(), status_code::resource_exhausted, "");
  check_error(client.call("cancelled").get_error(), status_code::cancelled, "of its own accord");
  BOOST_TEST(client.call("f").get_value<int>() == 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
