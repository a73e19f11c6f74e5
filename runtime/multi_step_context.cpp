#include <troupe/runtime/multi_step_context.hpp>

#include <fmt/format.h>

namespace troupe {

void multi_step_context::throw_reduction_missing(const std::string& name) {
  throw invalid_argument_error{fmt::format(
      "the output \"{}\" was set in replica context without a reduction; pass reduce_op::sum or reduce_op::mean",
      name)};
}

void multi_step_context::throw_no_output(const std::string& name) {
  throw not_found_error{fmt::format("no step has set the output \"{}\"", name)};
}

void multi_step_context::throw_output_has_other_type(const std::string& name) {
  throw invalid_argument_error{fmt::format("the output \"{}\" was set with another type than it is read with", name)};
}

}  // namespace troupe
