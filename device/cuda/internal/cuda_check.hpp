// Checks the result of every call into CUDA and NCCL. Private to the CUDA part.
//
//   cuda::check(cudaMemsetAsync(...), "cudaMemsetAsync");
//
// A failure names the call, the GPU, what CUDA says and the line, because the error of a kernel surfaces in whatever
// call comes next: without the place, nobody could tell what to look at.
#pragma once

#include <experimental/source_location>
#include <string_view>

#include <cuda_runtime_api.h>

namespace troupe::cuda {

using std::experimental::source_location;  // clang 14 cannot compile the one of the standard

/// Throws resource_exhausted_error when memory ran out, unavailable_error without a usable GPU, else internal_error.
[[noreturn]] void throw_failure(cudaError_t result, std::string_view call, const source_location& place);

inline void check(cudaError_t result, std::string_view call,
                  const source_location& place = source_location::current()) {
  if (result != cudaSuccess) throw_failure(result, call, place);
}

/// "cuda_memory.cpp", without its folder.
std::string_view file_name_of(const source_location& place);

}  // namespace troupe::cuda
