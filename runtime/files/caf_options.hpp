// Options of CAF's, and of the application's own config class, from a file in the format that CAF 0.17 reads, which is
// that of INI files.
//
// Problem: CAF takes what it understands of such a file and says nothing of the rest: text that is no INI, a misspelt
// option, a value of another type. Solution: the file is read without CAF's options first, and each of its options is
// compared with those that the configuration knows. What stands in sections that nobody has described is the
// application's own affair.
#pragma once

#include <caf/fwd.hpp>

#include <string>

namespace troupe {

/// @throws not_found_error for a file that can't be read; invalid_argument_error that names the line, or the option,
/// what was expected, and where the options are listed.
void read_caf_options(const std::string& file, caf::actor_system_config& config);

}  // namespace troupe
