#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/caf_options.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/config_option_set.hpp>
#include <caf/deep_to_string.hpp>
#include <caf/detail/ini_consumer.hpp>
#include <caf/detail/parser/read_ini.hpp>
#include <caf/parser_state.hpp>
#include <caf/pec.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

namespace {

/// CAF shows a configuration's options to its derived classes only.
struct options_of_config : caf::actor_system_config {
  static const caf::config_option_set& of(const caf::actor_system_config& config) {
    return config.*(&options_of_config::custom_options_);
  }
};

constexpr auto form = "write [section] on a line, then name = value on lines of their own";

[[noreturn]] void refuse(const std::string& file, std::string_view what) {
  throw invalid_argument_error{fmt::format("the configuration {}: {}", file, what)};
}

std::string content_of(const std::string& file) {
  std::ifstream source{file};
  if (!source || std::filesystem::is_directory(file))
    throw not_found_error{fmt::format("the configuration {} can't be read: it must be a file", file)};
  return {std::istreambuf_iterator<char>{source}, {}};
}

/// Nothing is left out, since no option is known.
caf::settings read_all(const std::string& text, const std::string& file) {
  caf::settings all;
  const caf::config_option_set none;
  caf::detail::ini_consumer consumer{none, all};
  caf::parser_state<std::string::const_iterator> state{text.begin(), text.end()};
  caf::detail::parser::read_ini(state, consumer);
  if (state.code != caf::pec::success)
    refuse(file, fmt::format("line {}, column {} is no INI: {}", state.line, state.column, form));
  return all;
}

std::string view_of(caf::string_view text) { return {text.data(), text.size()}; }

bool has_options(const caf::config_option_set& known, std::string_view section) {
  for (const auto& each : known)
    if (view_of(each.category()) == section) return true;
  return false;
}

std::string options_of(const caf::config_option_set& known, std::string_view section) {
  std::string names;
  for (const auto& each : known)
    if (view_of(each.category()) == section) names += (names.empty() ? "" : ", ") + view_of(each.long_name());
  return names;
}

/// Each option of a section that somebody has described.
template <class Work>
void for_each_known(const caf::settings& all, const caf::config_option_set& known, Work work) {
  for (const auto& [section, content] : all) {
    const auto* const options = caf::get_if<caf::config_value::dictionary>(&content);
    if (options == nullptr || !has_options(known, section)) continue;
    for (const auto& [name, value] : *options) work(section, name, value, known.qualified_name_lookup(section, name));
  }
}

void check(const caf::settings& all, const caf::config_option_set& known, const std::string& file) {
  for_each_known(all, known, [&](const auto& section, const auto& name, const auto& value, const auto* option) {
    if (option == nullptr)
      refuse(file, fmt::format("[{}] has no option \"{}\"; it has {}", section, name, options_of(known, section)));
    if (option->check(value))
      refuse(file, fmt::format("[{}] {} is {} but must be {}", section, name, caf::deep_to_string(value),
                               view_of(option->type_name())));
  });
}

/// CAF does not store what stands in another form than it expects.
void check_stored(const caf::settings& all, const caf::config_option_set& known, const std::string& file) {
  for_each_known(all, known, [&](const auto& section, const auto& name, const auto& value, const auto* option) {
    const auto stored = option->get();
    if (stored && *stored != value)
      refuse(file, fmt::format("[{}] {} = {} was not understood: {}", section, name, caf::deep_to_string(value), form));
  });
}

}  // namespace

void read_caf_options(const std::string& file, caf::actor_system_config& config) {
  const auto text = content_of(file);
  const auto all = read_all(text, file);
  const auto& known = options_of_config::of(config);
  check(all, known, file);
  std::istringstream source{text};
  if (const auto wrong = config.parse(std::vector<std::string>{}, source)) refuse(file, config.render(wrong));
  check_stored(all, known, file);
}

}  // namespace troupe
