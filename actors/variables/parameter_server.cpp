#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/variables/parameter_server.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

bool changes(operation_kind kind) {
  return kind != operation_kind::read && kind != operation_kind::gather_rows && kind != operation_kind::snapshot;
}

const status link_over{status_code::aborted, "the client has a newer link to this variable, or this one is broken"};

void refuse(caf::typed_response_promise<wire<outcome_batch>> promise, const status& why) {
  promise.deliver(make_error(why));
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
  inbox_.emplace(self_, options_.inbox);
  return {
      [this](operate_atom, client_id client, link_number link,
             wire<operation_batch>& message) -> caf::result<wire<outcome_batch>> {
        auto promise = self_->make_response_promise<answer_promise>();
        const auto remote = self_->current_sender() != nullptr && self_->current_sender()->node() != self_->node();
        take({client, link}, remote, message, promise);
        return promise;
      },
  };
}

shard_state::~shard_state() {
  if (inbox_) inbox_->end_all({status_code::cancelled, fmt::format("variable \"{}\" is gone", variable_)});
}

// --- the shard's half of V-1 ----------------------------------------------------------------------------------------

void shard_state::take(const lane& from, bool remote, wire<operation_batch>& message, const answer_promise& promise) {
  const auto& [client, link] = from;
  auto& known = clients_[client];
  if (link > known.link) {
    const auto before = std::exchange(known.link, link);
    inbox_->end({client, before}, link_over);
  }
  // A batch that is refused is never applied, so it is not fetched either.
  if (link < known.link) return refuse(promise, link_over);
  inbox_->take(from, message,
               [this, from, remote, promise](wire<operation_batch>& arrived, const status& problem) mutable {
                 auto& sender = clients_[from.first];
                 if (from.second < sender.link) return refuse(promise, link_over);
                 if (problem.ok()) return answer(promise, remote, perform(sender, *arrived));
                 // What comes after it on this link must not overtake it.
                 sender.link = from.second + 1;
                 refuse(promise, problem);
               });
}

/// What is read may be over a limit: then each operation says so, and changes that were applied stay acknowledged.
void shard_state::answer(answer_promise promise, bool remote, outcome_batch outcomes) {
  wire<outcome_batch> message{std::move(outcomes)};
  try {
    if (remote) message.seal();
  } catch (...) {
    const auto failed = status_of(std::current_exception()).wrap("what was read could not be sent");
    auto reduced = message.take();
    for (auto& outcome : reduced.outcomes)
      if (outcome.content.get_buffer().size_bytes() != 0) outcome = {.ended = failed};
    message = std::move(reduced);
  }
  promise.deliver(std::move(message));
}

outcome_batch shard_state::perform(client_record& client, const operation_batch& batch) {
  while (!client.changes.empty() && client.changes.front().sequence < batch.first_open) client.changes.pop_front();
  outcome_batch answer;
  answer.outcomes.reserve(batch.operations.size());
  for (const auto& operation : batch.operations)
    answer.outcomes.push_back(changes(operation.kind) ? perform_once(client, operation) : perform(operation));
  return answer;
}

operation_outcome shard_state::perform_once(client_record& client, const shard_operation& operation) {
  const auto place =
      std::lower_bound(client.changes.begin(), client.changes.end(), operation.sequence,
                       [](const remembered& known, std::uint64_t sequence) { return known.sequence < sequence; });
  if (place != client.changes.end() && place->sequence == operation.sequence) return {.ended = place->ended};
  if (client.changes.size() >= options_.remembered_changes_max)
    return {.ended = {status_code::resource_exhausted,
                      fmt::format("a client has {} changes of variable \"{}\" in flight, the limit "
                                  "(remembered_changes_max); wait for some before the next",
                                  client.changes.size(), variable_)}};
  return {.ended = client.changes.insert(place, {operation.sequence, perform(operation).ended})->ended};
}

// --- operations -----------------------------------------------------------------------------------------------------

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
      return call(operation);
    case operation_kind::snapshot:
      outcome.content = content_;
      outcome.slots = slots_;
      outcome.step = step_;
      return;
  }
  throw invalid_argument_error{fmt::format("operation {} is unknown", static_cast<int>(operation.kind))};
}

/// The function gets the variable's content as its first argument and returns the new content.
void shard_state::call(const shard_operation& operation) {
  const auto& entry = function_registry::instance().find_or_throw(operation.function);
  const auto current = value::of(content_);
  const auto result = entry.call(operation.arguments, {&current, 1});
  const auto next = result.get<tensor>();
  check_fits(*next, content_);
  content_ = *next;
}

// --- server ---------------------------------------------------------------------------------------------------------

parameter_server_actor::behavior_type parameter_server_state::make_behavior(parameter_server_options options) {
  options_ = options;
  // Shards are linked: one that fails ends its server, since whoever uses it must hear of that.
  return {
      [this](create_atom, wire<shard_order>& message) -> caf::result<std::uint64_t> {
        auto promise = self_->make_response_promise<caf::typed_response_promise<std::uint64_t>>();
        // No order: nothing names a shard before its creation is answered.
        when_local(self_, message, options_.inbox.bulk_limit,
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
