#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/distributed_variable.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/replicas/row_changes.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

std::string to_string(variable_synchronization synchronization) {
  switch (synchronization) {
    case variable_synchronization::automatic:
      return "automatic";
    case variable_synchronization::on_write:
      return "on_write";
    case variable_synchronization::on_read:
      return "on_read";
  }
  return fmt::format("variable_synchronization({})", static_cast<int>(synchronization));
}

std::string to_string(variable_aggregation aggregation) {
  switch (aggregation) {
    case variable_aggregation::none:
      return "none";
    case variable_aggregation::sum:
      return "sum";
    case variable_aggregation::mean:
      return "mean";
    case variable_aggregation::only_first_replica:
      return "only_first_replica";
  }
  return fmt::format("variable_aggregation({})", static_cast<int>(aggregation));
}

namespace {

const fiber_local<int> reading_synchronised;

void apply(tensor& target, variable_update kind, const tensor& x) {
  switch (kind) {
    case variable_update::assign:
      target = x;
      return;
    case variable_update::assign_add:
      return add_in_place(target, x);
    case variable_update::assign_sub:
      return subtract_in_place(target, x);
  }
}

reduce_op reduction_of(variable_aggregation aggregation) {
  return aggregation == variable_aggregation::mean ? reduce_op::mean : reduce_op::sum;
}

void check_known(const variable_options& options) {
  if (options.synchronization > variable_synchronization::on_read)
    throw invalid_argument_error{fmt::format("{} is no synchronization; choose automatic, on_write or on_read",
                                             to_string(options.synchronization))};
  if (options.aggregation > variable_aggregation::only_first_replica)
    throw invalid_argument_error{fmt::format("{} is no aggregation; choose none, sum, mean or only_first_replica",
                                             to_string(options.aggregation))};
}

}  // namespace

// --- variable_state -------------------------------------------------------------------------------------------------

variable_state::variable_state(std::shared_ptr<strategy_state> owner, std::string name, const tensor& initial,
                               variable_options options, std::vector<std::string> devices)
    : owner_(std::move(owner)),
      name_(std::move(name)),
      extents_(initial.get_shape()),
      type_(initial.get_dtype()),
      options_(options),
      devices_(std::move(devices)) {
  check_known(options_);
  if (options_.synchronization == variable_synchronization::automatic)
    options_.synchronization = variable_synchronization::on_write;
  if (!options_.trainable) options_.trainable = options_.synchronization == variable_synchronization::on_write;
  for (const auto& device : devices_) {
    copies_.push_back(std::make_unique<guarded_tensor>());
    copies_.back()->content = initial.copy_to(device);
  }
}

tensor variable_state::read_copy(std::size_t which) const {
  const auto& copy = *copies_[which];
  const std::scoped_lock lock{copy.mutex};
  return copy.content;
}

void variable_state::write_copy(std::size_t which, variable_update kind, const tensor& x) {
  check_operand(x);
  const auto operand = x.copy_to(devices_[which]);
  auto& copy = *copies_[which];
  const std::scoped_lock lock{copy.mutex};
  apply(copy.content, kind, operand);
}

void variable_state::modify_copy(std::size_t which, const std::function<void(tensor&)>& change) {
  auto& copy = *copies_[which];
  const std::scoped_lock lock{copy.mutex};
  change(copy.content);
  if (copy.content.get_dtype() != type_ || copy.content.get_shape() != extents_)
    throw internal_error{fmt::format("variable \"{}\" became {} of shape {}, but is {} of shape {}", name_,
                                     to_string(copy.content.get_dtype()), copy.content.get_shape().to_string(),
                                     to_string(type_), extents_.to_string())};
}

void variable_state::write_all(variable_update kind, const tensor& x) {
  check_operand(x);
  for (auto i = std::size_t{0}; i < copies_.size(); ++i) write_copy(i, kind, x);
}

void variable_state::scatter_copy(std::size_t which, scatter_update kind, std::span<const std::int64_t> rows,
                                  const tensor& x) {
  auto& copy = *copies_[which];
  const std::scoped_lock lock{copy.mutex};
  change_rows(copy.content, kind, rows, x.copy_to(devices_[which]));
}

tensor variable_state::read_across() const {
  if (synchronization() == variable_synchronization::on_write ||
      aggregation() == variable_aggregation::only_first_replica)
    return read_copy(0);
  if (aggregation() == variable_aggregation::none)
    throw invalid_argument_error{
        fmt::format("variable \"{}\" has a value for each replica and no aggregation, so it has no value across "
                    "replicas; give it an aggregation, or read it in replica context",
                    name_)};
  std::vector<tensor> values;
  for (auto i = std::size_t{0}; i < copies_.size(); ++i) values.push_back(read_copy(i));
  return owner_->reduce(reduction_of(aggregation()), values);
}

