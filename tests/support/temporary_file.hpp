// A file that is gone with its scope.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

class temporary_file {
 public:
  explicit temporary_file(std::string_view content, mode_t mode = S_IRUSR | S_IWUSR) {
    path_ = (std::filesystem::temp_directory_path() / "troupe-file-XXXXXX").string();
    ::close(::mkstemp(path_.data()));
    std::ofstream{path_} << content;
    ::chmod(path_.c_str(), mode);
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }
  std::string content() const {
    std::ifstream file{path_, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

 private:
  std::string path_;
};

}  // namespace troupe
