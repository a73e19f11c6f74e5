#include <troupe/actors/functions/function_registry.hpp>
#include <troupe/actors/functions/source_line.hpp>
#include <troupe/device/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

namespace troupe {

std::string to_string(const function_id& id) {
  const auto* const entry = function_registry::instance().find(function_id{id.build_id, id.offset, {}});
  const auto& what = !id.name.empty() || entry == nullptr ? id.name : entry->description;
  if (entry != nullptr)
    if (const auto line = source_line_of(entry->code); !line.empty()) return fmt::format("{} at {}", what, line);
  if (!id.name.empty()) return id.name;
  const auto position = fmt::format("module {:016x}+{:#x}", id.build_id, id.offset);
  return entry != nullptr ? fmt::format("{} ({})", what, position) : position;
}

function_registry& function_registry::instance() {
  static auto& registry = *new function_registry;  // never destroyed: functions may be called until the process ends
  return registry;
}

const function_entry& function_registry::add(invoker call, std::string_view description, std::string_view name,
                                             const void* code) {
  const auto position = position_of(reinterpret_cast<const void*>(call));
  const std::lock_guard guard{mutex_};
  const auto& entry =
      entries_.try_emplace(position, function_entry{call, std::string{description}, position, code}).first->second;
  if (!name.empty()) {
    first_names_.try_emplace(&entry, name);
    auto& candidates = names_[std::string{name}];
    if (std::find(candidates.begin(), candidates.end(), &entry) == candidates.end()) candidates.push_back(&entry);
  }
  return entry;
}

const function_entry* function_registry::find(const function_id& id) const {
  const std::shared_lock guard{mutex_};
  const auto of_module = entries_.lower_bound({id.build_id, 0});
  if (of_module != entries_.end() && of_module->first.build_id == id.build_id) {
    const auto found = entries_.find({id.build_id, id.offset});
    return found == entries_.end() ? nullptr : &found->second;
  }
  return find_name(id.name);
}

const function_entry* function_registry::find(std::string_view name) const {
  const std::shared_lock guard{mutex_};
  return find_name(name);
}

const function_entry& function_registry::find_or_throw(const function_id& id) const {
  if (const auto* entry = find(id)) return *entry;
  const auto function = id.name.empty() ? fmt::format("at offset {:#x}", id.offset) : fmt::format("\"{}\"", id.name);
  throw not_found_error(fmt::format(
      "the function {} of build {:016x} is not known in this process, whose program is build {:016x}; run the same "
      "binary in all processes, or register the function by name in both programs: TROUPE_REGISTER(\"name\", function)",
      function, id.build_id, program_build_id()));
}

function_id function_registry::id_of(const function_entry& entry) const {
  const std::shared_lock guard{mutex_};
  const auto name = first_names_.find(&entry);
  return {entry.position.build_id, entry.position.offset, name == first_names_.end() ? std::string{} : name->second};
}

std::vector<std::string> function_registry::names() const {
  const std::shared_lock guard{mutex_};
  std::vector<std::string> result;
  result.reserve(names_.size());
  for (const auto& [name, candidates] : names_) result.push_back(name);
  return result;
}

const function_entry* function_registry::find_name(std::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return nullptr;
  const auto& candidates = found->second;
  if (candidates.size() == 1) return candidates.front();
  std::vector<std::string_view> descriptions;
  descriptions.reserve(candidates.size());
  for (const auto* candidate : candidates) descriptions.push_back(candidate->description);
  throw failed_precondition_error(fmt::format(
      "the name \"{}\" was registered for {} functions ({}); give each a name of its own in TROUPE_REGISTER", name,
      candidates.size(), fmt::join(descriptions, "; ")));
}

std::string detail::describe_function(std::string_view callable, std::span<const std::string_view> arguments) {
  if (callable.starts_with('&')) callable.remove_prefix(1);  // clang's spelling of a function as a template argument
  return fmt::format("{}({})", callable, fmt::join(arguments, ", "));
}

void detail::throw_no_dependency(std::uint32_t index, std::size_t count) {
  throw invalid_argument_error(
      fmt::format("an argument stands for result {} of those that the function depends on, but {} came with the call",
                  index, count));
}

}  // namespace troupe
