// Lesson 6: offers functions to other programs by name. See README.md beside this file.
//
//   ./rpc_server --layer grpc --address localhost:4000
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/rpc_server.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

namespace {

using namespace troupe;

enum exit_code { success = 0, failure = 1, usage_error = 2 };

struct settings {
  std::string layer = "grpc";
  std::string address = "localhost:4000";
  int threads = 2;
};

// --- the methods: ordinary functions --------------------------------------------------------------------------------

tensor addition(tensor a, const tensor& b) {
  add_in_place(a, b);
  return a;
}

tensor row_sums(const tensor& matrix) {
  const auto rows = matrix.get_shape()[0];
  const auto columns = matrix.get_shape()[1];
  auto sums = tensor::zeros(dtype::float32, shape{rows});
  const auto from = matrix.values<float>();
  const auto to = sums.mutable_values<float>();
  for (std::int64_t i = 0; i < rows * columns; ++i)
    to[static_cast<std::size_t>(i / columns)] += from[static_cast<std::size_t>(i)];
  return sums;
}

std::map<std::string, int> word_counts(const std::string& text) {
  std::map<std::string, int> counts;
  std::istringstream words{text};
  for (std::string word; words >> word;) ++counts[word];
  return counts;
}

bool is_prime(std::int64_t number) {
  for (std::int64_t divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0) return false;
  return number >= 2;
}

/// May take long, so it looks now and then whether its caller still waits.
std::int64_t count_primes(std::int64_t below) {
  std::int64_t count = 0;
  try {
    for (std::int64_t number = 0; number < below; ++number) {
      fiber_host::throw_if_cancelled();
      if (is_prime(number)) ++count;
    }
  } catch (const cancelled_error& why) {
    fmt::print("count_primes: {}\n", why.what());
    std::fflush(stdout);
    throw;
  }
  return count;
}

/// What the server remembers. One server's methods run on several threads here, hence the mutex.
class running_mean {
 public:
  struct summary {
    int count = 0;
    double mean = 0;
  };

  summary add(double x) {
    const std::scoped_lock lock{mutex_};
    ++seen_.count;
    seen_.mean += (x - seen_.mean) / seen_.count;
    return seen_;
  }

 private:
  std::mutex mutex_;
  summary seen_;
};

// --- the server -----------------------------------------------------------------------------------------------------

void serve(const settings& chosen, const sigset_t& ends) {
  running_mean observations;
  auto server = rpc::server::create(chosen.layer, chosen.address, {.threads = chosen.threads});
  server.register_method<addition>("addition", {rpc::tensor_spec{dtype::int32}, rpc::tensor_spec{dtype::int32}});
  server.register_method<row_sums>("row_sums",
                                   {rpc::tensor_spec{dtype::float32, {rpc::tensor_spec::any, rpc::tensor_spec::any}}});
  server.register_method<word_counts>("word_counts");
  server.register_method<count_primes>("count_primes");
  // A lambda may hold what it needs; what it refers to must live as long as the server.
  server.register_method("observe", [&observations](double x) { return observations.add(x); });
  server.start();
  fmt::print("serving {} on {}\n", chosen.layer, server.address());
  for (const auto& method : server.methods()) fmt::print("  {}\n", to_string(method));
  std::fflush(stdout);
  auto number = 0;
  ::sigwait(&ends, &number);
  server.stop();
  fmt::print("stopped\n");
}

/// Blocked in all threads, so that only `serve` takes them.
sigset_t block_end_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return ends;
}

}  // namespace

int main(int argc, char** argv) {
  settings chosen;
  CLI::App options{"Offers a few functions to other programs until it gets SIGINT or SIGTERM", "rpc_server"};
  options.add_option("--layer", chosen.layer, "What calls come over: grpc (clients in any language) or caf")
      ->check(CLI::IsMember({"grpc", "caf"}))
      ->capture_default_str();
  options.add_option("--address", chosen.address, "Where to listen, HOST:PORT; port 0 takes a free one")
      ->capture_default_str();
  options.add_option("--threads", chosen.threads, "On how many threads methods run")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  options.footer(
      "Exit codes:\n"
      "  0     ended by a signal\n"
      "  1     could not serve\n"
      "  2     wrong usage");
  try {
    options.parse(argc, argv);
    serve(chosen, block_end_signals());
    return success;
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() == 0) return options.exit(stop);
    fmt::print(stderr, "rpc_server: {} (see --help)\n", stop.what());
    return usage_error;
  } catch (const invalid_argument_error& wrong) {
    fmt::print(stderr, "rpc_server: {} (see --help)\n", wrong.what());
    return usage_error;
  } catch (const std::exception& failed) {
    fmt::print(stderr, "rpc_server: {}\n", failed.what());
    return failure;
  }
}
