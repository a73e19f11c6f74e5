// Turns the errno of a failed call into the error class that a caller can act on.
#pragma once

#include <string_view>

namespace troupe {

/// Throws "WHAT: system's text; hint": not_found_error when something does not exist, permission_denied_error when it
/// may not be used, resource_exhausted_error when space, a quota or a limit is used up, data_loss_error when the
/// device fails, failed_precondition_error otherwise. `what` says what was attempted and on which file.
[[noreturn]] void throw_system_error(int reason, std::string_view what);

}  // namespace troupe
