#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/values/codec.hpp>
#include <troupe/actors/variables/parameter_server.hpp>
#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/device_name.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

bool changes(operation_kind kind) {
  return kind != operation_kind::read && kind != operation_kind::gather_rows && kind != operation_kind::snapshot &&
         kind != operation_kind::describe;
}

const status link_over{status_code::aborted, "the client has a newer link to this variable, or this one is broken"};

const status worker_given_up{
    status_code::cancelled,
    "the chief has given up the worker that sent this operation, and its closures run elsewhere"};

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

shard_actor::behavior_type shard_state::make_behavior(shard_order order, std::uint64_t incarnation,
                                                      std::shared_ptr<const session_gate> gate,
                                                      std::shared_ptr<served_device> device,
                                                      parameter_server_options options) {
  tolerate_stray_messages(self_);
  options_ = options;
  clients_ = client_memory{options};
  incarnation_ = incarnation;
  gate_ = std::move(gate);
  number_ = order.shard;
  variable_ = std::move(order.name);
  device_ = std::move(device);
  content_ = std::move(order.initial);
  slots_ = std::move(order.slots);
  step_ = order.step;
  inbox_.emplace(self_, options_.inbox);
  return {
      [this](operate_atom, client_id client, link_number link,
             wire<operation_batch>& message) -> caf::result<wire<outcome_batch>> {
        // Before the promise, which takes the sender away.
        const auto remote =
            self_->current_sender() != nullptr && is_encoded_between(self_->node(), self_->current_sender()->node());
        const auto process = self_->current_sender() != nullptr ? self_->current_sender()->node() : self_->node();
        auto promise = self_->make_response_promise<answer_promise>();
        if (auto* const known = admit(client, process, remote, promise))
          take(*known, {client, link}, remote, message, promise);
        return promise;
      },
  };
}

shard_state::~shard_state() {
  if (inbox_) inbox_->end_all({status_code::cancelled, fmt::format("variable \"{}\" is gone", variable_)});
}

// --- the shard's half of V-1 ----------------------------------------------------------------------------------------

/// Nullptr: the sender has been told why not.
shard_state::client_record* shard_state::admit(client_id client, const caf::node_id& process, bool remote,
                                               const answer_promise& promise) {
  if (gate_->news() != news_) forget_given_up();
  auto* const known = clients_.hear(client, self_->clock().now());
  if (known == nullptr) {
    answer(promise, remote, {.refused = clients_.no_room(variable_), .outcomes = {}});
    return nullptr;
  }
  if (!known->process) known->process = process;
  if (*known->process == process) return known;
  refuse(promise, {status_code::permission_denied, "another process speaks for this client"});
  return nullptr;
}

void shard_state::take(client_record& known, const lane& from, bool remote, wire<operation_batch>& message,
                       const answer_promise& promise) {
  const auto& [client, link] = from;
  if (link > known.link) {
    const auto before = std::exchange(known.link, link);
    inbox_->end({client, before}, link_over);
  }
  // A batch that is refused is never applied, so it is not fetched either.
  if (link < known.link) return refuse(promise, link_over);
  if (!message.waits_for_bulk())
    if (const auto problem = message.open(); !problem.ok())
      return answer(promise, remote,
                    {.refused = problem.wrap(fmt::format("variable \"{}\"", variable_)), .outcomes = {}});
  inbox_->take(from, message,
               [this, from, remote, promise](wire<operation_batch>& arrived, const status& problem) mutable {
                 auto* const sender = still_known(from.first);
                 if (sender == nullptr)
                   return answer(promise, remote, {.refused = clients_.no_room(variable_), .outcomes = {}});
                 if (from.second < sender->link) return refuse(promise, link_over);
                 if (problem.ok() && (arrived->incarnation != incarnation_ || arrived->shard != number_))
                   return refuse(promise, {status_code::aborted, "a message for another shard arrived at this one"});
                 if (problem.ok() && !may_enter(*sender, arrived->session)) {
                   clients_.forget_for_good(*sender);
                   return answer(promise, remote, {.refused = worker_given_up, .outcomes = {}});
                 }
                 if (problem.ok()) return answer(promise, remote, perform(*sender, *arrived));
                 // What comes after it on this link must not overtake it.
                 sender->link = from.second + 1;
                 refuse(promise, problem);
               });
}

/// It was when its message came; but that may have waited for its tensors.
shard_state::client_record* shard_state::still_known(client_id client) {
  auto* const known = clients_.find(client);
  return known != nullptr ? known : clients_.hear(client, self_->clock().now());
}

bool shard_state::may_enter(client_record& client, session_id session) const {
  const auto news = gate_->news();
  if (client.session == session && client.news == news) return true;
  if (!gate_->admits(session)) return false;
  client.session = session;
  client.news = news;
  return true;
}

