#include <troupe/actors/values/structure.hpp>

#include <fmt/format.h>

namespace troupe::detail {

namespace {

std::string at(const structure_path& path) {
  const auto where = path.to_string();
  return where.empty() ? where : " at " + where;
}

}  // namespace

void throw_other_length(const merge_place& place, std::size_t index, std::size_t length, std::size_t expected) {
  throw invalid_argument_error{
      fmt::format("{} {} has a list of another length{} ({} instead of {}) than {} 0; all must have the same structure",
                  place.whose, index, at(place.path), length, expected, place.whose)};
}

void throw_other_keys(const merge_place& place, std::size_t index) {
  throw invalid_argument_error{
      fmt::format("{} {} has a map with other keys{} than {} 0; all must have the same structure", place.whose, index,
                  at(place.path), place.whose)};
}

}  // namespace troupe::detail
