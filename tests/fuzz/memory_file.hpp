// A file in memory, for what is read by its path.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/device/base/internal/memory_file.hpp>
#include <troupe/device/base/internal/write_all.hpp>

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

namespace troupe {

class memory_file {
 public:
  explicit memory_file(std::string_view content) : file_(make_memory_file("fuzzed")) {
    write_all(file_.get(), std::as_bytes(std::span{content}));
  }

  std::string path() const { return fmt::format("/proc/self/fd/{}", file_.get()); }

 private:
  const descriptor file_;
};

}  // namespace troupe
