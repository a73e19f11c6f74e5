// Signals as events of a poll loop instead of interruptions at any moment.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <csignal>
#include <initializer_list>
#include <optional>

namespace troupe {

/// Blocks some signals on the calling thread and delivers them through a descriptor, for the life of this object,
/// which ends on the same thread. Other threads of the process must block the signals too.
class signal_source {
 public:
  /// @throws resource_exhausted_error when no descriptor is left.
  explicit signal_source(std::initializer_list<int> signals);
  ~signal_source();
  signal_source(const signal_source&) = delete;
  signal_source& operator=(const signal_source&) = delete;

  /// Becomes readable when a signal has arrived: poll for POLLIN.
  int descriptor_number() const noexcept { return signals_.get(); }
  /// The next signal that has arrived; nothing when there is none. Never blocks.
  std::optional<int> next() const;

 private:
  sigset_t mask_before_;
  descriptor signals_;
};

}  // namespace troupe