tensor variable_state::saved() const { return read_across(); }

void variable_state::restore(const tensor& saved_value) {
  check_operand(saved_value);
  auto share = saved_value;
  const auto replicas = owner_->settings().num_replicas_in_sync;
  if (synchronization() == variable_synchronization::on_read && aggregation() == variable_aggregation::sum) {
    // Integers in float64: their own type has no fractions to truncate.
    auto exact = is_floating(type_) ? share : cast(share, dtype::float64);
    divide_in_place(exact, replicas);
    share = cast(exact, type_);
  }
  write_all(variable_update::assign, share);
}

void variable_state::check_operand(const tensor& x) const {
  if (x.get_dtype() == type_ && x.get_shape() == extents_) return;
  throw invalid_argument_error{fmt::format("variable \"{}\" is {} of shape {}, but was given {} of shape {}", name_,
                                           to_string(type_), extents_.to_string(), to_string(x.get_dtype()),
                                           x.get_shape().to_string())};
}

void variable_state::check_rows(std::span<const std::int64_t> rows, const tensor& x) const {
  if (extents_.rank() == 0)
    throw invalid_argument_error{fmt::format("variable \"{}\" is a scalar and has no rows; assign it", name_)};
  const auto expected = extents_.with_axis(0, static_cast<std::int64_t>(rows.size()));
  if (x.get_dtype() != type_ || x.get_shape() != expected)
    throw invalid_argument_error{
        fmt::format("{} rows of variable \"{}\" are {} of shape {}, but were given {} of shape {}", rows.size(), name_,
                    to_string(type_), expected.to_string(), to_string(x.get_dtype()), x.get_shape().to_string())};
  const auto outside = std::find_if(rows.begin(), rows.end(), [&](auto row) { return row < 0 || row >= extents_[0]; });
  if (outside != rows.end())
    throw out_of_range_error{fmt::format("row {} of variable \"{}\" was given a value; its rows are 0 to {}", *outside,
                                         name_, extents_[0] - 1)};
}

// --- writing together -----------------------------------------------------------------------------------------------

namespace {

/// What one replica wants to write to a variable that all have together.
struct brought_update {
  tensor operand;
  /// The same on all replicas by construction.
  bool plain_number = false;
};

tensor aggregated(variable_state& variable, const per_replica<brought_update>& brought) {
  if (variable.aggregation() == variable_aggregation::only_first_replica)
    return variable.owner()->first(brought[0].operand);
  if (brought[0].plain_number) return brought[0].operand;
  std::vector<tensor> operands;
  for (auto i = std::size_t{0}; i < brought.size(); ++i) {
    variable.check_operand(brought[i].operand);
    operands.push_back(brought[i].operand);
  }
  return variable.owner()->reduce(reduction_of(variable.aggregation()), operands);
}

template <variable_update Kind>
void write_together(strategy&, const distributed_variable& variable, const per_replica<brought_update>& brought) {
  variable.state()->write_all(Kind, aggregated(*variable.state(), brought));
}

void write_in_replica(const distributed_variable& variable, variable_update kind, brought_update brought) {
  const auto context = replica_context::current();
  switch (kind) {
    case variable_update::assign:
      return context.merge_call(&write_together<variable_update::assign>, variable, std::move(brought));
    case variable_update::assign_add:
      return context.merge_call(&write_together<variable_update::assign_add>, variable, std::move(brought));
    case variable_update::assign_sub:
      return context.merge_call(&write_together<variable_update::assign_sub>, variable, std::move(brought));
  }
}

/// @throws the error of a write that this variable does not allow in replica context.
void check_replica_write(const variable_state& variable, const brought_update& brought) {
  const auto replicas = variable.owner()->settings().num_replicas_in_sync;
  if (variable.aggregation() == variable_aggregation::none)
    throw invalid_argument_error{
        fmt::format("variable \"{}\" was assigned in replica context, but has no aggregation: its copies would differ; "
                    "make it with aggregation sum, mean or only_first_replica, or with synchronization on_read",
                    variable.name())};
  if (brought.plain_number && variable.aggregation() == variable_aggregation::sum && replicas > 1)
    throw invalid_argument_error{
        fmt::format("variable \"{}\" has aggregation sum and was given a plain number by {} replicas, which may mean "
                    "the number or {} times the number; pass a tensor",
                    variable.name(), replicas, replicas)};
  if (!brought.plain_number && variable.aggregation() == variable_aggregation::mean &&
      !is_floating(variable.get_dtype()))
    throw invalid_argument_error{
        fmt::format("variable \"{}\" is {}: the mean of the replicas' values is none; use a floating dtype, or another "
                    "aggregation",
                    variable.name(), to_string(variable.get_dtype()))};
}

/// @throws failed_precondition_error where another strategy's replicas run.
void check_no_foreign_replica(const variable_state& variable, std::string_view operation) {
  const auto& here = execution_context::current();
  if (here.strategy == variable.owner() || here.kind != context_kind::replica || here.strategy->is_default()) return;
  throw failed_precondition_error{
      fmt::format("{} of variable \"{}\", which belongs to a {}, in the replica context of another strategy", operation,
                  variable.name(), variable.owner()->settings().name)};
}

/// The context that an operation on this variable happens in: its own strategy's, or cross-replica from outside.
execution_context context_of(const variable_state& variable) {
  const auto& here = execution_context::current();
  execution_context across{context_kind::cross_replica, variable.owner(), 0, nullptr};
  if (here.strategy != variable.owner()) return across;
  // The default strategy's only replica needs no aggregation to write to all copies.
  if (here.strategy->is_default() && variable.synchronization() == variable_synchronization::on_write) return across;
  return here;
}

}  // namespace

