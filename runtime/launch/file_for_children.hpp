// A text that processes which are started here read as a file, in memory only.
//
// It is in no file that could be left behind, in no argument and in no environment: they read it from this process's
// memory, which only processes of the same user may, for as long as this object is there.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <string>
#include <string_view>

namespace troupe {

class file_for_children {
 public:
  /// @throws resource_exhausted_error when no descriptor or no memory is left
  explicit file_for_children(std::string_view content);

  std::string path() const;

 private:
  descriptor memory_;
};

}  // namespace troupe
