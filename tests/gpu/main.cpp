// Says so, and leaves with the status that ctest takes for "skipped", when GPUs are asked for and there is none.
#define BOOST_TEST_MODULE troupe
#define BOOST_TEST_NO_MAIN
#include "support/test_devices.hpp"

#include <troupe/device/cuda/cuda_device.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  constexpr auto skipped = 77;  // SKIP_RETURN_CODE in TroupeTargets.cmake
  if (troupe::tests_gpus() && troupe::test_devices().empty()) {
    std::puts(troupe::cuda::is_built() ? "skipped: there is no CUDA device on this machine"
                                       : "skipped: troupe was built without CUDA");
    return skipped;
  }
  return boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
}
