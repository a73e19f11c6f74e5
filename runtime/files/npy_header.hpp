// The dictionary in the header of an NPY file: Python's repr of three entries, to and from what a tensor needs.
#pragma once

#include <troupe/device/base/dtype.hpp>
#include <troupe/device/base/shape.hpp>

#include <string>
#include <string_view>

namespace troupe::detail {

struct npy_header {
  dtype element_type = dtype::float32;
  shape extents;
  bool operator==(const npy_header&) const = default;
};

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`. Throws invalid_argument_error for bfloat16.
std::string format_npy_header(const npy_header& header);

/// The reverse; white space may follow. Throws invalid_argument_error that says what was found and expected, without
/// the file's name.
npy_header parse_npy_header(std::string_view text);

}  // namespace troupe::detail
