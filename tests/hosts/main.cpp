// One executable for both halves of a test on hosts, as that of the cluster tests. Without what the hosts need it is
// skipped, unless TROUPE_TEST_HOSTS is "required": then it fails.
#define BOOST_TEST_MODULE troupe
#define BOOST_TEST_NO_MAIN
#include "cluster/test_program.hpp"

#include <troupe/runtime/launch/host_network.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <string_view>

namespace {

/// ctest's word for a test that was not run: SKIP_RETURN_CODE.
constexpr int skipped = 77;

bool are_required() {
  const auto* const variable = std::getenv("TROUPE_TEST_HOSTS");
  return variable != nullptr && std::string_view{variable} == "required";
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("TF_CONFIG") != nullptr) {
    // So that a test can tell how long the process took to start from what it did then.
    troupe::say("begins");
    return troupe::test_program::run_task(argc, argv);
  }
  if (const auto obstacle = troupe::host_network::obstacle()) {
    fmt::print(stderr, "{}: tests on hosts of their own can't run here: {}\n", are_required() ? "failed" : "skipped",
               *obstacle);
    return are_required() ? EXIT_FAILURE : skipped;
  }
  return boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
}
