// One course of random events for each seed; what all explorers have in common.
//
// TROUPE_SEEDS=n explores the seeds 1 to n. TROUPE_SEED=n explores that seed alone and shows what happened. A seed that
// fails is printed; it joins the explorer's known seeds, which always run, when it has been understood.
#pragma once

#include <troupe/device/base/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace troupe {

/// Draws, and remembers what did not hold.
class drawing {
 public:
  explicit drawing(std::uint64_t seed) : random_(seed) {}

  /// 0 to below - 1.
  int draw(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }
  template <class T>
  auto& one_of(T& of) {
    return of[static_cast<std::size_t>(draw(static_cast<int>(of.size())))];
  }
  void require(bool holds, const std::string& otherwise) {
    if (!holds) violations_.push_back(otherwise);
  }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  std::mt19937_64 random_;
  std::vector<std::string> violations_;
};

inline void report(std::uint64_t seed, const std::vector<std::string>& violations) {
  for (const auto& violation : violations)
    BOOST_TEST(false, "seed " << seed << " (run it alone with TROUPE_SEED=" << seed << "): " << violation);
}

/// Calls `explore(seed, is_alone)` for each seed.
template <class Explore>
void explore_seeds(const std::vector<std::uint64_t>& known, std::uint64_t count_default, Explore explore) {
  if (const auto* const chosen = std::getenv("TROUPE_SEED")) return explore(std::strtoull(chosen, nullptr, 10), true);
  const auto* const count = std::getenv("TROUPE_SEEDS");
  for (const auto seed : known) explore(seed, false);
  const auto last = count != nullptr ? std::strtoull(count, nullptr, 10) : count_default;
  for (std::uint64_t seed = 1; seed <= last; ++seed) explore(seed, false);
}

/// The same for courses that need nothing but their seed.
template <class Course>
void explore_courses(const std::vector<std::uint64_t>& known, std::uint64_t count_default) {
  explore_seeds(known, count_default, [](std::uint64_t seed, bool) {
    Course one{seed};
    try {
      one.go();
    } catch (const error& failed) {
      one.require(false, failed.what());
    }
    report(seed, one.violations());
  });
}

}  // namespace troupe