// --- distributed_variable -------------------------------------------------------------------------------------------

tensor distributed_variable::read() const {
  if (synchronization() == variable_synchronization::on_read) check_no_foreign_replica(*state_, "read");
  const auto here = context_of(*state_);
  if (here.kind == context_kind::cross_replica) return state_->read_across();
  auto own = state_->read_copy(state_->copy_of(here.replica));
  const auto synchronised = here.kind == context_kind::replica && *reading_synchronised > 0 &&
                            synchronization() == variable_synchronization::on_read;
  if (!synchronised) return own;
  if (aggregation() == variable_aggregation::none) return state_->read_across();  // explains itself
  const auto context = replica_context::current();
  if (aggregation() != variable_aggregation::only_first_replica)
    return context.all_reduce(reduction_of(aggregation()), own);
  auto first = own;
  if (context.replica_id_in_sync_group() != 0) fill(first, 0);
  return context.all_reduce(reduce_op::sum, first);
}

void distributed_variable::write(variable_update kind, const tensor& x) const {
  state_->check_operand(x);
  check_no_foreign_replica(*state_, "assignment");
  const auto here = context_of(*state_);
  if (here.kind == context_kind::update) return state_->write_copy(state_->copy_of(here.replica), kind, x);
  const auto own_copies = synchronization() == variable_synchronization::on_read;
  if (here.kind == context_kind::replica) {
    if (own_copies) return state_->write_copy(state_->copy_of(here.replica), kind, x);
    check_replica_write(*state_, {x, false});
    return write_in_replica(*this, kind, {x, false});
  }
  if (!own_copies) return state_->write_all(kind, x);
  if (kind != variable_update::assign)
    throw invalid_argument_error{fmt::format(
        "variable \"{}\" is synchronised on read: adding to it across replicas has no meaning; assign it, or "
        "add in replica context",
        name())};
  if (aggregation() == variable_aggregation::none)
    throw unimplemented_error{fmt::format(
        "variable \"{}\" has a value for each replica and no aggregation: it can't be assigned across replicas",
        name())};
  state_->restore(x);
}

void distributed_variable::write_number(variable_update kind, const tensor& x) const {
  check_no_foreign_replica(*state_, "assignment");
  const auto here = context_of(*state_);
  if (here.kind != context_kind::replica || synchronization() == variable_synchronization::on_read)
    return write(kind, x);
  state_->check_operand(x);
  check_replica_write(*state_, {x, true});
  write_in_replica(*this, kind, {x, true});
}

