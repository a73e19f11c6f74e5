// Whether GPUs are emulated, and how many: decided once in a process, so each case has one of its own.
#include "support/environment_variable.hpp"
#include "support/in_a_child.hpp"
#include "support/refusal.hpp"

#include <troupe/device/accelerators/accelerators.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(emulation_choice_suite)

namespace {

/// What a fresh process says that has this in its environment.
bool names_are(const std::string& variable, const std::vector<std::string>& expected) {
  return in_a_child([&] {
    const environment_variable set{emulated_gpus_variable, variable};
    return gpu_names() == expected;
  });
}

bool is_refused(const std::string& variable) {
  return in_a_child([&] {
    const environment_variable set{emulated_gpus_variable, variable};
    return refuses<invalid_argument_error>([] { gpu_names(); }, "\"" + variable + "\"; expected how many GPUs");
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_environment_says_how_many_gpus_are_emulated) {
  BOOST_TEST(names_are("2", {"GPU:0", "GPU:1"}));
  BOOST_TEST(names_are("1", {"GPU:0"}));
  for (const auto* const wrong : {"", "0", "-1", "65", "2 ", "two", "99999999999999999999"})
    BOOST_TEST(is_refused(wrong), "\"" << wrong << "\"");
}

BOOST_AUTO_TEST_CASE(what_the_program_says_counts_more_than_the_environment) {
  BOOST_TEST(in_a_child([] {
    const environment_variable set{emulated_gpus_variable, "2"};
    emulate_gpus(3);
    return gpu_names().size() == 3;
  }));
}

BOOST_AUTO_TEST_CASE(numbers_that_cannot_be_are_refused) {
  for (const auto count : {0, -1, emulated_gpus_max + 1})
    BOOST_TEST(refuses<invalid_argument_error>([&] { emulate_gpus(count); }, "expected 1 to 64"));
  BOOST_TEST(refuses<invalid_argument_error>([] { emulate_gpus(2, {.delay_max = std::chrono::microseconds{-1}}); },
                                             "up to -1 us later"));
}

BOOST_AUTO_TEST_CASE(once_gpus_were_asked_for_it_is_too_late) {
  BOOST_TEST(in_a_child([] {
    gpu_names();
    return refuses<failed_precondition_error>([] { emulate_gpus(2); }, "has used its GPUs before");
  }));
  BOOST_TEST(in_a_child([] {
    emulate_gpus(2);
    return refuses<failed_precondition_error>([] { emulate_gpus(2); }, "which were emulated");
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
