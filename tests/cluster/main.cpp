// One executable for both halves of a cluster test: the test cases, and the tasks that they start.
#include "test_program.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>

bool init_unit_test();  // Boost.Test defines it in the source that holds the test cases

int main(int argc, char** argv) {
  if (std::getenv("TF_CONFIG") != nullptr) return troupe::test_program::run_task(argc, argv);
  return boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
}
