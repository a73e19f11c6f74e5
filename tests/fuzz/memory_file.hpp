// A file in memory, for what is read by its path.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe {

class memory_file {
 public:
  explicit memory_file(std::string_view content) : file_(::memfd_create("fuzzed", MFD_CLOEXEC)) {
    while (!content.empty()) {
      const auto count = ::write(file_.get(), content.data(), content.size());
      if (count <= 0) break;
      content.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  std::string path() const { return fmt::format("/proc/self/fd/{}", file_.get()); }

 private:
  const descriptor file_;
};

}  // namespace troupe
