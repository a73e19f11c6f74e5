#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/variable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace troupe {

namespace {

struct read_cache {
  bool open = false;
  std::map<shard_address, tensor> shards;
};

const fiber_local<read_cache> cache;

shape shard_shape(const variable_record& record, const variable_shard& shard) {
  return record.extents.rank() == 0 ? record.extents : record.extents.with_axis(0, shard.rows);
}

void check_content(const variable_record& record, const tensor& content, std::string_view what) {
  if (content.get_shape() != record.extents || content.get_dtype() != record.type)
    throw invalid_argument_error{fmt::format("{} of {} {} does not fit variable \"{}\" of {} {}", what,
                                             to_string(content.get_dtype()), content.get_shape().to_string(),
                                             record.name, to_string(record.type), record.extents.to_string())};
}

tensor part_of(const shard_list& shards, const variable_shard& shard, const tensor& content) {
  return shards.size() == 1 ? content : content.slice(shard.row_begin, shard.row_begin + shard.rows);
}

tensor nothing(std::span<operation_outcome>) { return {}; }

/// Which of the wanted rows each shard holds: positions in `rows`, by shard.
std::vector<std::vector<std::size_t>> by_shard(const variable_record& record, const shard_list& shards,
                                               std::span<const std::int64_t> rows) {
  if (record.extents.rank() == 0)
    throw invalid_argument_error{fmt::format("variable \"{}\" is a scalar and has no rows", record.name)};
  std::vector<std::vector<std::size_t>> result(shards.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0 || rows[i] >= record.extents[0])
      throw out_of_range_error{fmt::format("row {} is outside of variable \"{}\", which has {} rows", rows[i],
                                           record.name, record.extents[0])};
    const auto after =
        std::upper_bound(shards.begin(), shards.end(), rows[i],
                         [](std::int64_t row, const variable_shard& shard) { return row < shard.row_begin; });
    result[static_cast<std::size_t>(after - shards.begin() - 1)].push_back(i);
  }
  return result;
}

}  // namespace

std::size_t variable_record::bytes_of_rows(std::int64_t rows) const {
  const auto part = extents.rank() == 0 ? extents : extents.with_axis(0, rows);
  return static_cast<std::size_t>(part.element_count()) * size_bytes(type);
}

void variable_base::save(output_archive& archive) const {
  archive(record().name, record().type, record().extents, record().device, *record().shards(), limit_);
}

void variable_base::load(input_archive& archive) {
  record_ = std::make_shared<variable_record>();
  shard_list shards;
  archive(record_->name, record_->type, record_->extents, record_->device, shards, limit_);
  record_->set_shards(std::move(shards));
}

const variable_record& variable_base::record() const {
  if (!record_) throw failed_precondition_error{"this variable is empty: a strategy makes variables"};
  return *record_;
}

std::vector<std::string> variable_base::devices() const {
  const auto shards = record().shards();
  std::vector<std::string> result;
  for (const auto& shard : *shards)
    result.push_back(fmt::format("/job:ps/task:{}/device:{}", shard.where.server, record().device));
  return result;
}

// --- plans ----------------------------------------------------------------------------------------------------------

planned_operation tensor_variable::plan_read() const {
  const auto shards = record().shards();
  planned_operation plan;
  for (const auto& shard : *shards)
    plan.requests.push_back({shard.where, {.kind = operation_kind::read}, record().bytes_of_rows(shard.rows)});
  plan.combine = [](std::span<operation_outcome> outcomes) {
    if (outcomes.size() == 1) return outcomes.front().content;
    std::vector<tensor> parts;
    for (const auto& outcome : outcomes) parts.push_back(outcome.content);
    return concatenate(parts, 0);
  };
  return plan;
}

