#include <troupe/actors/functions/lossless.hpp>
#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

namespace troupe {

void detail::throw_does_not_fit(std::string_view number, std::string_view parameter) {
  throw invalid_argument_error{
      fmt::format("the argument {} does not fit into the function's parameter of type {}; pass one that does, or give "
                  "the parameter a wider type",
                  number, parameter)};
}

}  // namespace troupe
