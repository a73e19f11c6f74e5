// What emulated GPUs suffer on demand: so a program shows before its GPUs fail what it does then.
//
// Each function throws failed_precondition_error for a GPU that is real, and as accelerators.hpp says. Any thread may
// call them, at any time.
#pragma once

#include <string>

namespace troupe {

/// The next piece of work on the device fails, and the device stays failed: whoever uses it or waits for it from then
/// on hears an internal_error that names the device, the operation that failed first, and the reason. Others are not
/// held up by it.
void fail_emulated_gpu(const std::string& device, const std::string& reason);

/// After so many more allocations the device has no memory left, whatever its limit is: resource_exhausted_error, until
/// this is called again with a larger number. Memory that is kept for reuse counts as allocated anew.
void exhaust_emulated_gpu(const std::string& device, int allocations);

/// Each piece of work takes so many times as long; 1 is as fast as usual. Throws invalid_argument_error for less
/// than 1.
void slow_emulated_gpu(const std::string& device, double factor);

}  // namespace troupe
