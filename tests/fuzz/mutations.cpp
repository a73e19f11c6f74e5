// Each decoder is fed with its seeds, with what was once a finding (tests/fuzz/findings), and with some thousands of
// changes of them that are the same in each run. tools/fuzz does so for longer.
#include "decoder.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace troupe {

std::ostream& operator<<(std::ostream& to, const decoder* which) { return to << which->name(); }

BOOST_AUTO_TEST_SUITE(mutations_suite)

namespace {

constexpr auto changes = 4'000;
constexpr std::size_t bytes_max = 4'096;

class mutator {
 public:
  explicit mutator(const std::vector<std::string>& known) : known_(known) {}

  /// One of the known, with some changes.
  std::string next() {
    auto bytes = known_[below(known_.size())];
    for (auto times = 1 + below(4); times > 0; --times) change(bytes);
    bytes.resize(std::min(bytes.size(), bytes_max));
    return bytes;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  void change(std::string& bytes) {
    constexpr std::array<char, 6> telling{'\0', '\1', '\x7f', '\x80', '\xff', ' '};
    const auto at = below(bytes.size());
    const auto size = below(bytes.size() - at) % 64;
    switch (below(8)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        return;
      case 1:
        if (!bytes.empty()) bytes[at] = telling[below(telling.size())];
        return;
      case 2:
        bytes.erase(at, size);
        return;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size() + 1), 1 + below(64)));
        return;
      case 4:
        bytes.resize(at);
        return;
      case 5:
        return write_number(bytes, at);
      case 6:
        for (auto count = 1 + below(16); count > 0; --count) bytes.insert(at, 1, static_cast<char>(random_()));
        return;
      default:
        const auto& other = known_[below(known_.size())];
        bytes = bytes.substr(0, at) + other.substr(below(other.size() + 1));
    }
  }

  /// A length perhaps, in either order of its bytes.
  void write_number(std::string& bytes, std::size_t at) {
    auto number = random_() >> below(64);
    const auto width = std::min(std::size_t{1} << below(4), bytes.size() - at);
    std::string written;
    for (std::size_t i = 0; i < width; ++i, number >>= 8) written += static_cast<char>(number);
    if (below(2) == 0) std::reverse(written.begin(), written.end());
    bytes.replace(at, width, written);
  }

  const std::vector<std::string>& known_;
  std::mt19937_64 random_{2026};
};

std::vector<std::string> findings_of(const decoder& which) {
  std::vector<std::string> all;
  std::error_code none;
  for (const auto& each :
       std::filesystem::directory_iterator{std::filesystem::path{TROUPE_FUZZ_FINDINGS} / which.name(), none}) {
    std::ifstream file{each.path(), std::ios::binary};
    all.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
  }
  return all;
}

}  // namespace

BOOST_DATA_TEST_CASE(bytes_from_outside_are_read_or_refused, boost::unit_test::data::make(decoder::all()), which) {
  auto known = which->make_seeds();
  for (const auto& each : findings_of(*which)) known.push_back(each);
  BOOST_TEST_REQUIRE(!known.empty());
  for (const auto& each : known) which->feed(each);
  mutator source{known};
  for (auto left = changes; left > 0; --left) which->feed(source.next());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
