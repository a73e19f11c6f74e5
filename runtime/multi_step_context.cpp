#include <troupe/runtime/multi_step_context.hpp>

#include <fmt/format.h>

namespace troupe {

multi_step_context::multi_step_context(values initial) : shared_(std::make_shared<shared>()) {
  shared_->last_step_outputs = std::move(initial);
}

void multi_step_context::store(shared& target, values shared::*outputs, const std::string& name, std::any output) {
  const std::scoped_lock lock{target.mutex};
  (target.*outputs).insert_or_assign(name, std::move(output));
}

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
