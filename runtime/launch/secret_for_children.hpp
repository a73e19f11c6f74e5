// A new secret of a cluster whose processes are all started here, in memory only.
//
// It is in no file that could be left behind, in no argument and in no environment: the processes read it from this
// one's memory, which only processes of the same user may, for as long as this object is there.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <string>

namespace troupe {

class secret_for_children {
 public:
  /// @throws resource_exhausted_error when no descriptor is left
  secret_for_children();

  /// For TROUPE_SECRET_FILE.
  std::string path() const;

 private:
  descriptor memory_;
};

}  // namespace troupe
