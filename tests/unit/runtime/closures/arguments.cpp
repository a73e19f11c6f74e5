// Arguments of another type than the function's parameter: they arrive as the same number, or not at all. (What does
// not compile is in tests/compile_errors.)
#include "support/local_world.hpp"

#include <cstdint>
#include <limits>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(arguments_suite)

namespace {

template <class Work>
bool does_not_fit(Work work, const char* says_this) {
  try {
    work();
    return false;
  } catch (const invalid_argument_error& thrown) {
    return says(thrown, says_this);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(numbers_that_the_parameter_holds_are_converted) {
  local_world world;
  auto& coordinator = world.coordinator;
  BOOST_TEST(coordinator.schedule([](std::size_t x) { return x; }, 3).fetch() == 3u);
  BOOST_TEST(coordinator.schedule([](float x) { return x; }, 3).fetch() == 3.0f);
  BOOST_TEST(coordinator.schedule([](float x) { return x; }, 0.1).fetch() == 0.1f);
  BOOST_TEST(coordinator.schedule([](double x) { return x; }, 0.1f).fetch() == static_cast<double>(0.1f));
  BOOST_TEST(coordinator.schedule([](std::int8_t x) { return int{x}; }, -128L).fetch() == -128);
  BOOST_TEST(coordinator.schedule([](bool x) { return x; }, 2).fetch());
  BOOST_TEST(
      coordinator.schedule([](int x, const std::size_t& y) { return x + static_cast<int>(y); }, 2ul, 3).fetch() == 5);
}

BOOST_AUTO_TEST_CASE(integers_that_it_does_not_hold_are_refused_when_they_are_passed) {
  local_world world;
  auto& coordinator = world.coordinator;
  BOOST_TEST(does_not_fit([&] { coordinator.schedule([](std::size_t) {}, -1); },
                          "the argument -1 does not fit into the function's parameter of type"));
  BOOST_TEST(does_not_fit([&] { coordinator.schedule([](int) {}, std::numeric_limits<std::int64_t>::max()); },
                          "9223372036854775807"));
  BOOST_TEST(does_not_fit([&] { coordinator.schedule([](int) {}, 4'000'000'000u); }, "of type int"));
  BOOST_TEST(does_not_fit([&] { coordinator.schedule([](std::uint8_t) {}, 256); }, "256"));
  // Nothing was scheduled.
  coordinator.join();
  BOOST_TEST(coordinator.schedule([](std::uint8_t x) { return int{x}; }, 255).fetch() == 255);
}

BOOST_AUTO_TEST_SUITE_END()
