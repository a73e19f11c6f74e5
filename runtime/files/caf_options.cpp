#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/caf_options.hpp>
#include <troupe/runtime/files/text_file.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/config_option_set.hpp>
#include <caf/deep_to_string.hpp>
#include <caf/detail/ini_consumer.hpp>
#include <caf/detail/parser/read_ini.hpp>
#include <caf/parser_state.hpp>
#include <caf/pec.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

/// CAF's parser, with limits. CAF multiplies durations without a look at whether they fit, and goes one call deeper for
/// each level of nesting; where it would, it finds the functions below in place of its own, by the type of the state.
struct limited_ini : caf::parser_state<std::string::const_iterator> {
  using parser_state::parser_state;

  void refuse(std::string why) {
    code = caf::pec::integer_overflow;
    over_limit = std::move(why);
  }

  int depth = 0;
  std::string over_limit;
};

/// Ends the text at what lies too deep.
template <class Work>
void one_level_deeper(limited_ini& state, Work read) {
  if (state.depth == caf_options_depth_max)
    return state.refuse(fmt::format("it is nested more than {} levels deep", caf_options_depth_max));
  ++state.depth;
  read();
  --state.depth;
}

template <class Consumer>
void read_ini_value(limited_ini& state, Consumer&& consumer) {
  one_level_deeper(state, [&] { caf::detail::parser::read_ini_value(state, consumer); });
}

template <class Consumer>
void read_nested_group(limited_ini& state, Consumer&& consumer) {
  one_level_deeper(state, [&] { caf::detail::parser::read_nested_group(state, consumer); });
}

/// A unit of durations, and how many of it may be.
struct time_unit {
  template <class Duration>
  constexpr time_unit(std::string_view called, Duration)
      : name(called), most(std::chrono::duration_cast<Duration>(caf_duration_max).count()) {}

  std::string_view name;
  std::int64_t most;
};

constexpr std::array time_units{
    time_unit{"h", std::chrono::hours{}},         time_unit{"min", std::chrono::minutes{}},
    time_unit{"s", std::chrono::seconds{}},       time_unit{"ms", std::chrono::milliseconds{}},
    time_unit{"us", std::chrono::microseconds{}}, time_unit{"ns", std::chrono::nanoseconds{}}};

/// The count has been read, the unit has not.
template <class Consumer>
void read_timespan(limited_ini& state, Consumer&& consumer, const caf::optional<std::int64_t>& count) {
  const std::string_view rest{state.i, state.e};
  const auto* const unit = std::ranges::find_if(time_units, [&](auto each) { return rest.starts_with(each.name); });
  // Without a unit it is no duration, as CAF will say.
  if (unit != time_units.end() && (*count < -unit->most || *count > unit->most))
    return state.refuse(
        fmt::format("the duration {0}{1} must be from -{2}{1} to {2}{1}", *count, unit->name, unit->most));
  caf::detail::parser::read_timespan(state, consumer, count);
}

/// Counted from 1.
std::ptrdiff_t line_of(const std::string& text, std::string::const_iterator at) {
  return 1 + std::count(text.begin(), at, '\n');
}

/// "line 2, column 7", counted from 1; CAF counts columns from the end of the line before.
std::string place(const std::string& text, std::string::const_iterator at) {
  const std::string_view before{text.begin(), at};
  return fmt::format("line {}, column {}", line_of(text, at), before.size() - (before.rfind('\n') + 1) + 1);
}

/// A section as it stands in a file; of [a.b] it is "a".
struct found_section {
  std::string name;
  std::ptrdiff_t line = 0;
};

/// Notes where sections begin. CAF's parser calls `key` of the type that it is given.
class noting_consumer : public caf::detail::ini_consumer {
 public:
  noting_consumer(const caf::config_option_set& known, caf::settings& into, const std::string& text,
                  const limited_ini& state)
      : ini_consumer(known, into), text_(text), state_(state) {}

  void key(std::string name) {
    sections.push_back({name, line_of(text_, state_.i)});
    ini_consumer::key(std::move(name));
  }

  std::vector<found_section> sections;

 private:
  const std::string& text_;
  const limited_ini& state_;
};

struct file_content {
  caf::settings options;
  /// In the order of the file.
  std::vector<found_section> sections;
};

/// Nothing is left out, since no option is known.
file_content read_all(const std::string& text, const std::string& file) {
  file_content all;
  const caf::config_option_set none;
  limited_ini state{text.begin(), text.end()};
  noting_consumer consumer{none, all.options, text, state};
  caf::detail::parser::read_ini(state, consumer);
  if (!state.over_limit.empty()) refuse(file, fmt::format("{}: {}", place(text, state.i), state.over_limit));
  // For CAF a text ends with the first null.
  if (state.code != caf::pec::success || !state.at_end())
    refuse(file, fmt::format("{} is no INI: {}", place(text, state.i), form));
  all.sections = std::move(consumer.sections);
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

/// Each once, in the order in which they were described.
std::vector<std::string> sections_of(const caf::config_option_set& known) {
  std::vector<std::string> names;
  for (const auto& each : known)
    if (std::ranges::find(names, view_of(each.category())) == names.end()) names.push_back(view_of(each.category()));
  return names;
}

/// Those of options whose category is "a.b" stand under [a.b], which is a section of "a".
void check_sections(const std::vector<found_section>& found, const caf::config_option_set& known,
                    const std::string& file) {
  const auto names = sections_of(known);
  for (const auto& each : found) {
    const auto is_known = std::ranges::any_of(
        names, [&](const std::string& name) { return name == each.name || name.starts_with(each.name + '.'); });
    if (!is_known)
      refuse(file, fmt::format("line {}: there is no section [{}]; the sections are {}", each.line, each.name,
                               fmt::join(names, ", ")));
  }
}

/// Each option of a section that has options.
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
  const auto text = read_text_file(file, "the configuration");
  const auto [all, sections] = read_all(text, file);
  const auto& known = options_of_config::of(config);
  check_sections(sections, known, file);
  check(all, known, file);
  std::istringstream source{text};
  if (const auto wrong = config.parse(std::vector<std::string>{}, source)) refuse(file, config.render(wrong));
  check_stored(all, known, file);
}

}  // namespace troupe
