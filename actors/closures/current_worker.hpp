// Where a closure runs.
#pragma once

namespace troupe {

/// Index of the worker that runs the calling closure. @throws failed_precondition_error outside of closures.
int current_worker_index();

}  // namespace troupe