namespace {

/// Rows that one replica wants to scatter.
struct brought_rows {
  std::vector<std::int64_t> rows;
  tensor content;
};

void scatter_everywhere(variable_state& variable, scatter_update kind, std::span<const std::int64_t> rows,
                        const tensor& content) {
  for (auto i = std::size_t{0}; i < variable.copies(); ++i) variable.scatter_copy(i, kind, rows, content);
}

template <scatter_update Kind>
void scatter_together(strategy&, const distributed_variable& variable, const per_replica<brought_rows>& brought) {
  auto& state = *variable.state();
  auto& owner = *state.owner();
  const auto only_first = state.aggregation() == variable_aggregation::only_first_replica;
  std::vector<tensor> all_rows;
  std::vector<tensor> all_content;
  for (auto i = std::size_t{0}; i < brought.size(); ++i) {
    all_rows.push_back(
        tensor::of<std::int64_t>(shape{static_cast<std::int64_t>(brought[i].rows.size())}, std::span{brought[i].rows}));
    all_content.push_back(brought[i].content);
  }
  auto rows = only_first ? owner.first(all_rows[0]) : owner.gather(all_rows, 0);
  auto content = only_first ? owner.first(all_content[0]) : owner.gather(all_content, 0);
  if (state.aggregation() == variable_aggregation::mean)
    divide_in_place(content, owner.settings().num_replicas_in_sync);
  scatter_everywhere(state, Kind, rows.values<std::int64_t>(), content);
}

void scatter_in_replica(const distributed_variable& variable, scatter_update kind, brought_rows brought) {
  const auto context = replica_context::current();
  switch (kind) {
    case scatter_update::update:
      return context.merge_call(&scatter_together<scatter_update::update>, variable, std::move(brought));
    case scatter_update::add:
      return context.merge_call(&scatter_together<scatter_update::add>, variable, std::move(brought));
    case scatter_update::sub:
      return context.merge_call(&scatter_together<scatter_update::sub>, variable, std::move(brought));
    case scatter_update::mul:
      return context.merge_call(&scatter_together<scatter_update::mul>, variable, std::move(brought));
    case scatter_update::div:
      return context.merge_call(&scatter_together<scatter_update::div>, variable, std::move(brought));
    case scatter_update::min:
      return context.merge_call(&scatter_together<scatter_update::min>, variable, std::move(brought));
    case scatter_update::max:
      return context.merge_call(&scatter_together<scatter_update::max>, variable, std::move(brought));
  }
}

bool is_choice(scatter_update kind) {
  return kind == scatter_update::update || kind == scatter_update::min || kind == scatter_update::max;
}

}  // namespace

void distributed_variable::scatter(scatter_update kind, std::span<const std::int64_t> rows, const tensor& x) const {
  if (synchronization() == variable_synchronization::on_read)
    throw unimplemented_error{
        fmt::format("variable \"{}\" is synchronised on read, where rows can't be scattered; assign it whole", name())};
  check_no_foreign_replica(*state_, "scatter");
  state_->check_rows(rows, x);
  const auto here = context_of(*state_);
  if (here.kind == context_kind::update) return state_->scatter_copy(state_->copy_of(here.replica), kind, rows, x);
  if (here.kind == context_kind::cross_replica) return scatter_everywhere(*state_, kind, rows, x);
  check_replica_write(*state_, {x, false});
  if (is_choice(kind) && aggregation() != variable_aggregation::only_first_replica)
    throw unimplemented_error{
        fmt::format("variable \"{}\" has aggregation {}: rows can be updated, or chosen by min and max, in replica "
                    "context only with only_first_replica",
                    name(), to_string(aggregation()))};
  scatter_in_replica(*this, kind, {{rows.begin(), rows.end()}, x});
}

void distributed_variable::modify(const std::function<void(tensor&)>& change) const {
  check_no_foreign_replica(*state_, "modification");
  const auto here = context_of(*state_);
  const auto own_copy = here.kind == context_kind::replica && synchronization() == variable_synchronization::on_read;
  if (here.kind != context_kind::update && !own_copy)
    throw failed_precondition_error{
        fmt::format("variable \"{}\" was modified in a {}, where it has no copy of its own; do it inside of update()",
                    name(), to_string(here.kind))};
  state_->modify_copy(state_->copy_of(here.replica), change);
}

std::vector<variable_component> distributed_variable::components() const {
  std::vector<variable_component> result;
  for (auto i = std::size_t{0}; i < state_->copies(); ++i) result.emplace_back(state_, i);
  return result;
}

variable_sync_on_read_context::variable_sync_on_read_context() { ++*reading_synchronised; }

variable_sync_on_read_context::~variable_sync_on_read_context() { --*reading_synchronised; }

// --- as part of structures ------------------------------------------------------------------------------------------

namespace {

void check_same(const variable_state& first, const variable_state& other, std::size_t replica) {
  if (&first == &other) return;
  throw_structures_differ(replica,
                          fmt::format("another variable (\"{}\" instead of \"{}\")", other.name(), first.name()));
}

}  // namespace

distributed_variable regrouping<distributed_variable>::regroup(std::vector<distributed_variable> values) {
  for (auto i = std::size_t{1}; i < values.size(); ++i) check_same(*values[0].state(), *values[i].state(), i);
  return values.front();
}

distributed_variable regrouping<variable_component>::regroup(std::vector<variable_component> values) {
  for (auto i = std::size_t{1}; i < values.size(); ++i) check_same(*values[0].variable(), *values[i].variable(), i);
  return distributed_variable{values.front().variable()};
}

}  // namespace troupe
