// Options of CAF's, and of the application's own config class, from a file in the format that CAF 0.17 reads, which is
// that of INI files.
//
// Problem: CAF takes what it understands of such a file and says nothing of the rest: text that is no INI, a misspelt
// section or option, a value of another type. Solution: the file is read without CAF's options first, and each of its
// sections and options is compared with those that the configuration knows: CAF's, of all its modules, and those that
// the application's config class adds to `custom_options_`. And CAF multiplies a duration by its unit without a look at
// whether it fits, and goes one call deeper for each level of nesting: both have limits here.
#pragma once

#include <caf/fwd.hpp>

#include <chrono>
#include <string>

namespace troupe {

/// 100 years, in either direction: such a duration can be added to any time.
inline constexpr std::chrono::hours caf_duration_max{24 * 365 * 100};
/// Of lists, maps and [sections.in.sections].
inline constexpr int caf_options_depth_max = 32;

/// @throws invalid_argument_error that names the file and the line, or the option, and what was expected; for a section
/// that has no options in this configuration, and for what can't be read (text_file.hpp), as well.
void read_caf_options(const std::string& file, caf::actor_system_config& config);

}  // namespace troupe
