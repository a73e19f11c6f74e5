// The files of this machine.
#pragma once

#include <troupe/runtime/files/file_system.hpp>

namespace troupe {

/// Any thread.
class posix_files final : public file_system {
 public:
  static posix_files& instance();

  std::unique_ptr<opened_file> open(const std::string& path, file_mode mode, const std::string& called) override;
  descriptor open_descriptor(const std::string& path) override;
  path_kind kind_of(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void create_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void sync_directory(const std::string& directory) override;
};

}  // namespace troupe
