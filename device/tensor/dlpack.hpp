// Exchange of tensors with other libraries (NumPy, PyTorch, JAX, ...) through DLPack, without copying.
//
// Booleans use the type code 6 that later versions of the standard gave them; 0.6, the version in Debian 12, has none.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

struct DLManagedTensor;  // <dlpack/dlpack.h>

namespace troupe {

/// A DLPack tensor over x's bytes, which it keeps alive. The receiver owns it and calls its deleter once, on any
/// thread. The receiver must not write: the bytes may be shared with other tensors, and DLPack has no flag to say so.
/// A tensor on a GPU is exported with CUDA's number of that GPU, once all work queued there is done; throws as
/// accelerators.hpp says if that GPU cannot be used.
DLManagedTensor* to_dlpack(const tensor& x);

/// A tensor over a DLPack tensor's bytes. Takes it over: its deleter runs when the last tensor that shares the bytes is
/// gone, or at once if the bytes had to be copied because they are not aligned for their dtype. The first write copies.
/// Throws invalid_argument_error, and leaves the DLPack tensor to the caller, if it is null, not on a CPU, not
/// contiguous in row-major order, or of an element type that troupe does not have.
tensor from_dlpack(DLManagedTensor* managed);

}  // namespace troupe
