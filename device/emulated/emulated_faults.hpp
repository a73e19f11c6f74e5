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

/// The next piece of work on the device never ends, nor does what is queued behind it. Whoever waits for it stops at
/// the limit that device_waits.hpp says, with a deadline_exceeded_error that names the device and the operation.
void hang_emulated_gpu(const std::string& device);

/// After so many more allocations the device has no memory left, whatever its limit is: resource_exhausted_error, until
/// this is called again with a larger number. Memory that is kept for reuse counts as allocated anew. Throws
/// invalid_argument_error for a negative number.
void exhaust_emulated_gpu(const std::string& device, int allocations);

/// Each piece of work takes so many times as long; 1 is as fast as usual. Throws invalid_argument_error for less
/// than 1.
void slow_emulated_gpu(const std::string& device, double factor);

/// The device suffers none of these any more, as if it had been reset: what is queued is dropped, a piece of work that
/// hangs as well, and tensors there have indeterminate contents. Groups that have failed with it are made anew by those
/// who use them.
void repair_emulated_gpu(const std::string& device);

}  // namespace troupe
