// Which build of which binary an address belongs to.
//
// Two processes agree on the meaning of (build id, offset) exactly when both loaded the same file: linkers write a hash
// of all that they linked into it (NT_GNU_BUILD_ID), and offsets are counted from where the file was loaded, so address
// space randomisation does not matter. A file that was linked without a build id gets a hash of its loaded machine code
// instead, which is computed once and costs about a millisecond per MiB.
#pragma once

#include <compare>
#include <cstdint>

namespace troupe {

/// An address, independent of where its module was loaded.
struct module_position {
  /// Of the executable or shared library that contains the address; 0 when none does (generated code).
  std::uint64_t build_id = 0;
  /// From the module's load address; the address itself when no module contains it.
  std::uint64_t offset = 0;
  auto operator<=>(const module_position&) const = default;
};

/// Thread-safe; sees modules loaded by dlopen.
module_position position_of(const void* address);

/// `position_of(address).build_id`.
std::uint64_t build_id_of(const void* address);

/// The build id of this process's executable.
std::uint64_t program_build_id();

}  // namespace troupe
