// The example of remote procedure calls (examples/rpc) as its users run it: the server is one program, its clients are
// other ones, in C++ over both layers and in Python over gRPC. Semantics: examples/reference/semantics.md 1.7.
#include "support/certificate_files.hpp"
#include "support/environment_variable.hpp"
#include "watched_program.hpp"

#include <troupe/runtime/door/credentials.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(rpc_examples_suite)

namespace {

/// The example's server on a free port.
class example_server {
 public:
  explicit example_server(const std::string& layer)
      : server_(RPC_SERVER_PROGRAM, {"--layer", layer, "--address", "localhost:0"}) {
    const auto begin = "serving " + layer + " on ";
    const auto output = server_.output_with("word_counts(");
    const auto at = output.find(begin) + begin.size();
    address_ = output.substr(at, output.find('\n') - at);
  }

  const std::string& address() const { return address_; }
  watched_program& server() { return server_; }

 private:
  watched_program server_;
  std::string address_;
};

struct outcome {
  std::string end;
  std::string output;
};

outcome run(const std::string& path, std::vector<std::string> arguments) {
  watched_program client{path, std::move(arguments)};
  const auto output = client.output();
  return {client.end(), output};
}

outcome run_python(const std::string& address, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {RPC_PYTHON_CLIENT, "--address", address, "--timeout", "30"});
  return run("/usr/bin/python3", std::move(arguments));
}

void check_has(const outcome& result, std::string_view text) {
  BOOST_TEST(result.output.find(text) != std::string::npos, "\"" << text << "\" is not in: " << result.output);
}

void run_tour(const std::string& layer) {
  example_server here{layer};
  const auto result = run(RPC_CLIENT_PROGRAM, {"--layer", layer, "--address", here.address(), "--timeout", "30"});
  BOOST_TEST(result.end == "exit code 0");
  for (const auto* line :
       {"method: addition(tensor, tensor) -> tensor\n", "addition by name: 5\n", "addition as a function: 5\n",
        "word_counts: be 2\n", "row_sums: 6 15\n", "observe: 3 so far, mean 3.00\n",
        "no such method: invalid_argument: the method \"subtraction\" is not registered",
        "wrong arguments: invalid_argument: argument 2 of addition must be int32 ()", "too slow: deadline_exceeded: "})
    check_has(result, line);
  here.server().output_with("count_primes: cancelled");  // the server does not compute on
  here.server().signal(SIGTERM);
  BOOST_TEST(here.server().end() == "exit code 0");
}

BOOST_AUTO_TEST_CASE(the_example_of_the_seed_runs_between_two_programs_over_caf) { run_tour("caf"); }
BOOST_AUTO_TEST_CASE(the_example_of_the_seed_runs_between_two_programs_over_grpc) { run_tour("grpc"); }

BOOST_AUTO_TEST_CASE(the_example_of_the_seed_runs_from_python) {
  example_server here{"grpc"};
  const auto result = run_python(here.address(), {});
  BOOST_TEST(result.end == "exit code 0");
  for (const auto* line :
       {"addition: 5\n", "addition of numbers: 5\n", "row_sums: [6.0, 15.0]\n",
        "word_counts: {'be': 2, 'not': 1, 'or': 1, 'to': 2}\n",
        "no such method: INVALID_ARGUMENT: the method \"subtraction\" is not registered",
        "wrong arguments: INVALID_ARGUMENT: argument 2 of addition must be int32 ()", "too slow: DEADLINE_EXCEEDED: "})
    check_has(result, line);
  here.server().output_with("count_primes: cancelled");
}

/// Processes that are started while it lives have this certificate.
class certified_children {
 public:
  explicit certified_children(const certificate_files& own)
      : certificate_(tls_certificate_variable, own.files().certificate),
        key_(tls_key_variable, own.files().key),
        authority_(tls_authority_variable, own.files().authority) {}

 private:
  const environment_variable certificate_;
  const environment_variable key_;
  const environment_variable authority_;
};

BOOST_AUTO_TEST_CASE(under_tls_the_example_serves_over_both_layers_whoever_has_a_certificate) {
  const auto authority = certificate_authority::make("examples");
  const certificate_files of_server{authority, {"examples", "server"}, {.hosts = {"localhost", "127.0.0.1"}}};
  const certificate_files of_client{authority, {"examples", "client"}};
  for (const auto* const layer : {"caf", "grpc"}) {
    std::optional<example_server> here;
    {
      const certified_children own{of_server};
      here.emplace(layer);
    }
    const std::vector<std::string> tour{"--layer", layer, "--address", here->address(), "--timeout", "3"};
    BOOST_TEST(run(RPC_CLIENT_PROGRAM, tour).end != "exit code 0");
    const certified_children own{of_client};
    check_has(run(RPC_CLIENT_PROGRAM, tour), "addition by name: 5\n");
    if (layer == std::string_view{"grpc"}) check_has(run_python(here->address(), {"addition", "2", "3"}), "5\n");
  }
}

BOOST_AUTO_TEST_CASE(python_calls_any_method_and_shows_the_code_and_the_text_of_an_error) {
  example_server here{"grpc"};
  check_has(run_python(here.address(), {"word_counts", "\"a b a\""}), "{\"a\": 2, \"b\": 1}\n");
  check_has(run_python(here.address(), {"observe", "2.5"}), "[1, 2.5]\n");
  check_has(run_python(here.address(), {"row_sums", R"({"float32": [[1, 2], [3, 4]]})"}), "[3.0, 7.0]\n");
  const auto wrong = run_python(here.address(), {"addition", "1"});
  BOOST_TEST(wrong.end == "exit code 1");
  check_has(wrong, "client.py: INVALID_ARGUMENT: addition takes 2 arguments, but got 1\n");
}

BOOST_AUTO_TEST_CASE(servers_tell_their_methods_and_services_to_any_client) {
  example_server here{"grpc"};
  check_has(run_python(here.address(), {"--list"}), "count_primes(int64) -> int64\n");
  const auto services = run_python(here.address(), {"--services"});
  check_has(services, "troupe.rpc.v1.Rpc\n");
  check_has(services, "grpc.reflection.v1alpha.ServerReflection\n");
}

BOOST_AUTO_TEST_CASE(wrong_command_lines_and_missing_servers_have_exit_codes_of_their_own) {
  for (const auto* path : {RPC_SERVER_PROGRAM, RPC_CLIENT_PROGRAM}) {
    BOOST_TEST(run(path, {"--help"}).end == "exit code 0");
    BOOST_TEST(run(path, {"--layer", "http"}).end == "exit code 2");
    BOOST_TEST(run(path, {"--address", "localhost"}).end == "exit code 2");
  }
  const auto help = run("/usr/bin/python3", {RPC_PYTHON_CLIENT, "--help"});
  BOOST_TEST(help.end == "exit code 0");
  check_has(help, "--services");
  BOOST_TEST(run_python("localhost:1", {"no", "JSON"}).end == "exit code 2");

  example_server here{"grpc"};
  const auto second = run(RPC_SERVER_PROGRAM, {"--address", here.address()});
  BOOST_TEST(second.end == "exit code 1");
  check_has(second, here.address());
  const auto alone = run(RPC_CLIENT_PROGRAM, {"--address", "localhost:1", "--timeout", "0.2"});
  BOOST_TEST(alone.end == "exit code 1");
  check_has(alone, "deadline_exceeded");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
