// The house: rooms include each other in one direction only, libraries too, each room says what it is for, and the page
// about the layout names all of them.
#include "include_graph.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <random>

namespace troupe {

namespace {

const std::filesystem::path house = TROUPE_SOURCE_FOLDER;

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in{file};
  BOOST_REQUIRE_MESSAGE(in, file.string() << " can be read");
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// device/base, device/tensor, ...: folders of the libraries that are not named `internal`.
std::vector<std::string> rooms() {
  std::vector<std::string> result;
  for (const auto* library : {"device", "actors", "runtime"})
    for (const auto& entry : std::filesystem::directory_iterator{house / library})
      if (entry.is_directory()) result.push_back(std::filesystem::relative(entry.path(), house).string());
  return result;
}

/// A house of a test's own, removed at its end.
class made_house {
 public:
  made_house()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("troupe-house-{}", std::random_device{}())) {
    for (const auto* library : {"device", "actors", "runtime"}) std::filesystem::create_directories(folder_ / library);
  }
  ~made_house() { std::filesystem::remove_all(folder_); }
  made_house(const made_house&) = delete;

  void add(const std::string& header, const std::string& includes) {
    std::filesystem::create_directories((folder_ / header).parent_path());
    std::ofstream{folder_ / header} << "#pragma once\n#include <vector>\n#include <troupe/" << includes << ">\n";
  }

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

/// How high a library stands; it may use those below.
int height_of(std::string_view room) { return room.starts_with("device") ? 0 : room.starts_with("actors") ? 1 : 2; }

}  // namespace

BOOST_AUTO_TEST_SUITE(rooms_suite)

BOOST_AUTO_TEST_CASE(headers_of_different_rooms_include_each_other_in_one_direction_only) {
  for (const auto& cycle : cycles_of(read_include_graph(house))) BOOST_ERROR(cycle);
}

BOOST_AUTO_TEST_CASE(libraries_use_only_those_below_them) {
  for (const auto& [room, uses] : read_include_graph(house))
    for (const auto& [used, includes] : uses)
      BOOST_TEST(height_of(used) <= height_of(room),
                 includes.front().header << " includes " << includes.front().included);
}

BOOST_AUTO_TEST_CASE(a_cycle_of_rooms_is_found_and_its_includes_are_named) {
  made_house made;
  made.add("device/base/error.hpp", "device/tensor/internal/pool.hpp");
  made.add("device/tensor/internal/pool.hpp", "device/kernels/add.hpp");
  made.add("device/kernels/add.hpp", "device/base/error.hpp");
  made.add("actors/fibers/fiber.hpp", "device/base/error.hpp");
  const auto cycles = cycles_of(read_include_graph(made.folder()));
  BOOST_REQUIRE(cycles.size() == 1);
  for (const auto* part : {"device/base -> device/tensor -> device/kernels -> device/base",
                           "device/tensor/internal/pool.hpp includes device/kernels/add.hpp",
                           "device/kernels/add.hpp includes device/base/error.hpp"})
    BOOST_TEST(cycles.front().find(part) != std::string::npos, cycles.front());
}

BOOST_AUTO_TEST_CASE(includes_inside_a_room_are_no_cycle) {
  made_house made;
  made.add("device/tensor/tensor.hpp", "device/tensor/internal/pool.hpp");
  made.add("device/tensor/internal/pool.hpp", "device/tensor/tensor.hpp");
  BOOST_TEST(cycles_of(read_include_graph(made.folder())).empty());
}

BOOST_AUTO_TEST_CASE(every_included_header_is_there) {
  for (const auto& [room, uses] : read_include_graph(house))
    for (const auto& [used, includes] : uses)
      for (const auto& each : includes)
        BOOST_TEST(std::filesystem::exists(house / each.included), each.header << " includes " << each.included);
}

BOOST_AUTO_TEST_CASE(each_room_says_what_it_is_for) {
  for (const auto& room : rooms()) {
    const auto page = house / room / "README.md";
    BOOST_REQUIRE_MESSAGE(std::filesystem::exists(page), room << " has a README.md");
    const auto text = content_of(page);
    for (const auto* part : {"# ", "Called by", "May use"})
      BOOST_TEST(text.find(part) != std::string::npos, page.string() << " has \"" << part << "\"");
  }
}

BOOST_AUTO_TEST_CASE(the_page_about_the_layout_has_a_row_for_each_room) {
  const auto layout = content_of(house / "examples/reference/layout.md");
  for (const auto& room : rooms()) {
    const auto row = fmt::format("\n| [{0}](../../{0}/) | ", room);
    BOOST_TEST(layout.find(row) != std::string::npos, "examples/reference/layout.md has a row that begins with" << row);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
