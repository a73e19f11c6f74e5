#include "include_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string_view>

namespace troupe {

namespace {

/// The headers of troupe that a file includes, but those that a generator makes.
std::vector<std::string> includes_of(const std::filesystem::path& file) {
  constexpr std::string_view begin = "#include <troupe/";
  std::vector<std::string> result;
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(begin) && !line.ends_with(".h>"))
      result.push_back(line.substr(begin.size(), line.find('>') - begin.size()));
  return result;
}

/// Follows includes from room to room and notes every way back to a room that it came through.
class cycle_search {
 public:
  explicit cycle_search(const include_graph& graph) : graph_(graph) {}

  std::vector<std::string> run() {
    for (const auto& [room, unused] : graph_) visit(room);
    return std::move(found_);
  }

 private:
  void visit(const std::string& room) {
    if (const auto begin = std::find(path_.begin(), path_.end(), room); begin != path_.end()) {
      describe({begin, path_.end()});
      return;
    }
    if (!visited_.insert(room).second) return;
    path_.push_back(room);
    if (const auto found = graph_.find(room); found != graph_.end())
      for (const auto& [next, unused] : found->second) visit(next);
    path_.pop_back();
  }

  void describe(std::vector<std::string> rooms) {
    rooms.push_back(rooms.front());
    auto text = fmt::format("headers of these rooms include each other: {}", fmt::join(rooms, " -> "));
    for (std::size_t i = 0; i + 1 < rooms.size(); ++i)
      for (const auto& each : graph_.at(rooms[i]).at(rooms[i + 1]))
        text += fmt::format("\n  {} includes {}", each.header, each.included);
    found_.push_back(std::move(text));
  }

  const include_graph& graph_;
  std::set<std::string> visited_;
  std::vector<std::string> path_;
  std::vector<std::string> found_;
};

}  // namespace

std::string room_of(const std::filesystem::path& header) {
  const auto folder = header.parent_path();
  return (folder.filename() == "internal" ? folder.parent_path() : folder).string();
}

include_graph read_include_graph(const std::filesystem::path& house) {
  include_graph graph;
  for (const auto* library : {"device", "actors", "runtime"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator{house / library}) {
      const auto kind = entry.path().extension();
      if (kind != ".hpp" && kind != ".cuh") continue;
      const auto header = std::filesystem::relative(entry.path(), house);
      for (const auto& included : includes_of(entry.path()))
        if (room_of(included) != room_of(header))
          graph[room_of(header)][room_of(included)].push_back({header.string(), included});
    }
  }
  return graph;
}

std::vector<std::string> cycles_of(const include_graph& graph) { return cycle_search{graph}.run(); }

}  // namespace troupe
