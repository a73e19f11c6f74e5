// What the environment says of emulated GPUs (accelerators.hpp). It may be asked without a use of the GPUs, so that a
// program refuses a wrong setting before it begins.
#pragma once

namespace troupe {

/// From TROUPE_EMULATED_GPUS; 0: there is no such variable, and none are emulated. @throws invalid_argument_error
int emulated_gpus_of_environment();

}  // namespace troupe