planned_operation tensor_variable::plan_write(operation_kind kind, const tensor& content) const {
  const auto shards = record().shards();
  check_content(record(), content, "a value");
  planned_operation plan{{}, nothing};
  for (const auto& shard : *shards)
    plan.requests.push_back({shard.where, {.kind = kind, .operand = part_of(*shards, shard, content)}});
  return plan;
}

planned_operation tensor_variable::plan_gather(std::span<const std::int64_t> rows) const {
  const auto shards = record().shards();
  planned_operation plan;
  auto places = by_shard(record(), *shards, rows);
  for (std::size_t s = 0; s < places.size(); ++s) {
    if (places[s].empty()) continue;
    const auto& shard = (*shards)[s];
    shard_operation operation{.kind = operation_kind::gather_rows};
    for (const auto place : places[s]) operation.rows.push_back(rows[place] - shard.row_begin);
    const auto answer_bytes = record().bytes_of_rows(static_cast<std::int64_t>(operation.rows.size()));
    plan.requests.push_back({shard.where, std::move(operation), answer_bytes});
  }
  std::erase_if(places, [](const auto& one) { return one.empty(); });
  const auto extents = record().extents.with_axis(0, static_cast<std::int64_t>(rows.size()));
  plan.combine = [places = std::move(places), extents, type = record().type](std::span<operation_outcome> outcomes) {
    if (outcomes.size() == 1) return outcomes.front().content;
    auto result = tensor::uninitialised(type, extents);
    for (std::size_t s = 0; s < outcomes.size(); ++s) {
      const std::vector<std::int64_t> targets{places[s].begin(), places[s].end()};
      scatter_rows_update(result, targets, outcomes[s].content);
    }
    return result;
  };
  return plan;
}

planned_operation tensor_variable::plan_scatter(operation_kind kind, std::span<const std::int64_t> rows,
                                                const tensor& content) const {
  const auto shards = record().shards();
  const auto places = by_shard(record(), *shards, rows);
  const auto expected = record().extents.with_axis(0, static_cast<std::int64_t>(rows.size()));
  if (content.get_shape() != expected || content.get_dtype() != record().type)
    throw invalid_argument_error{fmt::format(
        "rows of {} {} do not fit {} rows of variable \"{}\": expected {} {}", to_string(content.get_dtype()),
        content.get_shape().to_string(), rows.size(), record().name, to_string(record().type), expected.to_string())};
  planned_operation plan{{}, nothing};
  for (std::size_t s = 0; s < places.size(); ++s) {
    if (places[s].empty()) continue;
    const auto& shard = (*shards)[s];
    const std::vector<std::int64_t> sources{places[s].begin(), places[s].end()};
    shard_operation operation{.kind = kind,
                              .operand = sources.size() == rows.size() ? content : gather_rows(content, sources)};
    for (const auto place : places[s]) operation.rows.push_back(rows[place] - shard.row_begin);
    plan.requests.push_back({shard.where, std::move(operation)});
  }
  return plan;
}

planned_operation tensor_variable::plan_apply_gradient(const optimizer& rule, const tensor& gradient) const {
  const auto shards = record().shards();
  check_content(record(), gradient, "a gradient");
  planned_operation plan{{}, nothing};
  for (const auto& shard : *shards)
    plan.requests.push_back(
        {shard.where,
         {.kind = operation_kind::apply_gradient, .operand = part_of(*shards, shard, gradient), .rule = rule}});
  return plan;
}

// --- performing -----------------------------------------------------------------------------------------------------

namespace {

void throw_first_problem(std::span<operation_outcome> outcomes) {
  for (auto& outcome : outcomes)
    if (!outcome.ended.ok()) throw_status(std::move(outcome.ended));
}

}  // namespace

