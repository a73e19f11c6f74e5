// Notices that processes of this host have ended. Private to the library.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <cstddef>
#include <vector>

#include <poll.h>
#include <sys/types.h>

namespace troupe {

/// Watches through pid descriptors (Linux 5.3), which never come to mean another process as a reused pid does.
class process_watch {
 public:
  /// The n-th process is member n. This process itself is never reported.
  /// Throws unavailable_error if one has ended already, resource_exhausted_error if the system gives no descriptors.
  explicit process_watch(std::vector<pid_t> processes);

  pid_t pid(int member) const { return processes_[static_cast<std::size_t>(member)]; }
  /// Looks at all of them: one system call, however many they are. Never blocks.
  void look() noexcept;
  /// Whether the member's process had ended at the last look.
  bool ended(int member) const noexcept { return watched_[static_cast<std::size_t>(member)].revents != 0; }

 private:
  std::vector<pid_t> processes_;
  std::vector<descriptor> descriptors_;
  std::vector<pollfd> watched_;  // by member; this process is passed over
};

}  // namespace troupe
