// What scattered writes do with the rows of one copy of a variable.
#pragma once

#include <troupe/device/tensor/tensor.hpp>

#include <cstdint>
#include <span>

namespace troupe {

enum class scatter_update : std::uint8_t;

/// Row rows[i] of the target and row i of x: of equal rows one after another. In memory that nobody shares only these
/// rows are touched, whatever the size of the target, and none if one can't be. The half types compute in float32 and
/// are rounded once, however often a row comes.
void change_rows(tensor& target, scatter_update kind, std::span<const std::int64_t> rows, const tensor& x);

}  // namespace troupe