/// Whatever else comes of their sessions is refused, so nothing about them need be known: workers come and go for as
/// long as a server lives.
void shard_state::forget_given_up() {
  news_ = gate_->news();
  clients_.forget_for_good_if([this](session_id session) { return !gate_->admits(session); });
}

void shard_state::answer(answer_promise promise, bool remote, outcome_batch outcomes) const {
  if (remote) keep_within_limit(outcomes);
  wire<outcome_batch> message{std::move(outcomes)};
  try {
    if (remote) message.seal();
  } catch (...) {
    // Changes that were applied stay acknowledged.
    const auto failed = status_of(std::current_exception()).wrap("what was read could not be sent");
    auto reduced = message.take();
    for (auto& outcome : reduced.outcomes)
      if (outcome.content.get_buffer().size_bytes() != 0) outcome = {.ended = failed};
    message = std::move(reduced);
  }
  promise.deliver(std::move(message));
}

/// An outcome that does not fit beside those before it becomes an error of its own. The clients of this library ask for
/// large contents one by one, so there it is a single one that is over the limit.
void shard_state::keep_within_limit(outcome_batch& answer) const {
  const auto limit = value_bytes_max();
  constexpr std::size_t overhead = 1024;  // of one outcome, more than it takes
  auto left = limit;
  for (auto& outcome : answer.outcomes) {
    auto size_bytes = outcome.content.size_bytes() + overhead;
    for (const auto& [slot, content] : outcome.slots) size_bytes += content.size_bytes() + slot.size() + overhead;
    if (outcome.content.size_bytes() == 0 || size_bytes <= left) {
      left -= std::min(left, size_bytes);
      continue;
    }
    outcome = {
        .ended = {status_code::resource_exhausted,
                  fmt::format("what is read of variable \"{}\" takes {} bytes, and of the {} that one answer may "
                              "have {} are left; split the variable into shards, read fewer rows at once, or "
                              "raise the limit with troupe::set_value_bytes_max in every process",
                              variable_, size_bytes, limit, left)}};
  }
}

outcome_batch shard_state::perform(client_record& client, const operation_batch& batch) {
  clients_.acknowledge(client, batch.first_open);
  outcome_batch answer;
  answer.outcomes.reserve(batch.operations.size());
  for (const auto& operation : batch.operations)
    answer.outcomes.push_back(changes(operation.kind) ? perform_once(client, operation) : perform(operation));
  return answer;
}

operation_outcome shard_state::perform_once(client_record& client, const shard_operation& operation) {
  return {.ended =
              clients_.change_once(client, operation.sequence, variable_, [&] { return perform(operation).ended; })};
}

// --- operations -----------------------------------------------------------------------------------------------------

operation_outcome shard_state::perform(const shard_operation& operation) {
  operation_outcome outcome;
  try {
    device_->use([&] {
      apply(operation, outcome);
      outcome.content = outcome.content.copy_to("CPU:0");
      for (auto& [_, content] : outcome.slots) content = content.copy_to("CPU:0");
    });
  } catch (...) {
    outcome = {.ended = status_of(std::current_exception()).wrap(fmt::format("variable \"{}\"", variable_))};
  }
  return outcome;
}

/// On the shard's device. What is read is brought to the host by perform().
void shard_state::apply(const shard_operation& operation, operation_outcome& outcome) {
  const auto has_operand = changes(operation.kind) && operation.kind != operation_kind::call;
  const auto operand = has_operand ? operation.operand.copy_to(device_->name()) : tensor{};
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
    case operation_kind::describe:
      for (const auto& [slot, content] : slots_)
        outcome.slots.emplace(slot, tensor::uninitialised(content.get_dtype(), shape{0}));
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
  content_ = next->copy_to(device_->name());
}

// --- server ---------------------------------------------------------------------------------------------------------

parameter_server_state::~parameter_server_state() {
  for (const auto& [_, shard] : shards_) caf::anon_send_exit(shard, caf::exit_reason::user_shutdown);
}

template <class T>
caf::result<caf::ok_atom> parameter_server_state::change_shards(std::uint64_t incarnation, wire<T>& message,
                                                                status (parameter_server_state::*change)(T)) {
  if (incarnation != incarnation_) return make_error(meant_for_another());
  auto promise = self_->make_response_promise<changed_promise>();
  inbox_->take(0, message, [this, promise, change](wire<T>& arrived, const status& problem) mutable {
    const auto ended = problem.ok() ? (this->*change)(arrived.take()) : problem;
    if (ended.ok())
      promise.deliver(caf::ok_atom_v);
    else
      promise.deliver(make_error(ended));
  });
  return promise;
}

