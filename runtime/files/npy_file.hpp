// Tensors in the file format of numpy.save, so that arrays prepared in Python can be read here and the reverse.
//
// An NPY file is a header and raw elements:
//
//   0x93 "NUMPY"  MAJOR MINOR  LENGTH  {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  padding "\n"
//
// LENGTH has 16 bits in version 1.0 and 32 bits in version 2.0. Python's repr of the dictionary is parsed strictly: the
// three keys, each once, nothing else. Only little-endian elements in C order are tensors; other files are refused with
// what was found. Both versions are read; version 1.0, which every numpy reads, is written.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

#include <string>

namespace troupe {

/// The tensor in the file at `path`. Element types: <f2, <f4, <f8, |i1, <i2, <i4, <i8, |u1 and |b1.
///
/// The tensor is a mapping of the file: its pages come from disk when they are first used, so a file may be larger than
/// memory. Replace such a file by rename, and never shorten it while tensors of it are left. Every error names the
/// file. Throws
///  - `not_found_error`, `permission_denied_error` or another class of throw_system_error if it cannot be opened,
///    `failed_precondition_error` if it is no regular file,
///  - `invalid_argument_error` if it is no NPY file, holds what is no tensor, or goes on behind its elements,
///  - `data_loss_error` if it ends too early.
tensor read_npy_file(const std::string& path);

/// Writes the tensor, which is in host memory, as a whole or not at all. Throws invalid_argument_error for bfloat16,
/// which numpy has not, and as throw_system_error does.
void write_npy_file(const std::string& path, const tensor& content);

}  // namespace troupe