std::vector<tensor> perform_together(const client_ptr& client, std::vector<planned_operation> plans, duration limit) {
  std::vector<shard_request> requests;
  for (auto& plan : plans) std::move(plan.requests.begin(), plan.requests.end(), std::back_inserter(requests));
  std::vector<std::size_t> counts;
  counts.reserve(plans.size());
  for (const auto& plan : plans) counts.push_back(plan.requests.size());
  auto outcomes = perform(client, std::move(requests), limit);
  throw_first_problem(outcomes);
  std::vector<tensor> results;
  auto rest = std::span{outcomes};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    results.push_back(plans[i].combine(rest.first(counts[i])));
    rest = rest.subspan(counts[i]);
  }
  return results;
}

namespace {

/// For those who ask for what a fiber waits.
std::string_view name_of(operation_kind kind) {
  switch (kind) {
    case operation_kind::read:
    case operation_kind::gather_rows:
      return "a read of variable";
    case operation_kind::apply_gradient:
      return "an update by a gradient of variable";
    case operation_kind::call:
      return "a function that changes variable";
    default:
      return "an operation on variable";
  }
}

}  // namespace

tensor tensor_variable::perform(planned_operation plan) const {
  const auto kind = plan.requests.empty() ? operation_kind::describe : plan.requests.front().operation.kind;
  const awaiting scope{name_of(kind), name()};
  auto outcomes = troupe::perform(client_, std::move(plan.requests), limit_);
  throw_first_problem(outcomes);
  return plan.combine(outcomes);
}

tensor tensor_variable::read() const {
  return cache->open ? std::move(read_all({this, 1}).front()) : perform(plan_read());
}
void tensor_variable::assign(const tensor& content) const { perform(plan_write(operation_kind::assign, content)); }
void tensor_variable::assign_add(const tensor& content) const {
  perform(plan_write(operation_kind::assign_add, content));
}
void tensor_variable::assign_sub(const tensor& content) const {
  perform(plan_write(operation_kind::assign_subtract, content));
}
tensor tensor_variable::gather(std::span<const std::int64_t> rows) const {
  if (rows.empty()) return tensor::zeros(record().type, record().extents.with_axis(0, 0));
  return perform(plan_gather(rows));
}
void tensor_variable::scatter_update(std::span<const std::int64_t> rows, const tensor& content) const {
  perform(plan_scatter(operation_kind::scatter_update, rows, content));
}
void tensor_variable::scatter_add(std::span<const std::int64_t> rows, const tensor& content) const {
  perform(plan_scatter(operation_kind::scatter_add, rows, content));
}
void tensor_variable::scatter_sub(std::span<const std::int64_t> rows, const tensor& content) const {
  perform(plan_scatter(operation_kind::scatter_subtract, rows, content));
}
void tensor_variable::apply_gradient(const optimizer& rule, const tensor& gradient) const {
  perform(plan_apply_gradient(rule, gradient));
}

void tensor_variable::update_with(const function_id& function, value arguments) const {
  const auto shards = record().shards();
  planned_operation plan{{}, nothing};
  for (const auto& shard : *shards)
    plan.requests.push_back(
        {shard.where, {.kind = operation_kind::call, .function = function, .arguments = arguments}});
  perform(std::move(plan));
}

namespace {

bool is_cached(const variable_record& record) {
  const auto shards = record.shards();
  return std::all_of(shards->begin(), shards->end(),
                     [](const auto& shard) { return cache->shards.contains(shard.where); });
}

tensor from_cache(const planned_operation& plan) {
  std::vector<operation_outcome> outcomes;
  for (const auto& request : plan.requests) outcomes.push_back({.content = cache->shards.at(request.where)});
  return plan.combine(outcomes);
}

}  // namespace

std::vector<tensor> read_all(std::span<const tensor_variable> variables) {
  if (variables.empty()) return {};
  std::vector<planned_operation> plans;
  if (!cache->open) {
    for (const auto& variable : variables) plans.push_back(variable.plan_read());
    return perform_together(variables.front().client(), std::move(plans), variables.front().limit());
  }
  for (const auto& variable : variables) {
    if (is_cached(*variable.shared_record())) continue;
    auto plan = variable.plan_read();
    plan.combine = [requests = plan.requests](std::span<operation_outcome> outcomes) {
      for (std::size_t i = 0; i < outcomes.size(); ++i) cache->shards.emplace(requests[i].where, outcomes[i].content);
      return tensor{};
    };
    plans.push_back(std::move(plan));
  }
  perform_together(variables.front().client(), std::move(plans), variables.front().limit());
  std::vector<tensor> results;
  for (const auto& variable : variables) results.push_back(from_cache(variable.plan_read()));
  return results;
}