parameter_server_actor::behavior_type parameter_server_state::make_behavior(std::uint64_t incarnation,
                                                                            parameter_server_options options) {
  tolerate_stray_messages(self_);
  incarnation_ = incarnation;
  options_ = options;
  inbox_.emplace(self_, options_.inbox);
  // One that fails ends its server, since whoever uses it must hear of that. CAF's links would do the same, but each
  // end of one is found by looking at all of them.
  self_->set_down_handler([this](const caf::down_msg& down) { self_->quit(down.reason); });
  return {
      [this](create_atom, std::uint64_t meant, wire<shard_orders>& message) {
        return change_shards(meant, message, &parameter_server_state::create);
      },
      [this](release_atom, std::uint64_t meant, wire<shard_numbers>& message) {
        return change_shards(meant, message, &parameter_server_state::release);
      },
      [this](find_atom, std::uint64_t meant, std::uint64_t number) -> caf::result<shard_actor> {
        if (meant != incarnation_) return make_error(meant_for_another());
        const auto found = shards_.find(number);
        if (found != shards_.end()) return found->second;
        return make_error(status{status_code::not_found,
                                 fmt::format("there is no shard {} here: its variable was removed, or was restored "
                                             "after this handle of it was sent",
                                             number)});
      },
      [this](dismiss_atom, std::uint64_t meant, wire<session_fence>& fence) -> caf::result<caf::ok_atom> {
        if (meant != incarnation_) return make_error(meant_for_another());
        if (const auto problem = fence.open(); !problem.ok()) return make_error(problem);
        gate_->take(fence.take());
        return caf::ok_atom_v;
      },
      [](alive_atom, std::uint64_t number) { return number; },
  };
}

status parameter_server_state::create(shard_orders orders) {
  const auto added =
      static_cast<std::size_t>(std::count_if(orders.orders.begin(), orders.orders.end(),
                                             [this](const auto& order) { return !shards_.contains(order.shard); }));
  if (added > options_.shards_max - std::min(shards_.size(), options_.shards_max))
    return {status_code::resource_exhausted,
            fmt::format("this server holds {} shards of variables, and {} more are over its limit of {} "
                        "(parameter_server_options::shards_max)",
                        shards_.size(), added, options_.shards_max)};
  for (auto& order : orders.orders) {
    const auto number = order.shard;
    // A chief uses each number once. What comes again has been done, and values may have changed since.
    if (shards_.contains(number)) continue;
    try {
      auto device = bring_to_device(order);
      shards_.emplace(number, self_->spawn<caf::monitored>(shard, std::move(order), incarnation_, gate_,
                                                           std::move(device), options_));
    } catch (...) {
      return status_of(std::current_exception())
          .wrap(fmt::format("variable \"{}\" on {} of its server", order.name, order.device));
    }
  }
  return {};
}

std::shared_ptr<served_device> parameter_server_state::bring_to_device(shard_order& order) {
  auto device = find_device(order.device);
  device->use([&] {
    order.initial = order.initial.copy_to(order.device);
    for (auto& [_, content] : order.slots) content = content.copy_to(order.device);
  });
  return device;
}

/// Throws for a name that is none of a device of this process.
std::shared_ptr<served_device> parameter_server_state::find_device(const std::string& asked) {
  const auto canonical = device_name::parse(asked).type == "GPU" ? accelerator_of(asked).name() : "CPU:0";
  auto& device = devices_[canonical];
  if (!device) device = std::make_shared<served_device>(canonical, options_.device_limit, options_.late_device_limit);
  return device;
}

status parameter_server_state::release(shard_numbers shards) {
  for (const auto number : shards) end_shard(number);
  return {};
}

void parameter_server_state::end_shard(std::uint64_t number) {
  const auto ended = shards_.extract(number);
  if (!ended) return;
  self_->demonitor(ended.mapped().address());
  self_->send_exit(ended.mapped(), caf::exit_reason::user_shutdown);
}

status parameter_server_state::meant_for_another() const {
  return {status_code::unavailable,
          "the parameter server that this was meant for is lost: another process, or another life of it, is there"};
}

parameter_server_actor::behavior_type parameter_server(parameter_server_state::pointer self, std::uint64_t incarnation,
                                                       parameter_server_options options) {
  return self->state.make_behavior(incarnation, options);
}

shard_actor::behavior_type shard(shard_state::pointer self, shard_order order, std::uint64_t incarnation,
                                 std::shared_ptr<const session_gate> gate, std::shared_ptr<served_device> device,
                                 parameter_server_options options) {
  return self->state.make_behavior(std::move(order), incarnation, std::move(gate), std::move(device), options);
}

}  // namespace troupe
