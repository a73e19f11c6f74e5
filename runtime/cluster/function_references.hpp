// Which function each loaded library calls under a name that the dynamic linker looks up.
//
// A library's relocations of a name are the places where the dynamic linker writes the address that it has found. They
// are read here from memory. dlsym can't answer the question: it searches in the caller's order, and the order of
// another library differs, for example when a plugin was loaded with RTLD_LOCAL.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace troupe {

struct function_reference {
  /// The mangled name, the one of the call's argument.
  const char* function = nullptr;
  /// The place that the dynamic linker writes; it lies in the library that calls.
  const void* place = nullptr;
  /// The function that is called from there; null: it is looked up at the first call (lazy binding).
  const void* bound = nullptr;
};

/// All references to these mangled names, from the program and from its libraries of this moment.
std::vector<function_reference> references_to(std::span<const char* const> functions);

/// A program or library in memory. Its segments need not be contiguous: those that lld links are not.
struct loaded_object {
  /// What the dynamic linker keeps of it.
  const void* link_map = nullptr;
  std::string path;

  bool operator==(const loaded_object& other) const { return link_map == other.link_map; }
};

/// The one that holds this address; without an address where none does.
loaded_object object_of(const void* address);

}  // namespace troupe
