#include <troupe/runtime/replicas/structure.hpp>

#include <fmt/format.h>

namespace troupe::detail {

void throw_other_length(const structure_path& path, std::size_t index, std::size_t length, std::size_t expected) {
  throw invalid_argument_error{fmt::format(
      "structure {}{} has {} elements, but structure 0{} has {}; structures that are put together must have "
      "the same lengths and keys",
      index, path.to_string(), length, path.to_string(), expected)};
}

void throw_other_keys(const structure_path& path, std::size_t index) {
  throw invalid_argument_error{
      fmt::format("the keys of structure {}{} are not those of structure 0{}; structures that are put together must "
                  "have the same lengths and keys",
                  index, path.to_string(), path.to_string())};
}

}  // namespace troupe::detail
