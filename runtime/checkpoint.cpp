#include <troupe/actors/variables/client.hpp>
#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/distributed_variable.hpp>
#include <troupe/runtime/strategy.hpp>
#include <troupe/runtime/variables/checkpoint_file.hpp>

#include <fmt/format.h>

#include <charconv>

namespace troupe {

namespace {

constexpr std::string_view slot_infix = "/slot/";
constexpr std::string_view step_prefix = "troupe.step/";

std::string slot_name(const std::string& variable, const std::string& slot) {
  return fmt::format("{}{}{}", variable, slot_infix, slot);
}

/// The shards of all variables, read in one round trip.
std::vector<operation_outcome> read_everything(const parameter_server_strategy& strategy) {
  std::vector<shard_request> requests;
  for (const auto& [_, record] : strategy.variables())
    for (const auto& shard : *record->shards()) requests.push_back({shard.where, {.kind = operation_kind::snapshot}});
  constexpr auto limit = std::chrono::minutes{10};
  auto outcomes = perform(strategy.client(), std::move(requests), limit);
  for (auto& outcome : outcomes)
    if (!outcome.ended.ok()) throw_status(outcome.ended.wrap("saving a checkpoint"));
  return outcomes;
}

std::map<std::string, std::string> slots_of(const safetensors_file& file, const variable_record& record) {
  std::map<std::string, std::string> slots;
  const auto prefix = slot_name(record.name, "");
  for (const auto& name : file.names()) {
    if (!name.starts_with(prefix)) continue;
    const auto& info = file.info(name);
    if (info.extents != record.extents)
      throw invalid_argument_error{fmt::format("checkpoint {}: \"{}\" has the shape {}, but its variable {}",
                                               file.path(), name, info.extents.to_string(),
                                               record.extents.to_string())};
    slots.emplace(name.substr(prefix.size()), name);
  }
  return slots;
}

std::int64_t step_of(const safetensors_file& file, const variable_record& record) {
  const auto found = file.metadata().find(std::string{step_prefix} + record.name);
  if (found == file.metadata().end()) return 0;
  const auto& text = found->second;
  std::int64_t step = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (failed != std::errc{} || end != text.data() + text.size() || step < 0)
    throw data_loss_error{
        fmt::format("checkpoint {}: the step of \"{}\" is \"{}\", which is no count", file.path(), record.name, text)};
  return step;
}

}  // namespace

void save_checkpoint(const parameter_server_strategy& strategy, const std::string& path,
                     const std::map<std::string, std::string>& metadata) {
  auto outcomes = read_everything(strategy);
  auto next = outcomes.begin();
  std::vector<safetensors_entry> entries;
  auto words = metadata;
  for (const auto& [name, record] : strategy.variables()) {
    safetensors_entry content{name, {}};
    std::map<std::string, safetensors_entry> slots;
    std::int64_t step = 0;
    const auto shard_count = record->shards()->size();
    for (std::size_t i = 0; i < shard_count; ++i, ++next) {
      content.parts.push_back(next->content);
      step = std::max(step, next->step);
      for (auto& [slot, part] : next->slots) {
        auto& entry = slots[slot];
        entry.name = slot_name(name, slot);
        entry.parts.push_back(std::move(part));
      }
    }
    entries.push_back(std::move(content));
    // A shard that no gradient has reached has no slots yet; a slot is saved when all shards have it.
    for (auto& [_, entry] : slots)
      if (entry.parts.size() == shard_count) entries.push_back(std::move(entry));
    words.insert_or_assign(std::string{step_prefix} + name, std::to_string(step));
  }
  write_checkpoint(path, entries, std::move(words));
}

restored_checkpoint restore_checkpoint(parameter_server_strategy& strategy, const std::string& path) {
  const auto file = open_checkpoint(path);
  for (const auto& [_, record] : strategy.variables()) {
    check_saved(file, record->name, record->type, record->extents);
    slots_of(file, *record);
    step_of(file, *record);
  }
  for (const auto& [name, record] : strategy.variables()) {
    const auto slots = slots_of(file, *record);
    const auto step = step_of(file, *record);
    strategy.recreate(
        *record,
        [&, variable = name](std::int64_t begin, std::int64_t rows) {
          shard_content content{copy_of_rows(file, variable, begin, rows), {}, step};
          for (const auto& [slot, tensor_name] : slots)
            content.slots.emplace(slot, copy_of_rows(file, tensor_name, begin, rows));
          return content;
        },
        static_cast<std::int64_t>(record->shards()->size()));
  }
  return {strategy.variables().size(), metadata_of_user(file)};
}

void save_checkpoint(const strategy& strategy, const std::string& path,
                     const std::map<std::string, std::string>& metadata) {
  std::vector<safetensors_entry> entries;
  for (const auto& variable : strategy.state()->variables())
    entries.push_back({variable->name(), {variable->saved().copy_to("CPU:0")}});
  // All processes take part in reading what is aggregated; one writes.
  if (strategy.state()->settings().should_checkpoint) write_checkpoint(path, entries, metadata);
}

restored_checkpoint restore_checkpoint(const strategy& strategy, const std::string& path) {
  const auto file = open_checkpoint(path);
  const auto variables = strategy.state()->variables();
  for (const auto& each : variables) check_saved(file, each->name(), each->get_dtype(), each->get_shape());
  for (const auto& each : variables) each->restore(copy_of_tensor(file, each->name()));
  return {variables.size(), metadata_of_user(file)};
}

}  // namespace troupe
