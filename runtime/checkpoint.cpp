#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/checkpoint_saving.hpp>
#include <troupe/runtime/distributed_variable.hpp>
#include <troupe/runtime/strategy.hpp>
#include <troupe/runtime/variables/checkpoint_file.hpp>

#include <fmt/format.h>

#include <charconv>

namespace troupe {

namespace {

std::map<std::string, std::string> slots_of(const safetensors_file& file, const variable_record& record) {
  std::map<std::string, std::string> slots;
  const auto prefix = slot_name(record.name, "");
  for (auto& name : file.names(prefix)) {
    const auto& info = file.info(name);
    if (info.extents != record.extents)
      throw invalid_argument_error{fmt::format("checkpoint {}: \"{}\" has the shape {}, but its variable {}",
                                               file.path(), name, info.extents.to_string(),
                                               record.extents.to_string())};
    slots.emplace(name.substr(prefix.size()), std::move(name));
  }
  return slots;
}

std::int64_t step_of(const safetensors_file& file, const variable_record& record) {
  const auto found = file.metadata().find(step_key(record.name));
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
                     const std::map<std::string, std::string>& metadata, const checkpoint_options& options) {
  save_variables(strategy, path, metadata, options);
}

restored_checkpoint restore_checkpoint(parameter_server_strategy& strategy, const std::string& path,
                                       const checkpoint_options& options) {
  const auto file = open_checkpoint(path);
  std::vector<recreated_variable> wanted;
  std::uint64_t bytes_total = 0;
  checkpoint_progress progress{"restore", options.progress};
  // All of the file is checked before anything is made.
  for (const auto& [_, record] : strategy.variables()) {
    check_saved(file, record->name, record->type, record->extents);
    auto slots = slots_of(file, *record);
    bytes_total += record->bytes_of_rows(record->extents.rank() == 0 ? 1 : record->extents[0]) * (1 + slots.size());
    auto part = [&file, &progress, name = record->name, slots = std::move(slots), step = step_of(file, *record)](
                    std::int64_t begin, std::int64_t rows) {
      shard_content content{copy_of_rows(file, name, begin, rows), {}, step};
      auto size_bytes = content.initial.size_bytes();
      for (const auto& [slot, tensor_name] : slots)
        size_bytes +=
            content.slots.emplace(slot, copy_of_rows(file, tensor_name, begin, rows)).first->second.size_bytes();
      progress.add(size_bytes);
      return content;
    };
    wanted.push_back({record, static_cast<std::int64_t>(record->shards()->size()), std::move(part)});
  }
  progress.start(bytes_total);
  strategy.recreate(wanted, options.window_bytes);
  progress.finish();
  return {wanted.size(), metadata_of_user(file)};
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
