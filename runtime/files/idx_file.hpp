// Reads IDX files, the format in which MNIST and its relatives are published, into tensors.
//
// An IDX file is a header and raw elements, big-endian throughout:
//
//   0x00 0x00 TYPE RANK   then RANK extents of 32 bits each, then the elements, last axis fastest
//
// Files are read through zlib, which passes a file that is not gzipped through unchanged, so both forms work under
// any name. The header is input from outside: nothing is allocated before it has been checked against the caller's
// limit, and a tensor is returned only if the file holds exactly the elements that its header promises and, where it
// is gzipped, its checksum is right.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

#include <cstdint>
#include <string>

namespace troupe {

/// The most element bytes that `read_idx_file` accepts by default: 4 GiB.
inline constexpr std::uint64_t idx_file_bytes_max = std::uint64_t{4} << 30;

/// The tensor that the IDX file at `path` holds, in this machine's byte order. Element types: uint8, int8, int16,
/// int32, float32, float64; rank 1 to 8. Blocks the calling thread on the disk.
///
/// Every error names the file. Throws
///  - `not_found_error`, `permission_denied_error` or another class of `throw_system_error` if it cannot be opened or
///    read,
///  - `invalid_argument_error` if it is no IDX file or has another size than its header says,
///  - `resource_exhausted_error` if its header promises more than `bytes_max` bytes of elements,
///  - `data_loss_error` if it ends too early or its compressed data are damaged.
tensor read_idx_file(const std::string& path, std::uint64_t bytes_max = idx_file_bytes_max);

}  // namespace troupe
