#include <troupe/device/base/error.hpp>
#include <troupe/runtime/simulation/failing_seeds.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace troupe {

failing_seeds failing_seeds::from_environment() {
  const auto* const named = std::getenv("TROUPE_FAILING_SEEDS");
  return failing_seeds{named == nullptr ? "failing_seeds" : named};
}

std::vector<std::uint64_t> failing_seeds::of(const std::string& test) const {
  std::vector<std::uint64_t> result;
  std::ifstream file{path_};
  std::string line;
  for (auto number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    std::istringstream words{line};
    std::string name;
    std::uint64_t seed = 0;
    std::string more;
    if (!(words >> name >> seed) || words >> more)
      throw invalid_argument_error{
          fmt::format("{}:{}: \"{}\": a line must be the name of a test and a seed", path_, number, line)};
    if (name == test) result.push_back(seed);
  }
  return result;
}

void failing_seeds::add(const std::string& test, std::uint64_t seed) const {
  const auto known = of(test);
  if (std::find(known.begin(), known.end(), seed) != known.end()) return;
  std::ofstream file{path_, std::ios::app};
  if (file) file << test << ' ' << seed << '\n' << std::flush;
  if (!file)
    throw failed_precondition_error{
        fmt::format("seed {} of {} fails, and can't be kept in {} (TROUPE_FAILING_SEEDS)", seed, test, path_)};
}

}  // namespace troupe
