#include <troupe/runtime/replicas/regroup.hpp>

#include <fmt/format.h>

namespace troupe {

void throw_structures_differ(std::size_t replica, const std::string& how) {
  throw invalid_argument_error{
      fmt::format("replica {} has {} than replica 0; all must have the same structure", replica, how)};
}

}  // namespace troupe
