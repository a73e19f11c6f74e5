// The functions of CAF that troupe replaces, and whether it does in this process.
//
// Problem: some functions of CAF 0.17 let a peer end this process, or take its memory (examples/reference/caf.md).
// troupe defines them again (basp_guard.cpp), and relies on the dynamic linker to prefer the definitions of the program
// to those of CAF's libraries. It does not where the program's symbols are hidden (-Wl,--exclude-libs,ALL, a version
// script), where CAF is linked statically or with -Bsymbolic, and where a plugin has troupe but CAF's libraries were
// loaded before it. Nothing else shows that: everything works, without the protection.
//
// Solution: before a port is opened or dialled, the calls of CAF's own libraries are looked at
// (function_references.hpp). Each must lead into the program or plugin that holds this code, and there must be at least
// one: without any, CAF's calls don't pass the dynamic linker. The addresses of the functions are not compared: in a
// plugin `&valid` itself is looked up, and would be CAF's where CAF's is preferred. A call that is not bound yet will
// be bound to the first definition in the global scope, which comes first in the order of each library; where that has
// none, as in a plugin that was loaded with RTLD_LAZY and RTLD_LOCAL, nobody can know, and the check fails.
//
// Calls within one source of CAF may have no relocation, when a compiler put the function inline. Only begin_sequence
// has such callers, so a list that is read shows in addition which one runs.
#pragma once

#include <span>
#include <string>

namespace troupe {

struct replaced_function {
  const char* mangled;
  const char* name;
};

/// In the order of basp_guard.cpp.
std::span<const replaced_function> replaced_functions();

/// Those of these functions that are not replaced, and why; empty: each call of CAF's libraries leads to ours.
std::string problem_with_replaced(std::span<const replaced_function> functions);

/// Looks once in each process. @throws failed_precondition_error that names the functions, the cause, and how to link
void require_replaced_functions();

}  // namespace troupe
