// How soon a silent peer counts as lost.
#pragma once

#include <troupe/actors/fibers/time.hpp>

namespace troupe {

struct failure_detector_options {
  /// The pause between two pings to a member.
  duration ping_interval = std::chrono::milliseconds{250};
  /// A member that has answered nothing for so long counts as lost. At least four intervals.
  duration silence_max = std::chrono::seconds{2};

  /// @throws invalid_argument_error
  void check() const;
};

}  // namespace troupe
