#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/variables/parameter_server.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

bool changes(operation_kind kind) {
  return kind != operation_kind::read && kind != operation_kind::gather_rows && kind != operation_kind::snapshot;
}

void check_fits(const tensor& operand, const tensor& content) {
  if (operand.get_shape() != content.get_shape() || operand.get_dtype() != content.get_dtype())
    throw invalid_argument_error{fmt::format("a value of {} {} does not fit the variable's {} {}",
                                             to_string(operand.get_dtype()), operand.get_shape().to_string(),
                                             to_string(content.get_dtype()), content.get_shape().to_string())};
}

}  // namespace

// --- shard ----------------------------------------------------------------------------------------------------------

shard_actor::behavior_type shard_state::make_behavior(shard_order order, parameter_server_options options) {
  options_ = options;
  variable_ = std::move(order.name);
  content_ = std::move(order.initial);
  slots_ = std::move(order.slots);
  step_ = order.step;
  return {
      [this](operate_atom, wire<operation_batch>& message) -> caf::result<wire<outcome_batch>> {
        auto promise = self_->make_response_promise<caf::typed_response_promise<wire<outcome_batch>>>();
        const auto remote = self_->current_sender() != nullptr && self_->current_sender()->node() != self_->node();
        when_local(self_, message, options_.bulk_limit,
                   [this, promise, remote](wire<operation_batch>& arrived, const status& problem) mutable {
                     if (!problem.ok()) {
                       promise.deliver(make_error(problem));
                       return;
                     }
                     wire<outcome_batch> answer{perform(arrived.take())};
                     try {
                       if (remote) answer.seal();
                       promise.deliver(std::move(answer));
                     } catch (const error& failed) {
                       promise.deliver(make_error(failed.get_status()));
                     }
                   });
        return promise;
      },
  };
}

outcome_batch shard_state::perform(operation_batch batch) {
  outcome_batch answer;
  answer.outcomes.reserve(batch.operations.size());
  auto* memory = batch.client == 0 ? nullptr : &memory_[batch.client];
  for (const auto& operation : batch.operations)
    answer.outcomes.push_back(memory != nullptr && changes(operation.kind)
                                  ? perform_once(*memory, batch.retry, operation)
                                  : perform(operation));
  return answer;
}

operation_outcome shard_state::perform_once(std::deque<remembered>& memory, bool retry,
                                            const shard_operation& operation) {
  if (retry) {
    const auto known = std::find_if(memory.rbegin(), memory.rend(),
                                    [&](const auto& entry) { return entry.sequence == operation.sequence; });
    if (known != memory.rend()) return known->outcome;
  }
  auto outcome = perform(operation);
  memory.push_back({operation.sequence, outcome});
  if (memory.size() > options_.remembered_operations_max) memory.pop_front();
  return outcome;
}

operation_outcome shard_state::perform(const shard_operation& operation) {
  operation_outcome outcome;
  try {
    apply(operation, outcome);
  } catch (...) {
    outcome = {.ended = status_of(std::current_exception()).wrap(fmt::format("variable \"{}\"", variable_))};
  }
  return outcome;
}

void shard_state::apply(const shard_operation& operation, operation_outcome& outcome) {
  const auto& operand = operation.operand;
  switch (operation.kind) {
    case operation_kind::read:
      outcome.content = content_;
      return;
    case operation_kind::assign:
      check_fits(operand, content_);
      content_ = operand;
      return;
    case operation_kind::assign_add:
      return add_in_place(content_, operand);
    case operation_kind::assign_subtract:
      return subtract_in_place(content_, operand);
    case operation_kind::gather_rows:
      outcome.content = gather_rows(content_, operation.rows);
      return;
    case operation_kind::scatter_update:
      return scatter_rows_update(content_, operation.rows, operand);
    case operation_kind::scatter_add:
      return scatter_rows_add(content_, operation.rows, operand);
    case operation_kind::scatter_subtract:
      return scatter_rows_subtract(content_, operation.rows, operand);
    case operation_kind::apply_gradient:
      return troupe::apply(operation.rule, content_, operand, slots_, step_);
    case operation_kind::call:
      outcome.result = call(operation);
      return;
    case operation_kind::snapshot:
      outcome.content = content_;
      outcome.slots = slots_;
      outcome.step = step_;
      return;
  }
  throw invalid_argument_error{fmt::format("operation {} is unknown", static_cast<int>(operation.kind))};
}

/// The function gets the variable's content as its first argument and returns the new content.
value shard_state::call(const shard_operation& operation) {
  const auto& entry = function_registry::instance().find_or_throw(operation.function);
  const auto current = value::of(content_);
  const auto result = entry.call(operation.arguments, {&current, 1});
  const auto next = result.get<tensor>();
  check_fits(*next, content_);
  content_ = *next;
  return {};
}

// --- server ---------------------------------------------------------------------------------------------------------

parameter_server_actor::behavior_type parameter_server_state::make_behavior(parameter_server_options options) {
  options_ = options;
  // Shards are linked: one that fails ends its server, since whoever uses it must hear of that.
  return {
      [this](create_atom, wire<shard_order>& message) -> caf::result<std::uint64_t> {
        auto promise = self_->make_response_promise<caf::typed_response_promise<std::uint64_t>>();
        when_local(self_, message, options_.bulk_limit,
                   [this, promise](wire<shard_order>& arrived, const status& problem) mutable {
                     const auto made = problem.ok() ? create(arrived.take()) : problem;
                     if (made.ok())
                       promise.deliver(static_cast<std::uint64_t>(shards_.size()));
                     else
                       promise.deliver(make_error(made));
                   });
        return promise;
      },
      [this](find_atom, std::uint64_t number) -> caf::result<shard_actor> {
        if (number == 0 || number > shards_.size())
          return make_error(status{status_code::not_found, fmt::format("there is no shard {} here", number)});
        return shards_[number - 1];
      },
  };
}

status parameter_server_state::create(shard_order order) {
  if (shards_.size() >= options_.shards_max)
    return {status_code::resource_exhausted,
            fmt::format("this server holds {} shards of variables, its limit", shards_.size())};
  shards_.push_back(self_->spawn<caf::linked>(shard, std::move(order), options_));
  return {};
}

parameter_server_actor::behavior_type parameter_server(parameter_server_state::pointer self,
                                                       parameter_server_options options) {
  return self->state.make_behavior(options);
}

shard_actor::behavior_type shard(shard_state::pointer self, shard_order order, parameter_server_options options) {
  return self->state.make_behavior(std::move(order), options);
}

}  // namespace troupe
