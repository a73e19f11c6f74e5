// What a search has found, as files: for `troupe simulate`, and for whoever looks at it later.
#pragma once

#include <troupe/runtime/exploration.hpp>

namespace troupe {

/// Writes it into the folder that TROUPE_FOUND names, which is made if need be; without that nothing happens. In it:
/// report.txt, environment (one NAME=VALUE in a line, with which the program fails again), plan.json unless the failure
/// takes no faults, run.html and run.mmd, which are the picture. What an earlier search has left there is replaced.
/// @throws failed_precondition_error that names the file which can't be written.
void keep_found(const failure& found);

/// Writes coverage.txt there, if there is any coverage. @throws as `keep_found`
void keep_coverage(const exploration& of);

}  // namespace troupe
