// What a test does in a process of its own, a copy of this one: as another user, or with less memory.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace troupe {

/// Whether it is true there.
template <class Work>
bool in_a_child(Work work) {
  const auto child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  int end = 0;
  ::waitpid(child, &end, 0);
  return end == 0;
}

}  // namespace troupe
