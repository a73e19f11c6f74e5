// Lesson 6: calls the functions of rpc_server from another program. See README.md beside this file.
//
//   ./rpc_client --layer grpc --address localhost:4000
#include <troupe/runtime/rpc_client.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace std::chrono_literals;

enum exit_code { success = 0, failure = 1, usage_error = 2 };

struct settings {
  std::string layer = "grpc";
  std::string address = "localhost:4000";
  double timeout_s = 10;
};

/// The example of TensorFlow's documentation: first by name, then as a function.
void add(const rpc::client& client) {
  const auto a = tensor::scalar(2);
  const auto b = tensor::scalar(3);

  const auto result = client.call("addition", {a, b}, rpc::tensor_spec{dtype::int32});  // returns at once
  if (result.is_ok()) fmt::print("addition by name: {}\n", result.get_value().as<int>());

  const auto addition = client.method<tensor(tensor, tensor)>("addition");  // compares signatures here, once
  const auto again = addition(a, b);
  if (again.is_ok()) fmt::print("addition as a function: {}\n", again.get_value().item<int>());
}

void use_other_types(const rpc::client& client) {
  const auto counts =
      client.method<std::map<std::string, int>(std::string)>("word_counts").blocking("to be or not to be");
  for (const auto& [word, count] : counts) fmt::print("word_counts: {} {}\n", word, count);

  const auto matrix = tensor::of<float>({1, 2, 3, 4, 5, 6}).reshape({2, 3});
  const auto sums = client.call("row_sums", {matrix}).get_value<std::vector<float>>();
  fmt::print("row_sums: {}\n", fmt::join(sums, " "));
}

/// The server's own summary of what all clients observed: another struct there, with the same members.
struct summary {
  int count = 0;
  double mean = 0;
};

/// All calls are open at the same time.
void observe(const rpc::client& client) {
  const auto observe = client.method<summary(double)>("observe");
  std::vector<rpc::status_or<summary>> results;
  for (const auto x : {1.0, 2.0, 6.0}) results.push_back(observe(x));
  for (const auto& result : results) {
    const auto seen = result.get_value();
    fmt::print("observe: {} so far, mean {:.2f}\n", seen.count, seen.mean);
  }
}

/// Errors are values of the result; `get_value` and `blocking` throw them.
void fail(const rpc::client& client) {
  const auto show = [](const char* what, const status& why) {
    fmt::print("{}: {}: {}\n", what, to_string(why.code()), why.message());
  };
  show("no such method", client.call("subtraction", {2, 3}).get_error());
  show("wrong arguments", client.call("addition", {2, "three"}).get_error());
  try {
    client.method<std::int64_t(std::int64_t)>("count_primes").with_timeout(200ms).blocking(1'000'000'000);
  } catch (const deadline_exceeded_error& late) {
    show("too slow", late.get_status());
  }
}

rpc::client connect(const settings& chosen) {
  const auto timeout = std::chrono::duration_cast<duration>(std::chrono::duration<double>{chosen.timeout_s});
  try {
    return rpc::client::create(chosen.layer, chosen.address, "rpc_client", timeout);
  } catch (const invalid_argument_error& wrong) {
    throw CLI::ValidationError{"--address", wrong.what()};
  }
}

void run(const settings& chosen) {
  const auto client = connect(chosen);
  for (const auto& method : client.methods()) fmt::print("method: {}\n", to_string(method));
  add(client);
  use_other_types(client);
  observe(client);
  fail(client);
}

}  // namespace

int main(int argc, char** argv) {
  settings chosen;
  CLI::App options{"Calls the functions of rpc_server", "rpc_client"};
  options.add_option("--layer", chosen.layer, "The server's layer: grpc or caf")
      ->check(CLI::IsMember({"grpc", "caf"}))
      ->capture_default_str();
  options.add_option("--address", chosen.address, "The server's address, HOST:PORT")->capture_default_str();
  options.add_option("--timeout", chosen.timeout_s, "Seconds to wait for the server, and for each call")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  options.footer(
      "Exit codes:\n"
      "  0     done\n"
      "  1     a call failed, or there is no server\n"
      "  2     wrong usage");
  try {
    options.parse(argc, argv);
    run(chosen);
    return success;
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() == 0) return options.exit(stop);
    fmt::print(stderr, "rpc_client: {} (see --help)\n", stop.what());
    return usage_error;
  } catch (const std::exception& failed) {
    fmt::print(stderr, "rpc_client: {}\n", failed.what());
    return failure;
  }
}
