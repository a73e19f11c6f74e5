#include <troupe/runtime/replica_context.hpp>

#include <fmt/format.h>

namespace troupe {

namespace {

/// 0 names the default strategy's context, which has no lock step.
lock_step_id step_of(const execution_context& context) { return context.step == nullptr ? 0 : context.step->id(); }

}  // namespace

replica_context replica_context::current() {
  const auto& here = execution_context::current();
  if (here.kind != context_kind::replica)
    throw failed_precondition_error{
        fmt::format("there is no replica context in a {}; it is there inside the function that run() is given",
                    to_string(here.kind))};
  return {here.strategy, here.replica, step_of(here)};
}

troupe::strategy replica_context::strategy() const { return troupe::strategy{strategy_}; }

std::vector<std::string> replica_context::devices() const {
  return {strategy_->settings().worker_devices[static_cast<std::size_t>(replica_)]};
}

void replica_context::check_current(std::string_view what) const {
  const auto& here = execution_context::current();
  if (here.strategy == strategy_ && here.kind == context_kind::replica && here.replica == replica_ &&
      step_of(here) == step_)
    return;
  throw failed_precondition_error{fmt::format(
      "{} was called on the context of replica {}, but here is a {} of a {}; use replica_context::current() inside the "
      "function that run() is given",
      what, replica_id_in_sync_group(), to_string(here.kind), here.strategy->settings().name)};
}

}  // namespace troupe
