// How many descriptors this process may have open at once.
//
// Problem: the usual soft limit, 1,024, is there for programs that call select(); connections of strangers use it up in
// a moment, and then nothing in the process can open a file. Solution: a process that listens raises it to its hard
// limit. Children get back what there was: their programs may call select(), or close all that they could have open.
#pragma once

#include <cstddef>

#include <sys/resource.h>

namespace troupe {

/// Raises the soft limit to the hard one. Once: what the process sets later stays. Any thread.
void raise_descriptor_limit() noexcept;

/// The soft limit now.
std::size_t descriptor_limit() noexcept;

/// What a child is to have: the limit now, but without our raise. Any thread.
rlimit descriptor_limit_for_children() noexcept;

}  // namespace troupe
