// For actor systems that come and go while the program's threads stay.
#pragma once

namespace troupe {

/// Each thread that makes or spawns something in a system does so within this scope. Problem: CAF remembers in every
/// thread the system that the thread spawned in last, and the end of a system waits until no thread remembers it,
/// though threads (of the application, of a cluster's workers) outlive the last client or strategy. Not around anything
/// that suspends.
class system_scope {
 public:
  system_scope() = default;
  ~system_scope();
  system_scope(const system_scope&) = delete;
};

}  // namespace troupe
