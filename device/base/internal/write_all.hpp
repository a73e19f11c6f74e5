// Writes bytes to a file until all of them are written: one call of the system may write fewer.
#pragma once

#include <cstddef>
#include <span>

namespace troupe {

/// False, with errno set to why the rest was not written.
bool write_all(int file, std::span<const std::byte> bytes);

}  // namespace troupe
