// What tests of searches share: the environment that a search reads, and the counter of lesson 8 as its scenario.
#pragma once

#include "../../examples/replicated_counter/counter_protocol.hpp"
#include "probe.hpp"

#include <troupe/runtime/exploration.hpp>

#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

namespace troupe {

/// Sets environment variables for its lifetime; those that explorers of this program have been given are kept out.
class environment {
 public:
  environment() {
    for (const auto* name : names) {
      const auto* const old = std::getenv(name);
      old_.push_back(old == nullptr ? std::nullopt : std::optional<std::string>{old});
      ::unsetenv(name);
    }
  }
  ~environment() {
    for (std::size_t i = 0; i < names.size(); ++i)
      old_[i] ? ::setenv(names[i], old_[i]->c_str(), 1) : ::unsetenv(names[i]);
  }
  environment(const environment&) = delete;

  static void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

 private:
  static constexpr std::array names{"TROUPE_SEED",          "TROUPE_SEEDS",      "TROUPE_PLAN",
                                    "TROUPE_DRAWN_CHOICES", "TROUPE_DEVIATIONS", "TROUPE_FAILING_SEEDS",
                                    "TROUPE_FIRST_SEED",    "TROUPE_FOUND"};
  std::vector<std::optional<std::string>> old_;
};

/// Kills, freezes and losses of power of the primary.
inline exploration_options counting(std::uint64_t runs) {
  return {.runs = runs,
          .faults = fault_rates{.hosts = {"primary"},
                                .faults_per_second = 100,
                                .until = std::chrono::milliseconds{50},
                                .most = std::chrono::milliseconds{20}}};
}

/// Acknowledges before the backup has the value, and after it.
inline const scenario wrong = [](simulated_world& world) { replicated_counter::play(world, true); };
inline const scenario right = [](simulated_world& world) { replicated_counter::play(world, false); };

/// Whether an error has this text in its message.
inline auto says(std::string text) {
  return [text](const error& refused) { return contains(refused.message(), text); };
}

}  // namespace troupe
