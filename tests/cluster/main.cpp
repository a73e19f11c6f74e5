// One executable for both halves of a cluster test: the test cases, and the tasks that they start.
#define BOOST_TEST_MODULE troupe
#define BOOST_TEST_NO_MAIN
#include "test_program.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>

int main(int argc, char** argv) {
  if (std::getenv("TF_CONFIG") != nullptr) return troupe::test_program::run_task(argc, argv);
  return boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
}