namespace {

void check_counts(std::size_t variables, std::size_t contents, std::string_view what) {
  if (variables != contents)
    throw invalid_argument_error{fmt::format("{} {} for {} variables: give one for each", contents, what, variables)};
}

}  // namespace

void assign_all(std::span<const tensor_variable> variables, std::span<const tensor> contents) {
  check_counts(variables.size(), contents.size(), "values");
  if (variables.empty()) return;
  std::vector<planned_operation> plans;
  for (std::size_t i = 0; i < variables.size(); ++i)
    plans.push_back(variables[i].plan_write(operation_kind::assign, contents[i]));
  perform_together(variables.front().client(), std::move(plans), variables.front().limit());
}

void apply_gradients(const optimizer& rule, std::span<const tensor_variable> variables,
                     std::span<const tensor> gradients) {
  check_counts(variables.size(), gradients.size(), "gradients");
  if (variables.empty()) return;
  std::vector<planned_operation> plans;
  for (std::size_t i = 0; i < variables.size(); ++i)
    plans.push_back(variables[i].plan_apply_gradient(rule, gradients[i]));
  perform_together(variables.front().client(), std::move(plans), variables.front().limit());
}

cache_variable_reads::cache_variable_reads() {
  if (cache->open) throw failed_precondition_error{"cache_variable_reads scopes can't be nested"};
  cache->open = true;
}

cache_variable_reads::~cache_variable_reads() { *cache = {}; }

// --- sharded --------------------------------------------------------------------------------------------------------

tensor_variable sharded_variable::shard(std::size_t index) const {
  if (index >= shard_count())
    throw out_of_range_error{
        fmt::format("shard {} of variable \"{}\", which has {} shards", index, name(), shard_count())};
  const auto part = (*record().shards())[index];
  auto alone = std::make_shared<variable_record>(fmt::format("{}/part_{}", name(), index), record().type,
                                                 shard_shape(record(), part), record().device);
  alone->set_shards({{part.where, 0, part.rows}});
  tensor_variable result{std::move(alone), client_};
  result.set_limit(limit_);
  return result;
}

std::vector<tensor_variable> sharded_variable::shards() const {
  std::vector<tensor_variable> result;
  for (std::size_t i = 0; i < shard_count(); ++i) result.push_back(shard(i));
  return result;
}

tensor sharded_variable::slice(std::int64_t begin, std::int64_t end, std::int64_t step) const {
  if (step == 0) throw invalid_argument_error{"a slice's step must not be 0"};
  const auto extent = get_shape()[0];
  const auto low = step > 0 ? 0 : -1;
  const auto high = step > 0 ? extent : extent - 1;
  const auto bounded = [&](std::int64_t x) { return std::clamp<std::int64_t>(x < 0 ? x + extent : x, low, high); };
  std::vector<std::int64_t> rows;
  for (auto row = bounded(begin); step > 0 ? row < bounded(end) : row > bounded(end); row += step) rows.push_back(row);
  return gather(rows);
}

tensor sharded_variable::select(const std::vector<bool>& mask) const {
  if (static_cast<std::int64_t>(mask.size()) != get_shape()[0])
    throw invalid_argument_error{fmt::format("a mask of {} entries does not fit variable \"{}\" with {} rows",
                                             mask.size(), name(), get_shape()[0])};
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) rows.push_back(static_cast<std::int64_t>(i));
  return gather(rows);
}

}  // namespace troupe
