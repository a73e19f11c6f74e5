// Which room's headers include which other room's: the house as the compiler sees it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace troupe {

/// One #include of a header in another room; paths are relative to the house.
struct room_include {
  std::string header;
  std::string included;
};

/// [A][B] are the includes by which headers of room A need headers of room B.
using include_graph = std::map<std::string, std::map<std::string, std::vector<room_include>>>;

/// The room of a header: "device/base" for device/base/error.hpp and device/base/internal/numeric.hpp, "runtime" for a
/// header of the facade.
std::string room_of(const std::filesystem::path& header);

/// Reads the headers of the libraries below `house`.
include_graph read_include_graph(const std::filesystem::path& house);

/// Each cycle of rooms as a text that names the includes which close it; empty if there is none.
std::vector<std::string> cycles_of(const include_graph& graph);

}  // namespace troupe
