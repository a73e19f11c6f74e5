// A scenario as a test of Boost.Test that searches for a run that goes wrong.
//
//   TROUPE_SIMULATION_TEST(no_update_is_lost, 1000, 10s) {
//     world.host("server", server);
//     ...
//   }
//   TROUPE_SIMULATION_TEST(no_update_is_lost_when_the_server_dies, 1000, 10s,
//                          fault_rates{.hosts = {"server"}}) {...}
//
// The body is a scenario with the world as `world` (exploration.hpp); the numbers are how many seeds are tried, and how
// long no more than. A failure is reported with all that it takes to see it again. Its seed is kept in a file, and runs
// first from then on, so that what was found once is never forgotten: TROUPE_FAILING_SEEDS names the file, by default
// "failing_seeds" in the working directory. It is a text with one "test seed" in a line, in which a seed whose fault is
// mended may stay as a test of the mend. TROUPE_SEED, TROUPE_SEEDS and TROUPE_PLAN choose runs as in exploration.hpp.
// `--log_level=message` shows how often each fault fired and was survived.
#pragma once

#include <troupe/runtime/exploration.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace troupe::detail {

inline void run_simulation_test(const std::string& name, const scenario& what, std::uint64_t runs,
                                std::chrono::milliseconds budget, std::optional<fault_rates> faults = std::nullopt) {
  exploration_options options;
  options.runs = runs;
  options.budget = budget;
  options.faults = std::move(faults);
  const auto result = explore_with_memory(name, what, std::move(options));
  if (result.found) BOOST_ERROR(result.found->report());
  BOOST_TEST_MESSAGE(name << ": " << result.runs << " runs\n" << result.describe_coverage());
}

}  // namespace troupe::detail

#define TROUPE_SIMULATION_TEST(name, ...)                                                                     \
  static void name##_scenario(::troupe::simulated_world& world);                                              \
  BOOST_AUTO_TEST_CASE(name) { ::troupe::detail::run_simulation_test(#name, &name##_scenario, __VA_ARGS__); } \
  static void name##_scenario([[maybe_unused]] ::troupe::simulated_world& world)
